package receiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"mira/pipeline"
	"mira/storage/signal"
)

func TestGRPCStoresEverySignal(t *testing.T) {
	for _, sig := range signal.All {
		t.Run(sig.String(), func(t *testing.T) {
			d := open(t, &fakeSink{}, Options{})
			pb, _ := sample(t, sig, 3)
			var header metadata.MD
			ctx := metadata.AppendToOutgoingContext(t.Context(), "mira-durability", "batched",
				"authorization", strings.Repeat("x", 8<<10), "trace-bin", "\x00\xff")
			got, err := export1(ctx, d.dial(t), sig, pb, grpc.Header(&header))
			if err != nil || len(got) != 0 {
				t.Fatalf("got %x, %v, want no bytes", got, err)
			}
			if header.Get("mira-durability")[0] != "batched" || header.Get("mira-receipt")[0] != sig.String()+"/0000abcd.1.7/1" {
				t.Errorf("header %v", header)
			}
			if e := d.sink.stored()[0]; e.Records != 3 || e.Tier != signal.Batched || !bytes.Equal(e.Payload, pb) {
				t.Errorf("stored %v", e)
			}
		})
	}
}

func TestGRPCClientOfTheCollectorIsUnderstood(t *testing.T) {
	d := open(t, &fakeSink{}, Options{})
	client := plogotlp.NewGRPCClient(d.dial(t))
	resp, err := client.Export(t.Context(), plogotlp.NewExportRequestFromLogs(sampleLogs(5000)))
	if err != nil || resp.PartialSuccess().ErrorMessage() != "" {
		t.Fatalf("got %v, %v", resp, err)
	}
	if _, err := client.Export(t.Context(), plogotlp.NewExportRequest()); err != nil {
		t.Errorf("empty request: %v", err)
	}
	if n := len(d.sink.stored()); n != 1 {
		t.Errorf("%d Exports were stored, want 1", n)
	}
}

func TestGRPCInflatesWhatClientsCompress(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 100_000)
	d := open(t, &fakeSink{}, Options{})
	for _, name := range []string{"gzip", "zstd", "snappy", "identity"} {
		var header metadata.MD
		_, err := export1(t.Context(), d.dial(t), signal.Logs, pb, grpc.UseCompressor(name), grpc.Header(&header))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := d.sink.stored()
		if !bytes.Equal(got[len(got)-1].Payload, pb) {
			t.Errorf("%s: stored something else", name)
		}
	}
}

func TestGRPCLimitIsExactOnTheWireAndInflated(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 1000)
	for limit, want := range map[int]codes.Code{len(pb): codes.OK, len(pb) - 1: codes.ResourceExhausted} {
		d := open(t, &fakeSink{}, Options{MaxRequestBytes: limit})
		for _, name := range []string{"identity", "gzip", "zstd", "snappy"} {
			_, err := export1(t.Context(), d.dial(t), signal.Logs, pb, grpc.UseCompressor(name))
			if st := status.Convert(err); st.Code() != want || hasRetryInfo(st) {
				t.Errorf("limit %d of %d, %s: got %v", limit, len(pb), name, err)
			}
		}
	}
}

func TestPressureRefusesBeforeTheBodyAndDrainFinishesWhatIsUnderWay(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 1)
	d := open(t, &fakeSink{hold: make(chan struct{}), in: make(chan struct{}, 2)}, Options{})
	conn := d.dial(t)
	var under sync.WaitGroup
	under.Go(func() {
		if _, err := export1(t.Context(), conn, signal.Logs, pb); err != nil {
			t.Errorf("under way over gRPC: %v", err)
		}
	})
	under.Go(func() {
		if a := d.post(t, "/v1/logs", bytes.NewReader(pb), "Content-Type", mediaProtobuf); a.code != 200 {
			t.Errorf("under way over HTTP: %d %s", a.code, a.body)
		}
	})
	<-d.sink.in
	<-d.sink.in

	refusedBoth := func(after string) {
		t.Helper()
		_, err := export1(t.Context(), conn, signal.Logs, pb)
		if st := status.Convert(err); st.Code() != codes.Unavailable || !hasRetryInfo(st) {
			t.Errorf("gRPC: got %v", err)
		}
		a := d.post(t, "/v1/logs", bytes.NewReader(pb), "Content-Type", mediaProtobuf)
		if a.code != 503 || a.header.Get("Retry-After") != after || a.status(t).Code != int32(codes.Unavailable) {
			t.Errorf("HTTP: got %d %v", a.code, a.header)
		}
	}
	d.sink.press(4 * time.Second)
	refusedBoth("4")
	d.sink.press(0)
	d.Drain()
	refusedBoth("1")
	health, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || health.Status != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health: got %v, %v", health, err)
	}
	close(d.sink.hold)
	under.Wait()
	if n := len(d.sink.stored()); n != 2 {
		t.Errorf("%d Exports were stored, want 2", n)
	}
}

