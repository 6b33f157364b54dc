package receiver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"mira/pipeline"
	"mira/storage/signal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeSink keeps what it is given, or refuses it.
type fakeSink struct {
	refuse error         // the answer to every Submit
	hold   chan struct{} // Submit waits for it to be closed, if not nil
	in     chan struct{} // gets a token when a Submit begins, if not nil

	mu   sync.Mutex // guards the rest
	got  []pipeline.Export
	busy time.Duration // what Pressure says
}

func (s *fakeSink) Submit(ctx context.Context, e pipeline.Export) (pipeline.Receipt, error) {
	if s.in != nil {
		s.in <- struct{}{}
	}
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			e.Free()
			return pipeline.Receipt{}, ctx.Err()
		}
	}
	kept := e
	kept.Payload = bytes.Clone(e.Payload)
	if e.Free != nil {
		e.Free()
	}
	if s.refuse != nil {
		return pipeline.Receipt{}, s.refuse
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, kept)
	id := signal.BlockID{Signal: e.Signal, Node: 0xabcd, Shard: 1, Seq: 7}
	return pipeline.Receipt{Block: id, Seq: uint64(len(s.got)), Tier: e.Tier}, nil
}

func (s *fakeSink) Pressure() (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy, s.busy > 0
}

func (s *fakeSink) press(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = d
}

func (s *fakeSink) stored() []pipeline.Export {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

// doors is a Receiver on two loopback ports.
type doors struct {
	*Receiver
	sink *fakeSink
	http string // base URL
	addr string // of the HTTP port
	grpc string // address
	gsrv *grpc.Server
	hsrv *http.Server
}

func open(t testing.TB, sink *fakeSink, o Options) *doors {
	t.Helper()
	r, err := New(sink, o)
	if err != nil {
		t.Fatal(err)
	}
	d := &doors{Receiver: r, sink: sink, gsrv: r.NewGRPC(), hsrv: r.NewServer(r.NewHTTP())}
	h, g := listen(t), listen(t)
	d.addr, d.http, d.grpc = h.Addr().String(), "http://"+h.Addr().String(), g.Addr().String()
	var served sync.WaitGroup
	served.Go(func() { _ = d.hsrv.Serve(h) })
	served.Go(func() { _ = d.gsrv.Serve(g) })
	t.Cleanup(func() {
		_ = d.hsrv.Close()
		d.gsrv.Stop()
		served.Wait()
		http.DefaultClient.CloseIdleConnections()
	})
	return d
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (d *doors) dial(t testing.TB, o ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient("passthrough:///"+d.grpc, append(o, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// post sends body to path and returns the answer, read.
func (d *doors) post(t testing.TB, path string, body io.Reader, header ...string) answer {
	t.Helper()
	return d.do(t, http.MethodPost, path, body, header...)
}

func (d *doors) do(t testing.TB, method, path string, body io.Reader, header ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, d.http+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: reading the answer: %v", method, path, err)
	}
	return answer{resp.StatusCode, resp.Header, all, resp.Close}
}

type answer struct {
	code   int
	header http.Header
	body   []byte
	close  bool
}

// faulty is the field that a Status says is at fault, or "".
func faulty(st *spb.Status) string {
	for _, d := range st.GetDetails() {
		bad := new(errdetails.BadRequest)
		if d.UnmarshalTo(bad) == nil {
			return bad.GetFieldViolations()[0].GetField()
		}
	}
	return ""
}

// status decodes the google.rpc.Status that every refusal must carry.
func (a answer) status(t testing.TB) *spb.Status {
	t.Helper()
	st := new(spb.Status)
	var err error
	switch media := a.header.Get("Content-Type"); media {
	case mediaProtobuf:
		err = proto.Unmarshal(a.body, st)
	case mediaJSON:
		if !json.Valid(a.body) {
			t.Fatalf("%d: body is not JSON: %q", a.code, a.body)
		}
		err = protojson.Unmarshal(a.body, st)
	default:
		t.Fatalf("%d: content type %q, body %q", a.code, media, a.body)
	}
	if err != nil {
		t.Fatalf("%d: body %q: %v", a.code, a.body, err)
	}
	if st.GetMessage() == "" {
		t.Fatalf("%d: status without a message", a.code)
	}
	return st
}

// sample returns an Export with n records, in protobuf and in JSON.
func sample(t testing.TB, sig signal.Signal, n int) (pb, js []byte) {
	t.Helper()
	var m interface {
		MarshalProto() ([]byte, error)
		MarshalJSON() ([]byte, error)
	}
	switch sig {
	case signal.Logs:
		m = plogotlp.NewExportRequestFromLogs(sampleLogs(n))
	case signal.Traces:
		td := ptrace.NewTraces()
		spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
		for i := range n {
			s := spans.AppendEmpty()
			s.SetTraceID(pcommon.TraceID{1, 2, byte(i)})
			s.SetSpanID(pcommon.SpanID{3, byte(i)})
			s.SetName("span")
		}
		m = ptraceotlp.NewExportRequestFromTraces(td)
	default:
		md := pmetric.NewMetrics()
		metric := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
		metric.SetName("m")
		points := metric.SetEmptyGauge().DataPoints()
		for i := range n {
			points.AppendEmpty().SetIntValue(int64(i))
		}
		m = pmetricotlp.NewExportRequestFromMetrics(md)
	}
	pb, err := m.MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	if js, err = m.MarshalJSON(); err != nil {
		t.Fatal(err)
	}
	return pb, js
}

func sampleLogs(n int) plog.Logs {
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("service.name", "checkout")
	records := rl.ScopeLogs().AppendEmpty().LogRecords()
	for i := range n {
		r := records.AppendEmpty()
		r.SetTimestamp(pcommon.Timestamp(1_700_000_000_000_000_000 + i))
		r.SetSeverityNumber(plog.SeverityNumberInfo)
		r.Body().SetStr("GET /cart took too long, giving up")
		r.Attributes().PutInt("user.id", int64(i*7919))
		r.Attributes().PutStr("http.route", "/cart/{id}")
	}
	return ld
}

func logTo(w io.Writer) zerolog.Logger { return zerolog.New(w) }

func ptraceResponse(t testing.TB, body []byte) ptraceotlp.ExportResponse {
	t.Helper()
	resp := ptraceotlp.NewExportResponse()
	if err := resp.UnmarshalJSON(body); err != nil {
		t.Fatalf("answer %q: %v", body, err)
	}
	return resp
}

// raw is a client codec that sends and receives bytes.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (raw) Unmarshal(b mem.BufferSlice, v any) error {
	*v.(*[]byte) = b.Materialize()
	return nil
}

var _ encoding.CodecV2 = raw{}

func export1(ctx context.Context, c *grpc.ClientConn, sig signal.Signal, body []byte, o ...grpc.CallOption) ([]byte, error) {
	var answer []byte
	err := c.Invoke(ctx, "/"+wires[sig].service+"/Export", body, &answer, append(o, grpc.ForceCodecV2(raw{}))...)
	return answer, err
}

func exportError(t testing.TB, d *doors, sig signal.Signal, body []byte) *status.Status {
	t.Helper()
	_, err := export1(t.Context(), d.dial(t), sig, body)
	return status.Convert(err)
}

func hasRetryInfo(s *status.Status) bool {
	for _, d := range s.Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok && r.RetryDelay.AsDuration() > 0 {
			return true
		}
	}
	return false
}

func hasBadRequest(s *status.Status) bool {
	for _, d := range s.Details() {
		if b, ok := d.(*errdetails.BadRequest); ok && len(b.FieldViolations) > 0 {
			return true
		}
	}
	return false
}
