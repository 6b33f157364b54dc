package doctor

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"mira/pipeline/explain"
)

// document is an answer of GET /debug/ingest.
const document = `{"window_seconds":10.0,"cores":2,"cpu_seconds":19.1,"gc_cpu_fraction":0.01,"records":18000000,"exports":2197,"bytes":2500000000,
"verdict":"compression bound: zstd 58 % of 1.9 busy cores; the log waits 3 %, and this sentence goes on for longer than a line","bound_by":"compress",
"stages":[{"name":"admit_wait","kind":"wait","count":2197,"total_seconds":0.1,"p50_seconds":0.00001,"p99_seconds":0.0002,"max_seconds":0.01,"share":0.01},
{"name":"check","kind":"cpu","count":2197,"total_seconds":1.2,"p50_seconds":0.0005,"p99_seconds":0.001,"max_seconds":0.01,"share":0.06},
{"name":"log_sync","kind":"wait","count":900,"total_seconds":3.1,"p50_seconds":0.0031,"p99_seconds":0.012,"max_seconds":0.04,"share":0.31},
{"name":"compress","kind":"cpu","count":38,"total_seconds":11.1,"p50_seconds":0.29,"p99_seconds":0.4,"max_seconds":0.41,"share":0.58}],
"gauges":{"budget_used_bytes":134217728,"budget_bytes":1073741824,"parked_exports":0,"in_flight_exports":4,"open_block_age_seconds":0.2,"unsynced_bytes":0,"scheduler_lag_seconds":0.0001,"goroutines":40},
"settings":{"block_bytes":67108864,"shards":2,"ingest_memory":1073741824,"durability":"sync","gomaxprocs":4}}`

// serve answers each path with a text, and any other with 404.
func serve(t *testing.T, paths map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := paths[r.URL.Path]
		switch {
		case !ok:
			http.NotFound(w, r)
		case text == "":
			http.Error(w, "not now", http.StatusServiceUnavailable)
		case r.URL.Path == "/debug/ingest" && r.Header.Get("Accept") != "application/json":
			_, _ = w.Write([]byte("<html>"))
		default:
			_, _ = w.Write([]byte(text))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestServerIsAskedAndAdvised(t *testing.T) {
	o := tinyOptions("/data", memory(t))
	o.Must, o.Addr = true, serve(t, map[string]string{
		"/debug/ingest": document,
		"/metrics": "mira_receiver_bytes_total{signal=\"logs\",transport=\"grpc\",kind=\"wire\"} 100\n" +
			"mira_receiver_bytes_total{signal=\"logs\",transport=\"grpc\",kind=\"decoded\"} 500\nmira_other{kind=\"wire\"} 7\n",
	})+"/"
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s := r.Server
	if s == nil || s.Ingest == nil || s.Wire != 5 || s.Advice.Setting != "cores" || top(s.Ingest, 1)[0].P99 != 0.4 || s.Ingest.Settings.GOMAXPROCS != 4 {
		t.Fatalf("got %+v", s)
	}
	var out bytes.Buffer
	r.Text(&out)
	for _, want := range []string{"compression bound: zstd 58 %", "compress    cpu     58 %   p50 290 ms", "log_sync    wait", "advice     cores: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestServerWithoutTheDocumentIsTooOld(t *testing.T) {
	o := Options{Addr: serve(t, nil), Must: true}
	s, err := o.ask(t.Context())
	if err != nil || !s.TooOld {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestNobodyListensIsQuietUnlessTheAddressWasGiven(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	o := tinyOptions("/data", memory(t))
	o.Addr = "http://" + l.Addr().String()
	if r, err := Run(t.Context(), o); err != nil || r.Server != nil {
		t.Errorf("by default: got %+v, %v", r, err)
	}
	o.Must = true
	if r, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), o.Addr) || r == nil || r.Prediction.Records <= 0 {
		t.Errorf("asked for: got %+v, %v; want an error beside the whole report", r, err)
	}
}

func TestAnswerThatIsNoDocumentIsAnError(t *testing.T) {
	for _, text := range []string{"", "<html>", `{"cores":"two"}`} {
		o := Options{Addr: serve(t, map[string]string{"/debug/ingest": text})}
		if s, err := o.ask(t.Context()); err == nil {
			t.Errorf("%q: got %+v", text, s)
		}
	}
}

func TestStrangerAtTheDefaultAddressIsNoFailure(t *testing.T) {
	o := tinyOptions("/data", memory(t))
	o.Addr = serve(t, map[string]string{"/debug/ingest": "<html>"})
	if r, err := Run(t.Context(), o); err != nil || len(r.Warnings) == 0 || !strings.Contains(r.Warnings[0], o.Addr) {
		t.Errorf("got %v, want a warning that names %s", err, o.Addr)
	}
}

func TestTextFitsIntoEightyColumns(t *testing.T) {
	var d explain.Report
	if err := json.Unmarshal([]byte(document), &d); err != nil {
		t.Fatal(err)
	}
	a := Advise(&d, 1)
	r := &Report{
		Shape: "rich", Box: Box{Cores: 128, Quota: 127.5, Procs: 130, Memory: 1023 << 30, IngestMemory: 1023 << 20},
		Disk: Disk{
			Dir: "/var/lib/mira", FileSystem: "ext", Free: 1023 << 30, Bandwidth: 1023 << 20,
			Small: Writes{smallWrite, 9, 0.000999, 0.999}, Large: Writes{largeWrite, 9, 0.999, 0.999},
		},
		CPU:        CPU{Requests: 64, OTLPBytes: 999, BlockBytes: 999.9, Receive: 9999, Check: 9999, Log: 9999, Columns: 9999, Encode: 9999, Total: 99999},
		Prediction: Prediction{Records: 99.99e6, CPU: 99.99e6, Disk: 99.99e6, Limit: "disk", Batch: batch, AckOne: 0.999, AckBatch: 0.999},
		Warnings:   []string{strings.Repeat("word ", 40), strings.Repeat("x", 60)},
	}
	for _, s := range []*Server{nil, {Addr: "http://127.0.0.1:4318", TooOld: true}, {Addr: "http://127.0.0.1:4318", Ingest: &d, Advice: &a}, {Addr: "http://127.0.0.1:4318", Ingest: &d, Advice: &Advice{Why: "nothing"}}} {
		r.Server = s
		var out bytes.Buffer
		r.Text(&out)
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > width || strings.TrimRight(line, " ") != line {
				t.Errorf("%d columns or blanks at the end: %q", len(line), line)
			}
		}
	}
}

func TestUnitsFitTheirFigures(t *testing.T) {
	for want, got := range map[string]string{
		"93 us": Seconds(0.000093).String(), "1.24 ms": Seconds(0.00124).String(), "2.5 s": Seconds(2.5).String(),
		"1.85 M": rate(1.85e6), "820 k": rate(820e3), "12": rate(12),
		"256 B": size(256), "1.25 MiB": size(largeWrite), "68.1 GiB": size(68.1 * (1 << 30)), "4 KiB": size(4096), "1020 GiB": size(1020 << 30), "10 GiB": size(10 << 30),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
