package pipeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"mira/pipeline"
	"mira/storage"
	"mira/storage/signal"
)

// BenchmarkReplay opens a directory whose log holds two full blocks, as a kill under load leaves
// it, until the pipeline takes Exports: read, columns, encode, publish. The bytes are the log's.
func BenchmarkReplay(b *testing.B) {
	const exports, records = 110, 8192
	load := leanLoad(exports, records)
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		store, err := storage.Open(storage.Options{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		p, err := pipeline.Open(pipeline.Options{Store: store, BlockAge: time.Hour})
		if err != nil {
			b.Fatal(err)
		}
		var clients sync.WaitGroup
		for c := range 4 {
			clients.Go(func() {
				for i := c; i < exports; i += 4 {
					if _, err := p.Submit(context.Background(), load[i]); err != nil {
						b.Error(err)
					}
				}
			})
		}
		clients.Wait()
		p.Close()
		bytes := store.Stats().Log.Bytes
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(bytes))
		b.StartTimer()
		store, err = storage.Open(storage.Options{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		p, err = pipeline.Open(pipeline.Options{Store: store})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		p.Close()
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// leanLoad makes Exports of distinct lean log records, as loadgen sends them.
func leanLoad(exports, records int) []pipeline.Export {
	rng := rand.New(rand.NewPCG(1, 2))
	now := uint64(1.8e18)
	var load []pipeline.Export
	for range exports {
		var list []*logs.LogRecord
		for range records {
			now += rng.Uint64N(1000)
			list = append(list, &logs.LogRecord{
				TimeUnixNano: now, ObservedTimeUnixNano: now + rng.Uint64N(200), SeverityNumber: 9, SeverityText: "INFO",
				Body: text("", fmt.Sprintf("GET /items/%d 200 in %dms", rng.IntN(40), rng.IntN(900))).Value,
				Attributes: []*common.KeyValue{
					text("http.route", fmt.Sprintf("/items/%d", rng.IntN(40))),
					text("user.id", fmt.Sprintf("u-%012x", rng.Uint64()>>16)),
				},
			})
		}
		b, err := proto.Marshal(&collogs.ExportLogsServiceRequest{ResourceLogs: []*logs.ResourceLogs{{
			Resource:  &resource.Resource{Attributes: []*common.KeyValue{text("service.name", "bench"), text("host.name", "node-01")}},
			ScopeLogs: []*logs.ScopeLogs{{LogRecords: list}},
		}}})
		if err != nil {
			panic(err)
		}
		load = append(load, pipeline.Export{Signal: signal.Logs, Payload: b, Records: records, Received: time.Unix(2e9, 0)})
	}
	return load
}
