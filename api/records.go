package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"mira/storage/otlp"
	"mira/storage/query"
	"mira/storage/signal"
)

const (
	// streamRows is the page of an answer that has no limit.
	streamRows = 32768
	// stall is how long a client may take no byte of an answer.
	stall = time.Minute
	// headerNext carries the cursor, where the body has no room for it; headerStats the cost.
	headerNext  = "Mira-Next"
	headerStats = "Mira-Stats"
)

// records answers with rows of sig.
func (s *server) records(sig signal.Signal) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		form, err := accepted(r, mediaJSON, mediaNDJSON, mediaArrow, mediaProtobuf, mediaOTLPJSON)
		if err != nil {
			return err
		}
		q, err := parse(r, sig, s.Now(), form == mediaNDJSON || form == mediaArrow)
		if err != nil {
			return err
		}
		if q.columns != nil && (form == mediaProtobuf || form == mediaOTLPJSON) {
			return wrong("columns", "OTLP answers are lossless, they take no columns")
		}
		if q.all {
			q.Limit = streamRows
		}
		w.Header().Set("Content-Type", contentType(form))
		w.Header().Set("Vary", "Accept")
		if r.Method == http.MethodHead {
			return nil
		}
		done, err := s.turn(r)
		if err != nil {
			return err
		}
		defer done()
		scan, err := query.Open(r.Context(), s.Source, q.Query)
		if err != nil {
			return err
		}
		page, err := scan.Page(r.Context())
		if err != nil {
			return err
		}
		a := &answer{ctx: r.Context(), w: w, control: http.NewResponseController(w), q: q, scan: scan, page: page}
		return a.send(form)
	}
}

// answer is rows on their way to a client.
type answer struct {
	ctx     context.Context
	w       http.ResponseWriter
	control *http.ResponseController
	q       *question
	scan    *query.Scan
	page    *query.Page
	buf     []byte
}

func (a *answer) send(form string) error {
	switch form {
	case mediaNDJSON:
		return a.lines()
	case mediaArrow:
		return a.arrow()
	case mediaProtobuf:
		a.headers()
		for _, c := range a.page.Chunks {
			if err := a.write(c.Request); err != nil {
				return err
			}
		}
		return nil
	case mediaOTLPJSON:
		body, err := otlpJSON(a.q.Signal, a.page.Chunks)
		if err != nil {
			return err
		}
		a.headers()
		return a.write(body)
	default:
		return a.document()
	}
}

// headers says what there is to say beside a body that has only rows.
func (a *answer) headers() {
	if a.page.Next != nil {
		a.w.Header().Set(headerNext, a.q.next(a.page.Next))
	}
	a.w.Header().Set(headerStats, a.stats())
}

func (a *answer) stats() string {
	b, err := json.Marshal(a.page.Stats)
	if err != nil { // cannot be: numbers
		panic(err)
	}
	return string(b)
}

// write sends b. The client gets a minute for it.
func (a *answer) write(b []byte) error {
	_ = a.control.SetWriteDeadline(time.Now().Add(stall)) // not every writer can; then there is no limit
	if _, err := a.w.Write(b); err != nil {
		return begun{err}
	}
	return nil
}

// document sends a page as one JSON object.
func (a *answer) document() error {
	a.headers()
	rows := rowWriter{signal: a.q.Signal, columns: a.q.columns, between: ","}
	a.buf = append(a.buf[:0], `{"rows":[`...)
	for _, c := range a.page.Chunks {
		a.buf = rows.append(a.buf, c)
		if err := a.write(a.buf); err != nil {
			return err
		}
		a.buf = a.buf[:0]
	}
	a.buf = append(a.buf, ']')
	if a.page.Next != nil {
		a.buf = append(a.buf, `,"next":"`...)
		a.buf = append(append(a.buf, a.q.next(a.page.Next)...), '"')
	}
	a.buf = append(append(a.buf, `,"stats":`...), a.stats()...)
	return a.write(append(a.buf, "}\n"...))
}

// lines sends rows one a line: a page, or page after page until there is no more.
func (a *answer) lines() error {
	a.w.Header().Set("Trailer", headerNext+", "+headerStats)
	rows := rowWriter{signal: a.q.Signal, columns: a.q.columns, after: "\n"}
	var sum query.Stats
	for {
		for _, c := range a.page.Chunks {
			if a.buf = rows.append(a.buf, c); len(a.buf) < 64<<10 {
				continue
			}
			if err := a.write(a.buf); err != nil {
				return err
			}
			a.buf = a.buf[:0]
		}
		if err := a.write(a.buf); err != nil {
			return err
		}
		a.buf = a.buf[:0]
		sum.Add(a.page.Stats)
		if !a.q.all || a.page.Next == nil {
			break
		}
		page, err := a.scan.Page(a.ctx)
		if err != nil {
			return begun{err}
		}
		a.page = page
	}
	a.page.Stats = sum
	a.headers()
	return nil
}

// otlpJSON returns the chunks as one Export request in OTLP/JSON.
func otlpJSON(s signal.Signal, chunks []query.Chunk) ([]byte, error) {
	var request []byte
	for _, c := range chunks {
		request = append(request, c.Request...)
	}
	return appendOTLPJSON(s, request)
}

func appendOTLPJSON(s signal.Signal, request []byte) ([]byte, error) {
	dst := make([]byte, 0, 3*len(request))
	switch s {
	case signal.Logs:
		return otlp.AppendLogsJSON(dst, request)
	case signal.Traces:
		return otlp.AppendTracesJSON(dst, request)
	default:
		return otlp.AppendMetricsJSON(dst, request)
	}
}
