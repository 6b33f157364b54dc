package api

import (
	"fmt"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"

	"mira/storage/query"
	"mira/storage/signal"
)

// BenchmarkRows shows small log records as JSON, in chunks as a page has them.
func BenchmarkRows(b *testing.B) {
	const rows = 64
	logs := plog.NewLogs()
	rl := logs.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("service.name", "checkout")
	records := rl.ScopeLogs().AppendEmpty().LogRecords()
	c := query.Chunk{Times: make([]uint64, rows)}
	for i := range rows {
		r := records.AppendEmpty()
		r.SetTimestamp(at(0))
		r.SetSeverityNumber(9)
		r.SetSeverityText("INFO")
		r.Body().SetStr(fmt.Sprintf("GET /items 200 in %dms", i))
		r.Attributes().PutStr("http.method", "GET")
		r.Attributes().PutStr("http.route", "/items")
		c.Times[i] = uint64(at(0)) + uint64(i)
	}
	var err error
	if c.Request, err = plogotlp.NewExportRequestFromLogs(logs).MarshalProto(); err != nil {
		b.Fatal(err)
	}
	w := rowWriter{signal: signal.Logs, after: "\n"}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = w.append(buf[:0], c)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}
