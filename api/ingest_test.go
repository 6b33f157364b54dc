package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mira/pipeline/explain"
	"mira/storage/stage"
)

// serveIngest answers with a report that says what window it was asked for.
func serveIngest(t *testing.T) http.Handler {
	return New(Options{Source: sample(t), Ingest: func(sinceStart bool) *explain.Report {
		r := &explain.Report{WindowSeconds: 10, Cores: 2, CPUSeconds: 19, Exports: 12, Verdict: "bound by a <b>test</b>", BoundBy: "compress"}
		if sinceStart {
			r.WindowSeconds = 1000
		}
		for _, s := range stage.All {
			r.Stages = append(r.Stages, explain.Stage{Name: s.String(), Kind: s.Kind(), Count: 3, Total: .5})
		}
		return r
	}})
}

func TestIngestIsJSONForWhoAsksAndAPageForAllOthers(t *testing.T) {
	h := serveIngest(t)
	for _, c := range []struct{ accept, format, want string }{
		{"", "", "text/html; charset=utf-8"},
		{"*/*", "", "text/html; charset=utf-8"},
		{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "", "text/html; charset=utf-8"},
		{"image/png", "", "text/html; charset=utf-8"},
		{"application/json", "", "application/json"},
		{"application/*", "", "application/json"},
		{"text/html;q=0.5, application/json", "", "application/json"},
		{"", "json", "application/json"},
		{"application/json", "html", "text/html; charset=utf-8"},
	} {
		res := get(h, c.accept, "/debug/ingest", "format", c.format)
		if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || got != c.want {
			t.Errorf("Accept %q, format %q: got %s %s, want %s", c.accept, c.format, res.Status, got, c.want)
		}
	}
}

func TestIngestDocumentIsOfTheWindowAskedFor(t *testing.T) {
	h := serveIngest(t)
	for window, want := range map[string]float64{"": 10, "last": 10, "since_start": 1000} {
		var r explain.Report
		if err := json.Unmarshal(bodyOf(t, get(h, "", "/debug/ingest", "format", "json", "window", window)), &r); err != nil {
			t.Fatal(err)
		}
		if r.WindowSeconds != want || len(r.Stages) != len(stage.All) || r.BoundBy != "compress" {
			t.Errorf("window %q: got %+v, want %g s", window, r, want)
		}
	}
}

func TestIngestPageStandsAlone(t *testing.T) {
	res := get(serveIngest(t), "", "/debug/ingest")
	text := string(bodyOf(t, res))
	for _, s := range stage.All {
		if !strings.Contains(text, "<td>"+s.String()+"</td>") {
			t.Errorf("%s is not in the table", s)
		}
	}
	if !strings.Contains(text, "bound by a &lt;b&gt;test&lt;/b&gt;") {
		t.Error("the verdict is missing, or not escaped")
	}
	for _, outside := range []string{"<script", "src=", "http:", "https:", "@import", "url("} {
		if strings.Contains(text, outside) {
			t.Errorf("the page holds %s", outside)
		}
	}
	if policy := res.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; ") {
		t.Errorf("policy: got %q", policy)
	}
}

func TestIngestNamesWrongParameters(t *testing.T) {
	h := serveIngest(t)
	for param, value := range map[string]string{"format": "xml", "window": "1h", "since": "start"} {
		if res := get(h, "", "/debug/ingest", param, value); res.StatusCode != http.StatusBadRequest || !strings.Contains(string(bodyOf(t, res)), `"param":"`+param+`"`) {
			t.Errorf("%s=%s: got %s", param, value, res.Status)
		}
	}
	r := httptest.NewRequest(http.MethodHead, "/debug/ingest", nil)
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusOK || w.Body.Len() != 0 {
		t.Errorf("HEAD: got %d with %d bytes", w.Code, w.Body.Len())
	}
}
