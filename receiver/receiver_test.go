package receiver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"mira/pipeline"
	"mira/storage/otlp"
	"mira/storage/signal"
)

func TestValidateNamesTheField(t *testing.T) {
	if err := (Options{}).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
	for want, o := range map[string]Options{
		"MaxRequestBytes":     {MaxRequestBytes: -1},
		"ReceiveBytes":        {ReceiveBytes: 1},
		"MinRate":             {MinRate: -1},
		"MaxStreams":          {MaxStreams: 251},
		"MaxGRPCHeaderBytes":  {MaxGRPCHeaderBytes: 5},
		"MaxHTTPHeaderBytes":  {MaxHTTPHeaderBytes: 1 << 30},
		"Durability":          {Durability: 9},
		"StrongestDurability": {StrongestDurability: signal.Buffered},
		"BodyGrace":           {BodyGrace: -1},
		"CORS.MaxAge":         {CORS: CORS{MaxAge: -1}},
		"CORS.Origins":        {CORS: CORS{Origins: []string{"https://*.*.example"}}},
		"Paths[logs]":         {Paths: map[signal.Signal]string{signal.Logs: "v1/logs"}},
		"Paths[traces]":       {Paths: map[signal.Signal]string{signal.Traces: "/v1/logs"}},
	} {
		_, err := New(&fakeSink{}, o)
		if err == nil || !strings.Contains(err.Error(), want+":") {
			t.Errorf("got %v, want it to name %s", err, want)
		}
	}
}

func TestTierIsAskedForGrantedAndCapped(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 1)
	for _, c := range []struct {
		def, strongest signal.Tier
		ask, want      string
	}{
		{signal.Sync, signal.Sync, "", "sync"},
		{signal.Batched, signal.Sync, "", "batched"},
		{signal.Buffered, signal.Sync, "sync", "sync"},
		{signal.Buffered, signal.Batched, "sync", "batched"},
		{signal.Sync, signal.Sync, "buffered", "buffered"},
	} {
		d := open(t, &fakeSink{}, Options{Durability: c.def, StrongestDurability: c.strongest})
		header := []string{"Content-Type", mediaProtobuf}
		ctx := t.Context()
		if c.ask != "" {
			header = append(header, "Mira-Durability", c.ask)
			ctx = metadata.AppendToOutgoingContext(ctx, "mira-durability", c.ask)
		}
		a := d.post(t, "/v1/logs", bytes.NewReader(pb), header...)
		var md metadata.MD
		_, err := export1(ctx, d.dial(t), signal.Logs, pb, grpc.Header(&md))
		if got := a.header.Get("mira-durability"); got != c.want || err != nil || md.Get("mira-durability")[0] != c.want {
			t.Errorf("%+v: got %q over HTTP, %v %v over gRPC", c, got, md, err)
		}
	}
}

func TestTableHoldsOnlyCodesThatOTLPKnows(t *testing.T) {
	retryHTTP := map[int]bool{429: true, 502: true, 503: true, 504: true}
	retryGRPC := map[codes.Code]bool{
		codes.Canceled: true, codes.DeadlineExceeded: true, codes.Aborted: true,
		codes.OutOfRange: true, codes.Unavailable: true, codes.DataLoss: true,
	}
	reasons := map[string]bool{}
	for _, v := range append(verdicts, malformed, unknown) {
		if want := v.outcome == refused; retryHTTP[v.http] != want || retryGRPC[v.code] != want {
			t.Errorf("%s: %d and %v are not both retryable, or both not", v.reason, v.http, v.code)
		}
		if v.http == 500 || reasons[v.reason] {
			t.Errorf("%s: 500, or twice in the table", v.reason)
		}
		reasons[v.reason] = true
	}
	for want, err := range map[string]error{
		"malformed": fmt.Errorf("logs: %w", &otlp.Error{Reason: "resource_logs: cut off"}),
		"busy":      &pipeline.Refusal{Cause: fmt.Errorf("%w: full", pipeline.ErrBusy)},
		"cancelled": context.Canceled,
		"unknown":   os.ErrInvalid,
	} {
		if got := classify(err).reason; got != want {
			t.Errorf("%v: got %s, want %s", err, got, want)
		}
	}
	st := rpcStatus(&otlp.Error{Reason: "a.b: 5 bytes"}, malformed)
	if body := encodeStatus(st, true); !strings.Contains(string(body), `"field":"a.b"`) || !json.Valid(body) {
		t.Errorf("status %s", body)
	}
}

func TestMetricsCountByResultAndReason(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 3)
	d := open(t, &fakeSink{}, Options{})
	zipped := encodings(t, pb)["gzip"]
	conn := d.dial(t)
	_, _ = export1(t.Context(), conn, signal.Logs, pb)
	d.post(t, "/v1/logs", bytes.NewReader(zipped), "Content-Type", mediaProtobuf, "Content-Encoding", "gzip")
	d.post(t, "/v1/logs", bytes.NewReader(pb[1:]), "Content-Type", mediaProtobuf)
	d.post(t, "/v1/elsewhere", bytes.NewReader(pb), "Content-Type", mediaProtobuf)
	d.sink.refuse = pipeline.ErrBusy
	_, _ = export1(t.Context(), conn, signal.Logs, pb)
	d.post(t, "/v1/logs", bytes.NewReader(pb), "Content-Type", mediaProtobuf)
	var b bytes.Buffer
	d.Metrics().WritePrometheus(&b)
	for _, want := range []string{
		`mira_receiver_items_total{signal="logs",transport="grpc",result="accepted"} 3`,
		`mira_receiver_items_total{signal="logs",transport="grpc",result="refused"} 3`,
		`mira_receiver_items_total{signal="logs",transport="http",result="accepted"} 3`,
		`mira_receiver_items_total{signal="logs",transport="http",result="refused"} 3`,
		`mira_receiver_requests_total{signal="logs",transport="http",result="failed"} 1`,
		`mira_receiver_requests_total{signal="none",transport="http",result="failed"} 1`,
		`mira_receiver_rejects_total{signal="logs",transport="http",reason="malformed"} 1`,
		`mira_receiver_rejects_total{signal="none",transport="http",reason="path"} 1`,
		`mira_receiver_rejects_total{signal="logs",transport="grpc",reason="busy"} 1`,
		fmt.Sprintf(`mira_receiver_bytes_total{signal="logs",transport="grpc",kind="decoded"} %d`, 2*len(pb)),
		fmt.Sprintf(`mira_receiver_bytes_total{signal="logs",transport="http",kind="wire"} %d`, len(zipped)+2*len(pb)-1),
		`mira_receiver_connections{transport="grpc"} 1`,
		`mira_receiver_connections{transport="http"} 1`,
		`mira_receiver_request_seconds_count{signal="logs",transport="grpc"} 2`,
		`mira_receiver_memory_bytes{stage="receiving"} 0`,
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
	if t.Failed() {
		t.Log(b.String())
	}
}

func TestConversionPanicsAreFinalAndKeepTheConnection(t *testing.T) {
	w := &wire{
		check:    func([]byte) (int, error) { panic("check") },
		fromJSON: func(_, _ []byte) ([]byte, bool, error) { panic("convert") },
	}
	_, err := check(w, nil)
	_, _, err2 := convert(w, nil, nil)
	for _, err := range []error{err, err2} {
		if v := classify(err); v.http != http.StatusBadRequest || v.code != codes.InvalidArgument {
			t.Errorf("got %v", err)
		}
	}
	if st := status.Convert(grpcError(err)); strings.Contains(st.Message(), "goroutine") {
		t.Errorf("the stack goes to the client: %s", st.Message())
	}
}
