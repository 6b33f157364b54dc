package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"

	"mira/pipeline/explain"
	"mira/storage"
	"mira/storage/query"
	"mira/storage/signal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWindowAndLimit(t *testing.T) {
	h := serve(sample(t))
	for _, c := range []struct {
		params string
		rows   int
	}{
		{"", 2}, // the last hour
		{"start=0", 3},
		{"start=0&end=now", 3},
		{"start=-3h&end=-1h", 1},
		{"start=-1d", 3},
		{"start=-1d1h30m&end=%2B1h", 3},
		{"start=-45s", 1},
		{"start=-30s", 1}, // start inclusive
		{"end=-30s", 1},   // end exclusive
		{"start=now&end=now", 0},
		{"start=2026-11-30T11:59:00.000000123Z&end=2026-11-30T11:59:00.000000124Z", 1},
		{"start=2026-11-30T13:59:00%2B02:00", 2},
		{"start=2026-11-30T13:59:00+02:00", 2}, // nobody escaped the plus
		{"start=1796039970000000000", 1},
		{"start=0&limit=1", 1},
		{"start=0&filter=severity_number+%3E%3D+17", 1},
		{"start=0&filter=&columns=&cursor=", 3},
	} {
		if d := decode(t, get(h, "", "/api/v1/logs", pairsOf(t, c.params)...)); len(d.Rows) != c.rows || d.Stats.RowsReturned != int64(c.rows) {
			t.Errorf("%s: got %d rows and %+v, want %d", c.params, len(d.Rows), d.Stats, c.rows)
		}
	}
}

func pairsOf(t *testing.T, params string) (pairs []string) {
	t.Helper()
	v, err := url.ParseQuery(params)
	if err != nil {
		t.Fatal(err)
	}
	for name := range v {
		pairs = append(pairs, name, v.Get(name))
	}
	return pairs
}

func TestMistakesAreNamed(t *testing.T) {
	h := serve(sample(t))
	cursor := decode(t, get(h, "", "/api/v1/logs", "start", "0", "limit", "1")).Next
	for _, c := range []struct {
		path, params string
		status       int
		code, param  string
	}{
		{"logs", "strat=0", 400, "unknown_parameter", "strat"},
		{"logs", "limit=1&limit=2", 400, "invalid_parameter", "limit"},
		{"logs", "limit=0", 400, "invalid_parameter", "limit"},
		{"logs", "limit=10001", 400, "invalid_parameter", "limit"},
		{"logs", "limit=99999999999999999999", 400, "invalid_parameter", "limit"},
		{"logs", "limit=all", 400, "invalid_parameter", "limit"},
		{"logs", "start=yesterday", 400, "invalid_parameter", "start"},
		{"logs", "start=-", 400, "invalid_parameter", "start"},
		{"logs", "start=-d", 400, "invalid_parameter", "start"},
		{"logs", "start=-1e30d", 400, "invalid_parameter", "start"},
		{"logs", "start=-1", 400, "invalid_parameter", "start"},
		{"logs", "start=5m", 400, "invalid_parameter", "start"},
		{"logs", "start=1969-01-01T00:00:00Z", 400, "invalid_parameter", "start"},
		{"logs", "end=2600-01-01T00:00:00Z", 400, "invalid_parameter", "end"},
		{"logs", "start=18446744073709551616", 400, "invalid_parameter", "start"},
		{"logs", "start=now&end=-1h", 400, "invalid_parameter", "start"},
		{"logs", "order=up", 400, "invalid_parameter", "order"},
		{"logs", "columns=nope", 400, "invalid_parameter", "columns"},
		{"logs", "columns=metric.metadata.k", 400, "invalid_parameter", "columns"},
		{"logs", "filter=name+%3D%3D+1", 400, "invalid_filter", "filter"},
		{"logs", "cursor=AAAA", 400, "invalid_cursor", "cursor"},
		{"logs", "start=0&order=asc&cursor=" + cursor, 400, "invalid_cursor", "cursor"},
		{"logs", "start=-1h&cursor=" + cursor, 400, "invalid_cursor", "cursor"},
		{"spans", "start=0&cursor=" + cursor, 400, "invalid_cursor", "cursor"},
		{"logs", "a=%zz", 400, "invalid_query_string", ""},
		{"logs", "a=1;b=2", 400, "invalid_query_string", ""},
		{"nothing", "", 404, "not_found", ""},
		{"logs/", "", 404, "not_found", ""},
		{"traces/xyz", "", 400, "invalid_parameter", "trace_id"},
		{"traces/", "", 400, "invalid_parameter", "trace_id"},
		{"traces/ab000000000000000000000000000001", "limit=1", 400, "unknown_parameter", "limit"},
		{"traces/ab0000000000000000000000000000ff", "", 404, "unknown_trace", "trace_id"},
		{"traces/00000000000000000000000000000000", "", 404, "unknown_trace", "trace_id"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/"+c.path, nil)
		r.URL.RawQuery = c.params
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var p problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Errorf("%s?%s: %v in %s", c.path, c.params, err, w.Body)
			continue
		}
		if w.Code != c.status || p.Status != c.status || p.Code != c.code || p.Param != c.param || p.Detail == "" || p.Title == "" {
			t.Errorf("%s?%s: got %d %+v, want %d %s for %q", c.path, c.params, w.Code, p, c.status, c.code, c.param)
		}
		if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
			t.Errorf("%s?%s: got %s", c.path, c.params, got)
		}
	}
}