func TestHealthAndReflection(t *testing.T) {
	for _, on := range []bool{false, true} {
		d := open(t, &fakeSink{}, Options{Reflection: on})
		conn := d.dial(t, grpc.WithDefaultCallOptions(grpc.UseCompressor("gzip")))
		for _, service := range []string{"", wires[signal.Traces].service} {
			resp, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
			if err != nil || resp.Status != healthpb.HealthCheckResponse_SERVING {
				t.Errorf("health of %q: got %v, %v", service, resp, err)
			}
		}
		s, err := reflectpb.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Send(&reflectpb.ServerReflectionRequest{MessageRequest: &reflectpb.ServerReflectionRequest_ListServices{}})
		resp, err := s.Recv()
		if on != (err == nil) || on && len(resp.GetListServicesResponse().GetService()) < 4 {
			t.Errorf("reflection %v: got %v, %v", on, resp, err)
		}
		_ = s.CloseSend()
	}
}

func TestUnknownMethodsAreUnimplemented(t *testing.T) {
	d := open(t, &fakeSink{}, Options{})
	conn := d.dial(t)
	for _, method := range []string{
		"/opentelemetry.proto.collector.logs.v1.LogsService/export",
		"/opentelemetry.proto.collector.logs.v1.logsservice/Export",
		"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
		"/nothing/Export",
	} {
		var answer []byte
		err := conn.Invoke(t.Context(), method, []byte{}, &answer, grpc.ForceCodecV2(raw{}))
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: got %v", method, err)
		}
	}
}

// h2 is a client that writes HTTP/2 frames by hand.
type h2 struct {
	net.Conn
	*http2.Framer
	t   testing.TB
	enc *hpack.Encoder
	buf bytes.Buffer
}

func (d *doors) frames(t testing.TB) *h2 {
	t.Helper()
	c, err := net.Dial("tcp", d.grpc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	h := &h2{Conn: c, Framer: http2.NewFramer(c, c), t: t}
	h.Framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	h.enc = hpack.NewEncoder(&h.buf)
	_, _ = io.WriteString(c, http2.ClientPreface)
	_ = h.WriteSettings()
	return h
}

var exportLogs = "/" + wires[signal.Logs].service + "/Export"

// fields returns the header block of a call; pairs replace or add to what is usual.
func (h *h2) fields(pairs ...string) []byte {
	h.buf.Reset()
	usual := []string{":method", "POST", ":scheme", "http", ":path", exportLogs, ":authority", "mira", "content-type", "application/grpc", "te", "trailers"}
	for i := 0; i < len(usual); i += 2 {
		value := usual[i+1]
		for j := 0; j < len(pairs); j += 2 {
			if pairs[j] == usual[i] {
				value = pairs[j+1]
			}
		}
		_ = h.enc.WriteField(hpack.HeaderField{Name: usual[i], Value: value})
	}
	for j := 0; j < len(pairs); j += 2 {
		if !strings.Contains(strings.Join(usual, "\n"), pairs[j]) {
			_ = h.enc.WriteField(hpack.HeaderField{Name: pairs[j], Value: pairs[j+1]})
		}
	}
	return h.buf.Bytes()
}

func (h *h2) begin(id uint32, pairs ...string) {
	_ = h.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: h.fields(pairs...), EndHeaders: true})
}

