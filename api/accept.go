package api

import (
	"net/http"
	"strconv"
	"strings"
)

const (
	mediaJSON     = "application/json"
	mediaOTLPJSON = "application/json;otlp"
	mediaNDJSON   = "application/x-ndjson"
	mediaProtobuf = "application/x-protobuf"
	mediaArrow    = "application/vnd.apache.arrow.stream"
)

// accepted chooses among the forms a resource has, of which the first is the default, by the
// Accept header: the highest q, then what is named earlier.
func accepted(r *http.Request, forms ...string) (string, error) {
	header := strings.Join(r.Header.Values("Accept"), ",")
	if strings.TrimSpace(header) == "" {
		return forms[0], nil
	}
	best, weight := "", 0.0
	for entry := range strings.SplitSeq(header, ",") {
		form, q := mediaRange(entry)
		if q <= weight {
			continue
		}
		for _, f := range forms {
			if form == f || form == "*/*" || form == "application/*" && strings.HasPrefix(f, "application/") {
				best, weight = f, q
				break
			}
		}
	}
	if best == "" {
		return "", &problem{
			Status: http.StatusNotAcceptable, Code: "not_acceptable",
			Detail: "this is answered as " + strings.Join(forms, ", ") + "; the Accept header allows none of them",
		}
	}
	return best, nil
}

// contentType returns how an answer in that form is labelled.
func contentType(form string) string {
	if form == mediaOTLPJSON {
		return mediaJSON
	}
	return form
}

// mediaRange takes one entry of an Accept header apart. Of the parameters only otlp and q count.
func mediaRange(entry string) (form string, q float64) {
	parts := strings.Split(strings.ToLower(entry), ";")
	form, q = strings.TrimSpace(parts[0]), 1
	for _, p := range parts[1:] {
		p = strings.TrimSpace(p)
		name, v, _ := strings.Cut(p, "=")
		switch name {
		case "otlp":
			form += ";otlp"
		case "q":
			if w, err := strconv.ParseFloat(v, 64); err == nil {
				q = w
			}
		}
	}
	switch form {
	case "application/ndjson", "application/jsonl":
		form = mediaNDJSON
	case "text/*":
		form = mediaEvents
	}
	return form, q
}