func TestOnlyReading(t *testing.T) {
	h := serve(sample(t))
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/api/v1/logs", nil))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: got %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/api/v1/logs?start=0", nil))
	if w.Code != http.StatusOK || w.Body.Len() != 0 || w.Header().Get("Content-Type") != mediaJSON || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("HEAD: got %d, %d bytes, %v", w.Code, w.Body.Len(), w.Header())
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/api/v1/logs?limit=x", nil))
	if w.Code != http.StatusBadRequest {
		t.Errorf("HEAD with a mistake: got %d", w.Code)
	}
}

func TestAcceptChoosesTheForm(t *testing.T) {
	h := serve(sample(t))
	for _, c := range []struct {
		accept string
		status int
		form   string
	}{
		{"", 200, mediaJSON},
		{"*/*", 200, mediaJSON},
		{"application/*", 200, mediaJSON},
		{"text/html,application/xhtml+xml,*/*;q=0.8", 200, mediaJSON},
		{"application/json", 200, mediaJSON},
		{"application/json; otlp", 200, mediaJSON},
		{"Application/X-NDJSON", 200, mediaNDJSON},
		{"application/json;q=0.5, application/x-ndjson", 200, mediaNDJSON},
		{"application/x-protobuf", 200, mediaProtobuf},
		{"text/html", 406, "application/problem+json"},
		{"application/vnd.apache.arrow.stream", 200, mediaArrow},
		{"application/json;q=0", 406, "application/problem+json"},
		{";;;,,=", 406, "application/problem+json"},
	} {
		res := get(h, c.accept, "/api/v1/logs")
		if got := res.Header.Get("Content-Type"); res.StatusCode != c.status || got != c.form {
			t.Errorf("%q: got %d %s, want %d %s", c.accept, res.StatusCode, got, c.status, c.form)
		}
	}
}

func TestOTLPFormsHoldThePage(t *testing.T) {
	h := serve(sample(t))
	pb, js := plogotlp.NewExportRequest(), plogotlp.NewExportRequest()
	res := get(h, mediaProtobuf, "/api/v1/logs", "start", "0", "limit", "2")
	if err := pb.UnmarshalProto(bodyOf(t, res)); err != nil {
		t.Fatal(err)
	}
	if res.Header.Get("Mira-Next") == "" || !strings.Contains(res.Header.Get("Mira-Stats"), `"rows_returned":2`) {
		t.Errorf("got %v, want a cursor and stats", res.Header)
	}
	if err := js.UnmarshalJSON(bodyOf(t, get(h, mediaOTLPJSON, "/api/v1/logs", "start", "0", "limit", "2"))); err != nil {
		t.Fatal(err)
	}
	if got, want := pb.Logs().LogRecordCount(), 2; got != want || js.Logs().LogRecordCount() != want {
		t.Errorf("got %d and %d records, want %d", got, js.Logs().LogRecordCount(), want)
	}
	if res := get(h, mediaProtobuf, "/api/v1/logs", "columns", "body"); res.StatusCode != http.StatusBadRequest {
		t.Errorf("columns of a lossless form: got %s", res.Status)
	}
}

