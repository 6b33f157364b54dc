package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"

	"mira/storage/otlp"
	"mira/storage/query"
	"mira/storage/signal"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestRowsLookAsTheyDid(t *testing.T) {
	h := serve(sample(t))
	for _, path := range []string{"logs", "spans", "points"} {
		res := get(h, mediaNDJSON, "/api/v1/"+path, "start", "0", "order", "asc")
		got := bodyOf(t, res)
		for line := range bytes.SplitSeq(bytes.TrimSpace(got), []byte("\n")) {
			if !json.Valid(line) {
				t.Fatalf("%s: not JSON: %s", path, line)
			}
		}
		name := "testdata/" + path + ".ndjson"
		if *update {
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
		}
	}
}

func TestOfARepeatedKeyTheFirstCounts(t *testing.T) {
	for _, keys := range []int{3, 100} {
		var record []byte
		for i := range 2 * keys {
			value := otlp.AppendVarint(nil, 3, uint64(i))
			pair := otlp.AppendBytes(nil, 1, fmt.Sprintf("k%d", i%keys))
			record = otlp.AppendBytes(record, 6, otlp.AppendBytes(pair, 2, value))
		}
		request := otlp.AppendBytes(nil, 1, otlp.AppendBytes(nil, 2, otlp.AppendBytes(nil, 2, record)))
		w := rowWriter{signal: signal.Logs}
		b := w.append(nil, query.Chunk{Request: request, Times: []uint64{1}})
		var row struct{ Attributes map[string]string }
		if err := json.Unmarshal(b, &row); err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		if n := strings.Count(string(b), `"k1":`); n != 1 || len(row.Attributes) != keys || row.Attributes["k1"] != "1" {
			t.Errorf("%d keys: got k1 %d times in %s", keys, n, b)
		}
	}
}

func TestColumnsChooseKeys(t *testing.T) {
	h := serve(sample(t))
	for _, c := range []struct{ path, columns, want string }{
		{"logs", "body", `{"body":"5"` + `,"value_types":{"body":"int"}}`},
		{"logs", "time,severity_text", `{"time":"2026-11-30T11:59:30.000000000Z","severity_text":""}`},
		{"logs", "resource.attributes.service.name", `{"resource.attributes":{"service.name":"checkout"}}`},
		{"logs", "scope.name , scope.schema_url", `{"scope":{"name":"lib","schema_url":"https://example/s"}}`},
		{"logs", "scope.attributes.nan", `{"scope":{"attributes":{"nan":"NaN"}},"value_types":{"scope.attributes.nan":"double"}}`},
		{"logs", "attributes.none at all", `{"attributes":{}}`},
		{"logs", "trace_id", `{}`},
		{"spans", "status.code,name", `{"name":"","status.code":0}`},
		{"points", "metric.name,quantile_values,metric.type", `{"metric.name":"summary","metric.type":"summary","quantile_values":[{"quantile":0,"value":1},{"quantile":1,"value":"NaN"}]}`},
	} {
		res := get(h, mediaNDJSON, "/api/v1/"+c.path, "limit", "1", "columns", c.columns)
		if got := strings.TrimSpace(string(bodyOf(t, res))); res.StatusCode != http.StatusOK || got != c.want {
			t.Errorf("%s %s: got %s %s, want %s", c.path, c.columns, res.Status, got, c.want)
		}
	}
}

func TestNoRowBreaksJSON(t *testing.T) {
	for _, b := range [][]byte{
		{},
		{0x0a},
		{0x0a, 0x7f},
		{0x0a, 0x02, 0x12, 0x00},
		[]byte("\x0a\x04\x12\x02\x12\x00"),
		[]byte("\x0a\x0c\x12\x0a\x12\x08\x32\x06\x0a\x00\x12\x02\x3a\x7f"),
	} {
		w := rowWriter{signal: signal.Logs}
		got := w.append(nil, query.Chunk{Request: b, Times: []uint64{1, 2, 3}})
		if len(got) > 0 && !json.Valid(got) {
			t.Errorf("%x: got %s", b, got)
		}
	}
}

func TestTimesHaveNineDecimals(t *testing.T) {
	for at, want := range map[uint64]string{
		0:                   "1970-01-01T00:00:00.000000000Z",
		1796039940000000123: "2026-11-30T11:59:00.000000123Z",
		1796039940100000000: "2026-11-30T11:59:00.100000000Z",
		math.MaxUint64:      "2554-07-21T23:34:33.709551615Z",
	} {
		if got := formatTime(at); got != want {
			t.Errorf("%d: got %s, want %s", at, got, want)
		}
	}
}
