package interop

import (
	"fmt"
	"strings"
	"testing"

	"mira/scripts/e2e/server"
)

// sized are records whose integers are as large as BIG (64 bits) and SMALL (32) say; AT makes
// their blocks follow each other in time.
var sized = map[string]string{
	"logs": `{"resourceLogs":[{"scopeLogs":[{"logRecords":[
		{"timeUnixNano":"AT","severityNumber":SMALL,"attributes":[{"key":"n","value":{"intValue":"BIG"}}]}LINES]}]}]}`,
	"traces": `{"resourceSpans":[{"scopeSpans":[{"spans":[
		{"traceId":"01010101010101010101010101010101","spanId":"0202020202020202","name":"n","startTimeUnixNano":"AT","endTimeUnixNano":"AT",
		"flags":SMALL,"attributes":[{"key":"n","value":{"intValue":"BIG"}}]}]}]}]}`,
	"metrics": `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[
		{"name":"n","gauge":{"dataPoints":[{"timeUnixNano":"AT","asInt":"BIG"}]}},
		{"name":"h","histogram":{"aggregationTemporality":2,"dataPoints":[
			{"timeUnixNano":"AT","count":"BIG","bucketCounts":["BIG","0"],"explicitBounds":[1]}]}}]}]}]}`,
}

// lines returns n log records with an attribute that has up to 200 values, for which the index
// of a dictionary grows from one byte to two, and one that is always new, which at 5000 has no
// dictionary any more.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"timeUnixNano":"AT","attributes":[{"key":"word","value":{"stringValue":"word %d"}},{"key":"line","value":{"stringValue":"line %d"}}]}`, i%200, i)
	}
	return b.String()
}

// sizes are three blocks. The small ones are around the large one, because it is the reader's
// choice whether the first or the last has the types of all.
var sizes = []struct{ at, big, small, lines string }{
	{"1700000000000000001", "1", "1", lines(1)},
	{"1700000000000000002", "4611686018427387904", "2147483647", lines(5000)},
	{"1700000000000000003", "100", "2", lines(1)},
}

// A reader that takes the types of one block for all must not find larger numbers in the next.
func TestInteropReadersTakeManyBlocksForOneTable(t *testing.T) {
	dir := readers(t)
	installed(t, dir)
	s := server.Start(t, t.TempDir())
	for _, n := range sizes {
		r := strings.NewReplacer("AT", n.at, "BIG", n.big, "SMALL", n.small)
		for signal, body := range sized {
			post(t, s, signal, "application/json", []byte(r.Replace(strings.Replace(body, "LINES", n.lines, 1))))
		}
		s.Stop()
		s.Restart()
	}
	qs := readQuestions(t, "tables.json")
	want, rows := askAPI(t, s, qs)
	s.Stop()
	if rows["logs"] != 5005 || rows["traces"] != 3 || rows["metrics"] != 6 {
		t.Fatalf("the API has %v", rows)
	}
	var reports map[string]map[string]answer
	run(t, dir, "tables", s.Dir, &reports)
	for _, reader := range []string{"clickhouse", "polars"} {
		for _, q := range qs {
			want := want[q.name()]
			if q.Mixed && reader == "polars" {
				want = nil
			}
			if got := reports[reader][q.name()]; !same(got, want) {
				t.Errorf("%s: %s\n got %v\nwant %v", reader, q.name(), got, want)
			}
		}
	}
}