func TestCursorWalksAllFormsAlike(t *testing.T) {
	h := New(Options{Source: sample(t)}) // "now" moves
	var bodies []any
	next := ""
	for range 5 {
		d := decode(t, get(h, "", "/api/v1/logs", "start", "0", "limit", "1", "cursor", next))
		for _, r := range d.Rows {
			bodies = append(bodies, r["body"])
		}
		if next = d.Next; next == "" {
			break
		}
	}
	if len(bodies) != 3 || bodies[0] != "5" || bodies[2] != "hello" {
		t.Errorf("got %v", bodies)
	}
}

func TestLinesEndWithTheCursor(t *testing.T) {
	srv := httptest.NewServer(serve(sample(t)))
	defer srv.Close()
	defer http.DefaultClient.CloseIdleConnections()
	ask := func(limit string) (lines int, trailer http.Header) {
		req, err := http.NewRequest(http.MethodGet, srv.URL+"/api/v1/logs?start=0&limit="+limit, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", mediaNDJSON)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return bytes.Count(bodyOf(t, res), []byte("\n")), res.Trailer
	}
	if lines, trailer := ask("2"); lines != 2 || trailer.Get("Mira-Next") == "" {
		t.Errorf("limit 2: got %d lines, %v", lines, trailer)
	}
	if lines, trailer := ask("all"); lines != 3 || trailer.Get("Mira-Next") != "" || !strings.Contains(trailer.Get("Mira-Stats"), `"rows_returned":3`) {
		t.Errorf("limit all: got %d lines, %v", lines, trailer)
	}
}

// broken fails from its second use on.
type broken struct{ io.Writer }

func (broken) Header() http.Header         { return http.Header{} }
func (broken) WriteHeader(int)             {}
func (broken) Write(b []byte) (int, error) { return 0, errors.New("gone") }

func TestAnswerThatCannotBeFinishedIsBrokenOff(t *testing.T) {
	defer func() {
		if r := recover(); r != http.ErrAbortHandler {
			t.Errorf("got %v, want %v", r, http.ErrAbortHandler)
		}
	}()
	serve(sample(t)).ServeHTTP(broken{}, httptest.NewRequest(http.MethodGet, "/api/v1/logs?start=0", nil))
	t.Error("the handler returned as if all were well")
}

func TestSourceThatFailsIsA500(t *testing.T) {
	res := get(serve(&rows{err: errors.New("disk on fire")}), "", "/api/v1/logs")
	if b := bodyOf(t, res); res.StatusCode != http.StatusInternalServerError || !bytes.Contains(b, []byte("disk on fire")) {
		t.Errorf("got %s: %s", res.Status, b)
	}
}

func TestTraceIsWholeAndInOrder(t *testing.T) {
	h := serve(sample(t))
	for _, c := range []struct {
		id    string
		spans []string
	}{
		{"ab000000000000000000000000000001", []string{"0000000000000001", "0000000000000002"}},
		{"AB000000000000000000000000000001", []string{"0000000000000001", "0000000000000002"}},
		{"0000000000000077", []string{"0000000000000005"}}, // a 64-bit id
	} {
		js, pb := ptraceotlp.NewExportRequest(), ptraceotlp.NewExportRequest()
		res := get(h, "", "/api/v1/traces/"+c.id)
		if got := res.Header.Get("Content-Type"); got != mediaJSON {
			t.Errorf("%s: got %s", c.id, got)
		}
		if err := js.UnmarshalJSON(bodyOf(t, res)); err != nil {
			t.Fatal(err)
		}
		if err := pb.UnmarshalProto(bodyOf(t, get(h, mediaProtobuf, "/api/v1/traces/"+c.id))); err != nil {
			t.Fatal(err)
		}
		if got := spansIn(js); fmt.Sprint(got) != fmt.Sprint(c.spans) || fmt.Sprint(spansIn(pb)) != fmt.Sprint(c.spans) {
			t.Errorf("%s: got %v and %v, want %v", c.id, got, spansIn(pb), c.spans)
		}
	}
}

func spansIn(r ptraceotlp.ExportRequest) (ids []string) {
	for _, rs := range r.Traces().ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				ids = append(ids, s.SpanID().String())
			}
		}
	}
	return ids
}

