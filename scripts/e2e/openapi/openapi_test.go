// Package openapi holds a running server against the contract that it serves.
package openapi

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"go.yaml.in/yaml/v3"

	"mira/scripts/e2e/server"
)

const traceID = "ab000000000000000000000000000001"

// sent is one Export of each signal, at the time that stands for %d.
var sent = map[string]string{
	"/v1/logs": `{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"front"}}]},"scopeLogs":[{"logRecords":[
		{"timeUnixNano":"%[1]d","severityNumber":17,"severityText":"ERROR","body":{"stringValue":"no"},"attributes":[{"key":"n","value":{"intValue":"7"}}],"traceId":"` + traceID + `","spanId":"0000000000000001"},
		{"timeUnixNano":"%[1]d","severityNumber":9,"body":{"kvlistValue":{"values":[{"key":"a","value":{"doubleValue":1.5}}]}}}]}]}]}`,
	"/v1/traces": `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"front"}}]},"scopeSpans":[{"scope":{"name":"lib"},"spans":[
		{"traceId":"` + traceID + `","spanId":"0000000000000001","name":"GET /","kind":2,"startTimeUnixNano":"%[1]d","endTimeUnixNano":"%[1]d","status":{"code":2,"message":"no"},"events":[{"timeUnixNano":"%[1]d","name":"exception"}],"links":[{"traceId":"` + traceID + `","spanId":"0000000000000009"}]}]}]}]}`,
	"/v1/metrics": `{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"front"}}]},"scopeMetrics":[{"metrics":[
		{"name":"requests","unit":"1","sum":{"isMonotonic":true,"aggregationTemporality":2,"dataPoints":[{"timeUnixNano":"%[1]d","asInt":"3","exemplars":[{"timeUnixNano":"%[1]d","asDouble":1,"traceId":"` + traceID + `","spanId":"0000000000000001"}]}]}},
		{"name":"latency","unit":"s","histogram":{"aggregationTemporality":2,"dataPoints":[{"timeUnixNano":"%[1]d","count":"2","sum":3,"bucketCounts":["1","1"],"explicitBounds":[1]}]}}]}]}]}`,
}

// values are what a path or its query must say to be answered.
var values = map[string]string{"{trace_id}": traceID, "{signal}": "logs"}

var queries = map[string]string{"/api/v1/metrics/query": "name=requests"}

// unreached are the statuses that no client can bring about by itself.
var unreached = []string{"500", "422", "/readyz 503"}

// special are the requests for statuses that need more than a mistake in the parameters.
var special = map[string]string{"/api/v1/traces/{trace_id} 404": "/api/v1/traces/00000000000000000000000000000099"}

// contract is the document, as far as the test walks it.
type contract struct {
	OpenAPI string
	Paths   map[string]struct {
		Get struct {
			Responses map[string]response
		}
	}
	Components struct {
		Responses map[string]response
	}
}

// response is one, or the name of one.
type response struct {
	Ref     string `yaml:"$ref"`
	Content map[string]any
}

// forms returns the media types that a response has.
func (c *contract) forms(r response) []string {
	if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
		r = c.Components.Responses[name]
	}
	return slices.Sorted(maps.Keys(r.Content))
}

// suite is a server with its contract.
type suite struct {
	*testing.T
	srv   *server.Server
	doc   contract
	valid validator.Validator
}

func start(t *testing.T) *suite {
	t.Helper()
	s := &suite{T: t, srv: server.Start(t, t.TempDir())}
	for path, body := range sent {
		res, err := http.Post(s.srv.HTTP+path, "application/json", strings.NewReader(fmt.Sprintf(body, time.Now().UnixNano())))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", path, res.Status)
		}
	}
	status, text, err := s.srv.Ask("/api/openapi.yaml", "")
	if err != nil || status != http.StatusOK {
		t.Fatalf("the contract: %d, %v", status, err)
	}
	doc, err := libopenapi.NewDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	v, errs := validator.NewValidator(doc)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if err := yaml.Unmarshal(text, &s.doc); err != nil {
		t.Fatal(err)
	}
	s.valid = v
	return s
}

