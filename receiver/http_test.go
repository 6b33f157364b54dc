package receiver

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"mira/pipeline"
	"mira/storage/signal"
)

func TestEverySignalIsStoredInBothEncodings(t *testing.T) {
	for _, sig := range signal.All {
		pb, js := sample(t, sig, 3)
		for media, body := range map[string][]byte{mediaProtobuf: pb, mediaJSON: js} {
			t.Run(sig.String()+" "+media, func(t *testing.T) {
				d := open(t, &fakeSink{}, Options{})
				a := d.post(t, "/v1/"+sig.String()+"?tenant=7", bytes.NewReader(body), "Content-Type", media,
					"X-Scope-Orgid", strings.Repeat("x", 8<<10), "baggage", "a=b")
				want := ""
				if media == mediaJSON {
					want = "{}"
				}
				if a.code != http.StatusOK || string(a.body) != want || a.header.Get("Content-Type") != media {
					t.Fatalf("got %d %q %q, want 200 %q %q", a.code, a.body, a.header, want, media)
				}
				if got := a.header.Get("mira-receipt"); got != sig.String()+"/0000abcd.1.7/1" {
					t.Errorf("receipt %q", got)
				}
				if got := a.header.Get("mira-durability"); got != "sync" {
					t.Errorf("durability %q, want sync", got)
				}
				got := d.sink.stored()
				if len(got) != 1 || got[0].Records != 3 || got[0].Signal != sig || media == mediaProtobuf && !bytes.Equal(got[0].Payload, pb) {
					t.Errorf("stored %v", got)
				}
			})
		}
	}
}

func TestRequestLineAndHeadersDecideTheStatus(t *testing.T) {
	pb, js := sample(t, signal.Logs, 1)
	d := open(t, &fakeSink{}, Options{MaxRequestBytes: 4096})
	for _, c := range []struct {
		name, method, path, media string
		body                      []byte
		code                      int
		asPB                      bool
		header                    []string
	}{
		{"charset is ignored", "POST", "/v1/logs", "application/json; charset=utf-8", js, 200, false, nil},
		{"media type in capitals", "POST", "/v1/logs", "Application/X-Protobuf", pb, 200, true, nil},
		{"no media type", "POST", "/v1/logs", "", js, 415, false, nil},
		{"text", "POST", "/v1/logs", "text/plain", js, 415, false, nil},
		{"application/protobuf", "POST", "/v1/logs", "application/protobuf", pb, 415, false, nil},
		{"GET", "GET", "/v1/logs", mediaJSON, nil, 405, false, nil},
		{"PUT of protobuf", "PUT", "/v1/logs", mediaProtobuf, pb, 405, true, nil},
		{"OPTIONS without CORS", "OPTIONS", "/v1/logs", "", nil, 405, false, []string{"Origin", "https://a", "Access-Control-Request-Method", "POST"}},
		{"unknown path", "POST", "/v1/nothing", mediaProtobuf, pb, 404, true, nil},
		{"profiles", "POST", "/v1development/profiles", mediaJSON, js, 404, false, nil},
		{"path with a slash behind", "POST", "/v1/logs/", mediaJSON, js, 404, false, nil},
		{"path with a slash before", "POST", "//v1/logs", mediaJSON, js, 404, false, nil},
		{"br", "POST", "/v1/logs", mediaJSON, js, 415, false, []string{"Content-Encoding", "br"}},
		{"two codings", "POST", "/v1/logs", mediaJSON, js, 415, false, []string{"Content-Encoding", "gzip, gzip"}},
		{"identity", "POST", "/v1/logs", mediaJSON, js, 200, false, []string{"Content-Encoding", "Identity"}},
		{"odd durability", "POST", "/v1/logs", mediaProtobuf, pb, 400, true, []string{"mira-durability", "eventually"}},
		{"two durabilities", "POST", "/v1/logs", mediaProtobuf, pb, 400, true, []string{"mira-durability", "sync", "mira-durability", "batched"}},
		{"broken protobuf", "POST", "/v1/logs", mediaProtobuf, pb[:len(pb)-2], 400, true, nil},
		{"protobuf called JSON", "POST", "/v1/logs", mediaJSON, append(pb, 0xff), 400, false, nil},
		{"JSON cut off", "POST", "/v1/logs", mediaJSON, js[:len(js)-2], 400, false, nil},
		{"JSON array", "POST", "/v1/logs", mediaJSON, []byte("[]"), 400, false, nil},
		{"blank JSON", "POST", "/v1/logs", mediaJSON, []byte(" "), 400, false, nil},
		{"no JSON", "POST", "/v1/logs", mediaJSON, nil, 400, false, nil},
		{"too large", "POST", "/v1/logs", mediaProtobuf, make([]byte, 4097), 413, true, nil},
		{"not gzip", "POST", "/v1/logs", mediaJSON, js, 400, false, []string{"Content-Encoding", "gzip"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(d.sink.stored())
			header := c.header
			if c.media != "" {
				header = append(header, "Content-Type", c.media)
			}
			a := d.do(t, c.method, c.path, bytes.NewReader(c.body), header...)
			if a.code != c.code {
				t.Fatalf("got %d %s, want %d", a.code, a.body, c.code)
			}
			if media := a.header.Get("Content-Type"); (media == mediaProtobuf) != c.asPB || media != mediaProtobuf && media != mediaJSON {
				t.Errorf("answer in %q", media)
			}
			if c.code == 405 && a.header.Get("Allow") != "POST" {
				t.Errorf("Allow is %q", a.header.Get("Allow"))
			}
			if c.code == 415 && c.header != nil && !strings.Contains(a.header.Get("Accept-Encoding"), "zstd") {
				t.Errorf("Accept-Encoding is %q", a.header.Get("Accept-Encoding"))
			}
			for name := range a.header {
				if strings.HasPrefix(name, "Access-Control") {
					t.Errorf("CORS is off, but there is %s", name)
				}
			}
			if c.code == 200 {
				return
			}
			st := a.status(t)
			want := "body"
			switch {
			case strings.Contains(c.name, "durabilit"):
				want = headerDurability
			case c.code == 415 && c.header == nil:
				want = "content-type"
			case c.code != 400:
				want = ""
			case c.name == "JSON cut off":
				want = "resourceLogs"
			}
			if got := faulty(st); got != want {
				t.Errorf("the field at fault is %q, want %q", got, want)
			}
			if n := len(d.sink.stored()); n != before {
				t.Errorf("a refused request was stored")
			}
		})
	}
}

