package api

import (
	"fmt"
	"net/http"
	"strings"

	"mira/storage/query"
	"mira/storage/signal"
)

// maxTraceBytes bounds a trace in one answer, in OTLP bytes: it is built in memory.
const maxTraceBytes = 64 << 20

// trace answers with all spans of one trace, ordered by start.
func (s *server) trace(w http.ResponseWriter, r *http.Request) error {
	id, err := traceID(strings.TrimPrefix(r.URL.Path, tracePrefix))
	if err != nil {
		return err
	}
	if _, err := parameters(r); err != nil {
		return err
	}
	form, err := accepted(r, mediaJSON, mediaOTLPJSON, mediaProtobuf)
	if err != nil {
		return err
	}
	done, err := s.turn(r)
	if err != nil {
		return err
	}
	defer done()
	request, err := s.spansOf(r, id)
	if err != nil {
		return err
	}
	if form != mediaProtobuf {
		if request, err = appendOTLPJSON(signal.Traces, request); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", contentType(form))
	w.Header().Set("Vary", "Accept")
	if r.Method == http.MethodHead {
		return nil
	}
	a := &answer{w: w, control: http.NewResponseController(w)}
	return a.write(request)
}

// traceID checks the id in a path. Sixteen digits are a 64-bit id, which OpenTelemetry pads.
func traceID(text string) (string, error) {
	id := strings.ToLower(text)
	if len(id) == 16 {
		id = strings.Repeat("0", 16) + id
	}
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
		return "", wrong("trace_id", "%q is no trace id: 32 hexadecimal digits are wanted", text)
	}
	return id, nil
}

// spansOf returns the spans of a trace as one Export request.
func (s *server) spansOf(r *http.Request, id string) ([]byte, error) {
	unknown := &problem{Status: http.StatusNotFound, Code: "unknown_trace", Param: "trace_id", Detail: "no span of trace " + id + " is stored"}
	if strings.Trim(id, "0") == "" {
		return nil, unknown // all zero means "no trace"
	}
	filter, err := query.ParseFilter(signal.Traces, fmt.Sprintf("trace_id == TraceID(0x%s)", id))
	if err != nil {
		return nil, err
	}
	scan, err := query.Open(r.Context(), s.Source, query.Query{
		Signal: signal.Traces, End: query.Forever, Filter: filter, Ascending: true, Limit: maxLimit,
	})
	if err != nil {
		return nil, err
	}
	var request []byte
	for {
		page, err := scan.Page(r.Context())
		if err != nil {
			return nil, err
		}
		for _, c := range page.Chunks {
			request = append(request, c.Request...)
		}
		switch {
		case len(request) > maxTraceBytes:
			return nil, &problem{
				Status: http.StatusUnprocessableEntity, Code: "trace_too_large", Param: "trace_id",
				Detail: "the trace is too large for one answer; page through /api/v1/spans with this filter: " + filter.String(),
			}
		case page.Next == nil && len(request) == 0:
			return nil, unknown
		case page.Next == nil:
			return request, nil
		}
	}
}