func TestHealthTellsWhatFailsAndSinceWhen(t *testing.T) {
	checks := []storage.Check{{Name: "log", OK: true}, {Name: "disk", OK: true}}
	h := New(Options{
		Source: sample(t), Checks: func() []storage.Check { return checks },
		Metrics: func(w io.Writer) { fmt.Fprintln(w, "mira_up 1") },
		Status:  func() any { return map[string]string{"build": "x"} },
	})
	if res := get(h, "", "/healthz"); res.StatusCode != http.StatusOK {
		t.Errorf("healthz: got %s", res.Status)
	}
	if res := get(h, "", "/readyz"); res.StatusCode != http.StatusOK {
		t.Errorf("readyz: got %s", res.Status)
	}
	checks[1] = storage.Check{Name: "disk", Detail: "full", Since: noon}
	res := get(h, "", "/readyz")
	if b := string(bodyOf(t, res)); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(b, `"failing":[{"name":"disk","ok":false,"detail":"full","since":"2026-11-30T12:00:00Z"}]`) {
		t.Errorf("readyz: got %s: %s", res.Status, b)
	}
	if b := string(bodyOf(t, get(h, "", "/metrics"))); b != "mira_up 1\n" {
		t.Errorf("metrics: got %q", b)
	}
	if b := string(bodyOf(t, get(h, "", "/api/v1/status"))); b != "{\"build\":\"x\"}\n" {
		t.Errorf("status: got %q", b)
	}
	if res := get(serve(sample(t)), "", "/metrics"); res.StatusCode != http.StatusNotFound {
		t.Errorf("metrics of nobody: got %s", res.Status)
	}
}

func TestQueriesWaitTheirTurn(t *testing.T) {
	s := &server{Options: Options{Source: sample(t), Now: time.Now}, turns: make(chan struct{}, 1)}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	done, err := s.turn(r)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		second, err := s.turn(r)
		if err == nil {
			second()
		}
		got <- err
	}()
	done()
	if err := <-got; err != nil {
		t.Errorf("got %v, want a turn after the first is done", err)
	}
}

func TestEveryPathAndParameterIsInTheContract(t *testing.T) {
	b, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]any
	}
	if err := yaml.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	h := New(Options{
		Source: sample(t), Metrics: func(io.Writer) {}, Status: func() any { return nil },
		Ingest: func(bool) *explain.Report { return new(explain.Report) },
		Follow: func(signal.Signal) (Follower, error) {
			g := newGifts()
			g.list <- gift{err: io.EOF}
			return g, nil
		},
	}).(*server)
	if got := bodyOf(t, get(h, "", openapiPath)); !bytes.Equal(got, b) {
		t.Errorf("%s is not the contract", openapiPath)
	}
	for path := range h.routes {
		if doc.Paths[path]["get"] == nil {
			t.Errorf("%s is not in openapi.yaml", path)
		}
	}
	for path := range doc.Paths {
		path = strings.Replace(path, "{trace_id}", "ab000000000000000000000000000001", 1)
		if res := get(h, "", path); res.StatusCode != http.StatusOK {
			t.Errorf("%s of openapi.yaml: got %s", path, res.Status)
		}
	}
	for _, name := range []string{"start", "end", "filter", "limit", "cursor", "order", "columns", "trace_id", "format", "window"} {
		if !bytes.Contains(b, []byte("name: "+name+"\n")) {
			t.Errorf("parameter %s is not in openapi.yaml", name)
		}
	}
}

func FuzzParameters(f *testing.F) {
	for _, q := range []string{"start=0&limit=1", "filter=body+%3D%3D+nil", "cursor=AQ", "columns=a,b", "start=-1d&end=now&order=asc"} {
		f.Add(q)
	}
	h := serve(sample(f))
	f.Fuzz(func(t *testing.T, params string) {
		for _, path := range []string{"logs", "spans", "points"} {
			r := httptest.NewRequest(http.MethodGet, "/api/v1/"+path, nil)
			r.URL.RawQuery = params
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusOK && w.Code != http.StatusBadRequest || !json.Valid(w.Body.Bytes()) {
				t.Fatalf("%q: got %d: %s", params, w.Code, w.Body)
			}
		}
	})
}

var _ query.Source = (*rows)(nil)