func TestContractIsOpenAPI31(t *testing.T) {
	s := start(t)
	if ok, errs := s.valid.ValidateDocument(); !ok {
		for _, e := range errs {
			t.Errorf("%s: %s", e.Message, e.Reason)
			for _, c := range e.SchemaValidationErrors {
				t.Errorf("  line %d: %s", c.Line, c.Reason)
			}
		}
	}
	if !strings.HasPrefix(s.doc.OpenAPI, "3.1") {
		t.Errorf("openapi is %q, want 3.1", s.doc.OpenAPI)
	}
}

// Every status of every path, in every form that it is said to have.
func TestAnswersAreAsTheContractSays(t *testing.T) {
	s := start(t)
	for _, path := range slices.Sorted(maps.Keys(s.doc.Paths)) {
		responses := s.doc.Paths[path].Get.Responses
		if len(responses) == 0 {
			t.Errorf("%s answers nothing to GET", path)
		}
		for _, status := range slices.Sorted(maps.Keys(responses)) {
			if slices.Contains(unreached, status) || slices.Contains(unreached, path+" "+status) {
				continue
			}
			forms := s.doc.forms(responses[status])
			if len(forms) == 0 {
				t.Errorf("%s %s says nothing about its content", path, status)
			}
			for _, form := range forms {
				s.check(path, status, form)
			}
		}
	}
}

// target returns what to ask for so that path answers with status.
func target(path, status string) string {
	if t := special[path+" "+status]; t != "" {
		return t
	}
	at := path
	for name, value := range values {
		at = strings.ReplaceAll(at, name, value)
	}
	query := queries[path]
	if status == "400" {
		query = "no_such_parameter=1"
	}
	return at + "?" + query
}

func (s *suite) check(path, status, form string) {
	s.Helper()
	accept := form
	switch {
	case status == "406":
		accept = "image/png"
	case strings.HasPrefix(form, "application/problem"):
		accept = ""
	}
	if strings.HasSuffix(path, "/tail") && status == "503" {
		defer s.fill(path)()
	}
	req, err := http.NewRequest(http.MethodGet, s.srv.HTTP+target(path, status), nil)
	if err != nil {
		s.Fatal(err)
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer res.Body.Close()
	body := s.body(path, res)
	if fmt.Sprint(res.StatusCode) != status || media(res) != strings.TrimSuffix(form, ";otlp") {
		s.Errorf("%s as %q: got %s %s, want %s %s: %.300s", req.URL, accept, res.Status, media(res), status, form, body)
		return
	}
	if strings.HasSuffix(form, ";otlp") {
		return // labelled like the rows, and with a schema of its own
	}
	if form == "application/x-ndjson" { // each line is a row
		body = fmt.Appendf(nil, `{"rows":[%s],"stats":{}}`, bytes.ReplaceAll(bytes.TrimSpace(body), []byte("\n"), []byte(",")))
		res.Header.Set("Content-Type", "application/json")
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	if ok, errs := s.valid.ValidateHttpResponse(req, res); !ok {
		for _, e := range errs {
			s.Errorf("%s as %s: %s: %s", req.URL, form, e.Message, e.Reason)
			for _, c := range e.SchemaValidationErrors {
				s.Errorf("  %s: %s", c.FieldPath, c.Reason)
			}
		}
		s.Logf("%.2000s", body)
	}
}

// body reads an answer, and of one without end what comes first.
func (s *suite) body(path string, res *http.Response) []byte {
	s.Helper()
	var body []byte
	var err error
	if strings.HasSuffix(path, "/tail") && res.StatusCode == http.StatusOK {
		body = make([]byte, 64)
		var n int
		n, err = io.ReadAtLeast(res.Body, body, len("retry: 2000\nevent: ready\n"))
		body = body[:n]
	} else {
		body, err = io.ReadAll(res.Body)
	}
	if err != nil {
		s.Fatal(err)
	}
	return body
}

// fill takes every place that there is for tails.
func (s *suite) fill(path string) (end func()) {
	s.Helper()
	var open []io.Closer
	for range 64 {
		res, err := http.Get(s.srv.HTTP + path + "?" + url.Values{"filter": {"false"}}.Encode())
		if err != nil {
			s.Fatal(err)
		}
		if res.StatusCode != http.StatusOK { // those of the path before are still going
			res.Body.Close()
			break
		}
		open = append(open, res.Body)
	}
	return func() {
		for _, c := range open {
			_ = c.Close()
		}
	}
}

func media(res *http.Response) string {
	form, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return err.Error()
	}
	return form
}