// reply is what came back on one stream.
type reply struct {
	headers []map[string]string // one map for each HEADERS frame
	data    []byte
	ended   bool
	reset   http2.ErrCode
	isReset bool
}

func (r reply) last(name string) string {
	if len(r.headers) == 0 {
		return ""
	}
	return r.headers[len(r.headers)-1][name]
}

// await reads until stream id has ended one way or the other.
func (h *h2) await(id uint32) (r reply) {
	h.t.Helper()
	for {
		f, err := h.ReadFrame()
		if err != nil {
			h.t.Fatalf("waiting for stream %d: %v", id, err)
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = h.WriteSettingsAck()
			}
		case *http2.GoAwayFrame:
			h.t.Fatalf("GOAWAY %v %s", f.ErrCode, f.DebugData())
		case *http2.MetaHeadersFrame:
			if f.StreamID == id {
				m := map[string]string{}
				for _, field := range f.Fields {
					m[field.Name] = field.Value
				}
				r.headers = append(r.headers, m)
				r.ended = f.StreamEnded()
			}
		case *http2.DataFrame:
			if f.StreamID == id {
				r.data = append(r.data, f.Data()...)
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == id {
				r.reset, r.isReset = f.ErrCode, true
			}
		}
		if r.ended || r.isReset {
			return r
		}
	}
}

func framed5(flag byte, body []byte) []byte {
	n := len(body)
	return append([]byte{flag, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, body...)
}

func TestErrorsAreTrailersOnlyAndListTheCodings(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 1)
	d := open(t, &fakeSink{refuse: pipeline.ErrBusy}, Options{MaxRequestBytes: 1 << 20})
	h := d.frames(t)
	id := uint32(1)
	for _, c := range []struct {
		name  string
		pairs []string
		data  []byte
		want  codes.Code
	}{
		{"busy", nil, framed5(0, pb), codes.Unavailable},
		{"unknown coding", []string{"grpc-encoding", "br"}, framed5(1, pb), codes.Unimplemented},
		{"compressed without a coding", nil, framed5(1, pb), codes.Internal},
		{"compressed identity", []string{"grpc-encoding", "identity"}, framed5(1, pb), codes.Internal},
		{"flag 2", nil, framed5(2, pb), codes.Internal},
		{"not gzip", []string{"grpc-encoding", "gzip"}, framed5(1, pb), codes.InvalidArgument},
		{"no message", nil, nil, codes.Internal},
		{"header cut", nil, []byte{0, 0, 0}, codes.Internal},
		{"message cut", nil, framed5(0, pb)[:20], codes.Internal},
		{"two messages", nil, append(framed5(0, pb), framed5(0, pb)...), codes.Internal},
		{"4 GiB announced", nil, []byte{0, 0xff, 0xff, 0xff, 0xff, 1}, codes.ResourceExhausted},
		{"broken protobuf", nil, framed5(0, pb[:len(pb)-1]), codes.InvalidArgument},
		{"odd durability", []string{"mira-durability", "never"}, framed5(0, pb), codes.InvalidArgument},
		{"JSON", []string{"content-type", "application/grpc+json"}, framed5(0, pb), codes.InvalidArgument},
		{"unknown method", []string{":path", "/a.B/C"}, framed5(0, pb), codes.Unimplemented},
		{"no time left", []string{"grpc-timeout", "0n"}, framed5(0, pb), codes.DeadlineExceeded},
		{"odd timeout", []string{"grpc-timeout", "1x"}, framed5(0, pb), codes.Internal},
	} {
		h.begin(id, c.pairs...)
		_ = h.WriteData(id, true, c.data)
		r := h.await(id)
		if len(r.headers) != 1 || !r.ended || r.last("grpc-status") != fmt.Sprint(int(c.want)) || r.last("grpc-message") == "" {
			t.Errorf("%s: got %v, want %v in the first and only header frame", c.name, r, c.want)
		}
		if got := r.last("grpc-accept-encoding"); r.last(":status") == "200" && got != grpcCodingNames {
			t.Errorf("%s: grpc-accept-encoding %q", c.name, got)
		}
		id += 2
	}
	if n := len(d.sink.stored()); n != 0 {
		t.Errorf("%d refused Exports were stored", n)
	}
}