func TestConfiguredPathsReplaceTheOrdinaryOnes(t *testing.T) {
	_, js := sample(t, signal.Traces, 1)
	d := open(t, &fakeSink{}, Options{Paths: map[signal.Signal]string{signal.Traces: "/otlp/spans"}})
	for path, want := range map[string]int{"/otlp/spans": 200, "/v1/traces": 404} {
		if a := d.post(t, path, bytes.NewReader(js), "Content-Type", mediaJSON); a.code != want {
			t.Errorf("%s: got %d, want %d", path, a.code, want)
		}
	}
}

func TestEmptyRequestsSucceedAndStoreNothing(t *testing.T) {
	for _, c := range []struct{ media, body, want string }{
		{mediaProtobuf, "", ""},
		{mediaProtobuf, "\x0a\x00", ""}, // a resource without scopes
		{mediaJSON, "{}", "{}"},
		{mediaJSON, " \r\n{ \t}\n", "{}"},
		{mediaJSON, `{"resourceLogs":[]}`, "{}"},
		{mediaJSON, `{"resourceLogs":[{"scopeLogs":[{"logRecords":[]}]}]}`, "{}"},
	} {
		t.Run(c.media+" "+c.body, func(t *testing.T) {
			d := open(t, &fakeSink{}, Options{})
			a := d.post(t, "/v1/logs", strings.NewReader(c.body), "Content-Type", c.media)
			if a.code != 200 || string(a.body) != c.want || a.header.Get("mira-receipt") != "" {
				t.Errorf("got %d %q %v", a.code, a.body, a.header)
			}
			if got := d.sink.stored(); len(got) != 0 {
				t.Errorf("stored %v", got)
			}
		})
	}
}

