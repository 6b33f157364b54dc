package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Row is one row of an answer. Numbers are json.Number, as sent.
type Row map[string]any

// Rows reads all rows of a collection (logs, spans, points) that match the
// query's parameters; start=0 and limit=all unless they say otherwise.
func (s *Server) Rows(collection string, query url.Values) ([]Row, error) {
	q := url.Values{"start": {"0"}, "limit": {"all"}}
	for k, v := range query {
		q[k] = v
	}
	status, body, err := s.Ask("/api/v1/"+collection+"?"+q.Encode(), "application/x-ndjson")
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("%s?%s: %d %s", collection, q.Encode(), status, body)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var rows []Row
	for {
		var r Row
		if err := d.Decode(&r); err == io.EOF {
			return rows, nil
		} else if err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
}

// OfService reads the rows whose resource names the service.
func (s *Server) OfService(collection, service string) ([]Row, error) {
	rows, err := s.Rows(collection, nil)
	if err != nil {
		return nil, err
	}
	var own []Row
	for _, r := range rows {
		if r.At("resource", "attributes", "service.name") == service {
			own = append(own, r)
		}
	}
	return own, nil
}

// Ask makes one GET request and returns the whole answer.
func (s *Server) Ask(path, accept string) (status int, body []byte, err error) {
	req, err := http.NewRequest(http.MethodGet, s.HTTP+path, nil)
	if err != nil {
		return 0, nil, err
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// At follows keys into nested objects; nil when one is missing. An object may
// stand under a name of several parts: At("resource", "attributes", k) reads
// {"resource.attributes": {k: …}} and {"resource": {"attributes": {k: …}}}.
func (r Row) At(keys ...string) any {
	v, _ := at(map[string]any(r), keys)
	return v
}

// Has says whether the path exists, be its value null or not.
func (r Row) Has(keys ...string) bool {
	_, ok := at(map[string]any(r), keys)
	return ok
}

func at(v any, keys []string) (any, bool) {
	if len(keys) == 0 {
		return v, true
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	for n := 1; n <= len(keys); n++ {
		if next, ok := m[strings.Join(keys[:n], ".")]; ok {
			return at(next, keys[n:])
		}
	}
	return nil, false
}

// Attr is an attribute of the record itself.
func (r Row) Attr(key string) any { return r.At("attributes", key) }

// Text is a value as text: strings as they are, numbers in their digits.
func Text(v any) string { return fmt.Sprint(v) }