func TestAnyFramingOfAMessageWorks(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 3)
	whole := framed5(0, pb)
	for name, send := range map[string]func(h *h2){
		"a byte a frame": func(h *h2) {
			h.begin(1)
			for _, b := range whole {
				_ = h.WriteData(1, false, []byte{b})
			}
			_ = h.WriteData(1, true, nil)
		},
		"padding and priority": func(h *h2) {
			_ = h.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: h.fields(), EndHeaders: true, PadLength: 9,
				Priority: http2.PriorityParam{StreamDep: 0, Weight: 3}})
			_ = h.WriteDataPadded(1, false, whole[:7], make([]byte, 200))
			_ = h.WritePriority(1, http2.PriorityParam{Weight: 7})
			_ = h.WriteDataPadded(1, true, whole[7:], make([]byte, 3))
		},
		"continuation": func(h *h2) {
			block := h.fields("x-tenant", "seven")
			_ = h.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:5]})
			_ = h.WriteContinuation(1, false, block[5:20])
			_ = h.WriteContinuation(1, true, block[20:])
			_ = h.WriteData(1, true, whole)
		},
		"grpc+proto": func(h *h2) {
			h.begin(1, "content-type", "application/grpc+proto")
			_ = h.WriteData(1, true, whole)
		},
		"parameters": func(h *h2) {
			h.begin(1, "content-type", "application/grpc;charset=utf-8", "grpc-timeout", "1H")
			_ = h.WriteData(1, true, whole)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, &fakeSink{}, Options{})
			h := d.frames(t)
			send(h)
			r := h.await(1)
			if len(r.headers) != 2 || r.headers[0][":status"] != "200" || r.last("grpc-status") != "0" || !bytes.Equal(r.data, make([]byte, 5)) {
				t.Errorf("got %+v", r)
			}
			if _, there := r.headers[1]["grpc-accept-encoding"]; there {
				t.Errorf("trailers of a success hold grpc-accept-encoding")
			}
			if len(d.sink.stored()) != 1 {
				t.Errorf("nothing was stored")
			}
		})
	}
}

func TestForeignContentTypesGet415(t *testing.T) {
	d := open(t, &fakeSink{}, Options{})
	h := d.frames(t)
	h.begin(1, "content-type", "application/json")
	if r := h.await(1); r.last(":status") != "415" {
		t.Errorf("got %+v", r)
	}
	h.begin(3, ":method", "GET")
	if r := h.await(3); r.last(":status") != "405" {
		t.Errorf("got %+v", r)
	}
}

func TestTimeoutEndsACallWhoseMessageIsStillArriving(t *testing.T) {
	d := open(t, &fakeSink{}, Options{})
	h := d.frames(t)
	h.begin(1, "grpc-timeout", "50m")
	_ = h.WriteData(1, false, []byte{0, 0, 0, 1, 0, 9})
	if r := h.await(1); r.last("grpc-status") != "4" && !r.isReset {
		t.Errorf("got %+v", r)
	}
}

func TestSlowMessageIsCutOffAndDelaysNobody(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 2)
	d := open(t, &fakeSink{}, Options{BodyGrace: 300 * time.Millisecond, ReceiveBytes: 64 << 20})
	slow := d.frames(t)
	for id := uint32(1); id < 200; id += 2 { // 100 half messages that announce 60 MiB each
		slow.begin(id)
		_ = slow.WriteData(id, false, []byte{0, 60 >> 4, 0, 0, 0, 1, 2, 3})
	}
	start := time.Now()
	if _, err := export1(t.Context(), d.dial(t), signal.Logs, pb); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 250*time.Millisecond {
		t.Errorf("another client waited %v", took)
	}
	if r := slow.await(199); r.last("grpc-status") != fmt.Sprint(int(codes.DeadlineExceeded)) {
		t.Errorf("got %+v", r)
	}
	if used := d.receiving.used(); used != 0 {
		t.Errorf("%d bytes of budget are lost", used)
	}
}