func TestJSONWithoutAKnownFieldIsWarnedAbout(t *testing.T) {
	var log bytes.Buffer
	d := open(t, &fakeSink{}, Options{Log: logTo(&log)})
	a := d.post(t, "/v1/traces", strings.NewReader(`{"resource_spans":[{}]}`), "Content-Type", mediaJSON, "User-Agent", "curl\t/8")
	if a.code != 200 {
		t.Fatalf("got %d %s", a.code, a.body)
	}
	resp := ptraceResponse(t, a.body)
	if resp.PartialSuccess().RejectedSpans() != 0 || !strings.Contains(resp.PartialSuccess().ErrorMessage(), "resourceSpans") {
		t.Errorf("partial success %s", a.body)
	}
	if !strings.Contains(log.String(), "not_otlp") {
		t.Errorf("log %q", log.String())
	}
}

func TestCausesBecomeHonestStatuses(t *testing.T) {
	pb, _ := sample(t, signal.Metrics, 1)
	for _, c := range []struct {
		name  string
		err   error
		code  codes.Code
		http  int
		after string
	}{
		{"busy", &pipeline.Refusal{Cause: pipeline.ErrBusy, RetryAfter: 2100e6}, codes.Unavailable, 503, "3"},
		{"disk full", &pipeline.Refusal{Cause: fmt.Errorf("%w: no space", pipeline.ErrUnavailable), RetryAfter: 1}, codes.Unavailable, 503, "1"},
		{"no delay given", pipeline.ErrUnavailable, codes.Unavailable, 503, "1"},
		{"absurd delay", &pipeline.Refusal{Cause: pipeline.ErrBusy, RetryAfter: 1e15}, codes.Unavailable, 503, "30"},
		{"unstorable", &pipeline.Refusal{Cause: pipeline.ErrUnstorable}, codes.InvalidArgument, 400, ""},
		{"nobody knows", io.ErrClosedPipe, codes.Unavailable, 503, "1"},
		{"not UTF-8", fmt.Errorf("%w: \xff\xfe", pipeline.ErrUnstorable), codes.InvalidArgument, 400, ""},
		{"endless text", fmt.Errorf("%w: %s", pipeline.ErrBusy, strings.Repeat("x", 1<<20)), codes.Unavailable, 503, "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := open(t, &fakeSink{refuse: c.err}, Options{})
			a := d.post(t, "/v1/metrics", bytes.NewReader(pb), "Content-Type", mediaProtobuf)
			st := a.status(t)
			if a.code != c.http || codes.Code(st.Code) != c.code || a.header.Get("Retry-After") != c.after {
				t.Errorf("HTTP: got %d %v after %q, want %d %v after %q", a.code, st, a.header.Get("Retry-After"), c.http, c.code, c.after)
			}
			if len(a.body) > 4<<10 {
				t.Errorf("answer of %d bytes", len(a.body))
			}
			got := exportError(t, d, signal.Metrics, pb)
			if got.Code() != c.code || hasRetryInfo(got) != (c.after != "") || hasBadRequest(got) != (c.http == 400) {
				t.Errorf("gRPC: got %v %v, want %v", got, got.Details(), c.code)
			}
		})
	}
}

func TestLimitIsExactOnTheWireAndInflated(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 100)
	for _, limit := range []int{len(pb), len(pb) - 1} {
		want := 200
		if limit < len(pb) {
			want = 413
		}
		d := open(t, &fakeSink{}, Options{MaxRequestBytes: limit})
		bodies := encodings(t, pb)
		bodies["identity"] = pb
		for coding, body := range bodies {
			if len(body) > limit && want == 200 {
				continue
			}
			for kind, r := range map[string]io.Reader{"sized": bytes.NewReader(body), "chunked": io.MultiReader(bytes.NewReader(body))} {
				a := d.post(t, "/v1/logs", r, "Content-Type", mediaProtobuf, "Content-Encoding", coding)
				if a.code != want {
					t.Errorf("limit %d of %d, %s, %s: got %d %s, want %d", limit, len(pb), coding, kind, a.code, a.body, want)
				}
			}
		}
	}
}
