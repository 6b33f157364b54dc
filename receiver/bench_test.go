package receiver

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"google.golang.org/grpc"

	"mira/pipeline"
	"mira/storage/signal"
)

// dropSink acknowledges at once and keeps nothing.
type dropSink struct{ records atomic.Int64 }

func (s *dropSink) Submit(_ context.Context, e pipeline.Export) (pipeline.Receipt, error) {
	s.records.Add(int64(e.Records))
	e.Free()
	return pipeline.Receipt{Block: signal.BlockID{Signal: e.Signal}, Tier: e.Tier}, nil
}

func (s *dropSink) Pressure() (time.Duration, bool) { return 0, false }

const benchRecords = 8192

// BenchmarkReceive is what an Export of 8,192 records costs until Submit, client included: the
// client only writes bytes that were made before.
func BenchmarkReceive(b *testing.B) {
	ld := sampleLogs(benchRecords)
	records := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
	for i := range records.Len() { // 157 bytes a record, 1.28 MB in all
		records.At(i).Attributes().PutStr("http.request.method", "GET")
		records.At(i).SetObservedTimestamp(records.At(i).Timestamp() + 1)
		records.At(i).SetSeverityText("INFO")
	}
	pb, err := plogotlp.NewExportRequestFromLogs(ld).MarshalProto()
	if err != nil {
		b.Fatal(err)
	}
	coded := encodings(b, pb)
	for _, c := range []struct{ name, coding string }{{"plain", "identity"}, {"gzip", "gzip"}, {"zstd", "zstd"}, {"snappy", "snappy"}} {
		body := coded[c.coding]
		if c.coding == "identity" {
			body = pb
		}
		b.Run("http/"+c.name, func(b *testing.B) { benchHTTP(b, body, c.coding, len(pb)) })
	}
	b.Run("check alone", func(b *testing.B) {
		for b.Loop() {
			if _, err := check(wires[signal.Logs], pb); err != nil {
				b.Fatal(err)
			}
		}
		report(b, len(pb))
	})
	b.Run("grpc/plain", func(b *testing.B) { benchGRPC(b, pb) })
	b.Run("grpc/gzip", func(b *testing.B) { benchGRPC(b, pb, grpc.UseCompressor("gzip")) })
}

func benchDoors(b *testing.B) *doors {
	r, err := New(&dropSink{}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	d := &doors{Receiver: r, gsrv: r.NewGRPC(), hsrv: r.NewServer(r.NewHTTP())}
	h, g := listen(b), listen(b)
	d.http, d.grpc = "http://"+h.Addr().String(), g.Addr().String()
	var served sync.WaitGroup
	served.Go(func() { _ = d.hsrv.Serve(h) })
	served.Go(func() { _ = d.gsrv.Serve(g) })
	b.Cleanup(func() {
		_ = d.hsrv.Close()
		d.gsrv.Stop()
		served.Wait()
	})
	return d
}

func report(b *testing.B, bytes int) {
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/record")
}

func benchHTTP(b *testing.B, body []byte, coding string, size int) {
	d := benchDoors(b)
	client := &http.Client{Transport: &http.Transport{WriteBufferSize: 128 << 10}}
	defer client.CloseIdleConnections()
	for b.Loop() {
		req, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, d.http+"/v1/logs", bytes.NewReader(body))
		req.Header.Set("Content-Type", mediaProtobuf)
		req.Header.Set("Content-Encoding", coding)
		resp, err := client.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(resp, err)
		}
		_ = resp.Body.Close()
	}
	report(b, size)
}

func benchGRPC(b *testing.B, body []byte, o ...grpc.CallOption) {
	d := benchDoors(b)
	conn := d.dial(b, grpc.WithInitialWindowSize(4<<20), grpc.WithWriteBufferSize(128<<10))
	for b.Loop() {
		if _, err := export1(b.Context(), conn, signal.Logs, body, o...); err != nil {
			b.Fatal(err)
		}
	}
	report(b, len(body))
}
