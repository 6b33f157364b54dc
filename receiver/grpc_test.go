package receiver

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

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