func TestResetOfOneCallLeavesTheOthersAlone(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 2)
	d := open(t, &fakeSink{}, Options{})
	h := d.frames(t)
	h.begin(1)
	h.begin(3)
	_ = h.WriteData(1, false, framed5(0, pb)[:9])
	_ = h.WriteRSTStream(1, http2.ErrCodeCancel)
	_ = h.WriteData(3, true, framed5(0, pb))
	if r := h.await(3); r.last("grpc-status") != "0" {
		t.Errorf("got %+v", r)
	}
	if len(d.sink.stored()) != 1 {
		t.Errorf("stored %d Exports, want 1", len(d.sink.stored()))
	}
}

func TestPingsNeverEarnGoAway(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 2)
	d := open(t, &fakeSink{}, Options{KeepaliveMinTime: time.Nanosecond})
	h := d.frames(t)
	for i := range 20 {
		_ = h.WritePing(false, [8]byte{byte(i)})
	}
	h.begin(1)
	_ = h.WriteData(1, true, framed5(0, pb))
	if r := h.await(1); r.last("grpc-status") != "0" {
		t.Errorf("got %+v", r)
	}
}

func TestFloodsAreSurvived(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 1)
	d := open(t, &fakeSink{}, Options{})
	for name, flood := range map[string]func(h *h2) error{
		"rapid reset": func(h *h2) (err error) {
			for id := uint32(1); id < 4000 && err == nil; id += 2 {
				h.begin(id)
				err = h.WriteRSTStream(id, http2.ErrCodeCancel)
			}
			return err
		},
		"ping": func(h *h2) (err error) {
			for i := 0; i < 20_000 && err == nil; i++ {
				err = h.WritePing(false, [8]byte{})
			}
			return err
		},
		"settings": func(h *h2) (err error) {
			for i := 0; i < 20_000 && err == nil; i++ {
				err = h.WriteSettings()
			}
			return err
		},
		"continuation": func(h *h2) error {
			block := h.fields()
			err := h.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block})
			for i := 0; i < 5000 && err == nil; i++ {
				err = h.WriteContinuation(1, false, []byte("\x00\x01a\x01b"))
			}
			return err
		},
	} {
		h := d.frames(t)
		go func() { _, _ = io.Copy(io.Discard, h.Conn) }()
		_ = h.SetDeadline(time.Now().Add(3 * time.Second))
		_ = flood(h)
		if _, err := export1(t.Context(), d.dial(t), signal.Logs, pb); err != nil {
			t.Errorf("after a flood of %s: %v", name, err)
		}
		_ = h.Close()
	}
}

func TestHundredsOfCallsOnOneConnection(t *testing.T) {
	const n = 200
	pb, _ := sample(t, signal.Logs, 5)
	d := open(t, &fakeSink{hold: make(chan struct{}), in: make(chan struct{}, n)}, Options{})
	conn := d.dial(t)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if _, err := export1(t.Context(), conn, signal.Logs, pb); err != nil {
				t.Error(err)
			}
		})
	}
	for range n { // every one is in Submit at the same time
		<-d.sink.in
	}
	close(d.sink.hold)
	all.Wait()
}

func TestCancelledCallIsCancelled(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 5)
	d := open(t, &fakeSink{hold: make(chan struct{}), in: make(chan struct{}, 1)}, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-d.sink.in
		cancel()
	}()
	if _, err := export1(ctx, d.dial(t), signal.Logs, pb); status.Code(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}
}

func TestBodyThatStopsIsNotStored(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 5)
	d := open(t, &fakeSink{}, Options{})
	h := d.frames(t)
	h.begin(1)
	_ = h.WriteData(1, false, framed5(0, pb)[:len(pb)])
	_ = h.Close()
	if _, err := export1(t.Context(), d.dial(t), signal.Traces, nil); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if n := len(d.sink.stored()); n != 0 {
		t.Errorf("%d Exports were stored", n)
	}
}
