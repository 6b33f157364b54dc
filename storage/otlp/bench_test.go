package otlp

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"
)

const benchRecords = 8192

// benchLogs is a request of 8192 log records: lean ones of 156 bytes with 3 attributes, or rich
// ones of 493 bytes with 10 attributes and both ids.
func benchLogs(rich bool) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	random := func(n int) string {
		b := make([]byte, n/2)
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		return hex.EncodeToString(b)
	}
	b, top := Begin(nil, 1)
	b, res := Begin(b, 1)
	b = appendAttribute(b, 1, "service.name", 1, "checkout")
	b = End(b, res)
	b, sl := Begin(b, 2)
	b, sc := Begin(b, 1)
	b = End(AppendBytes(b, 1, "bench"), sc)
	for i := range benchRecords {
		var rec int
		b, rec = Begin(b, 2)
		if rich {
			b = appendRich(b, i, rnd, random)
		} else {
			b = appendLean(b, i, rnd, random)
		}
		b = End(b, rec)
	}
	return End(End(b, sl), top)
}

func appendLean(b []byte, i int, rnd *rand.Rand, random func(int) string) []byte {
	b = AppendFixed64(b, 1, 1796069510123456789+uint64(i))
	b = AppendVarint(b, 2, 9)
	b = AppendBytes(b, 3, "INFO")
	b = AppendBytes(b, 5, AppendBytes(nil, 1, "request handled in the upstream worker of an order "+random(12)))
	b = appendAttribute(b, 6, "http.method", 1, "GET")
	b = appendAttribute(b, 6, "status", 3, uint64(200+rnd.IntN(4)))
	b = appendAttribute(b, 6, "user.id", 1, random(8))
	return AppendFixed64(b, 11, 1796069510123456799+uint64(i))
}

func appendRich(b []byte, i int, rnd *rand.Rand, random func(int) string) []byte {
	b = AppendFixed64(b, 1, 1796069510123456789+uint64(i))
	b = AppendVarint(b, 2, 9)
	b = AppendBytes(b, 3, "INFO")
	b = AppendBytes(b, 5, AppendBytes(nil, 1, fmt.Sprintf("%-146s %s", "request handled by the upstream worker after a retry", random(12))))
	for k, key := range []string{"http.route", "http.method", "peer.service", "k8s.pod.name", "request.id"} {
		b = appendAttribute(b, 6, key, 1, random([]int{16, 4, 12, 20, 32}[k]))
	}
	b = appendAttribute(b, 6, "status", 3, uint64(200+rnd.IntN(4)))
	b = appendAttribute(b, 6, "bytes", 3, uint64(rnd.IntN(1<<20)))
	b = appendAttribute(b, 6, "duration", 4, rnd.Float64())
	b = appendAttribute(b, 6, "ratio", 4, rnd.Float64())
	b = appendAttribute(b, 6, "cached", 2, uint64(rnd.IntN(2)))
	b = AppendFixed32(b, 8, 1)
	b = AppendBytes(b, 9, random(32)[:16])
	b = AppendBytes(b, 10, random(16)[:8])
	return AppendFixed64(b, 11, 1796069510123456799+uint64(i))
}

// appendAttribute appends a KeyValue as field num; kind is the field of AnyValue.
func appendAttribute(b []byte, num int, key string, kind int, v any) []byte {
	b, kv := Begin(b, num)
	b = AppendBytes(b, 1, key)
	b, val := Begin(b, 2)
	switch v := v.(type) {
	case string:
		b = AppendBytes(b, kind, v)
	case uint64:
		b = AppendVarint(b, kind, v)
	case float64:
		b = AppendFixed64(b, kind, float64bits(v))
	}
	return End(End(b, val), kv)
}

func BenchmarkCheckLogs(b *testing.B) {
	for _, rich := range []bool{false, true} {
		req := benchLogs(rich)
		name := map[bool]string{false: "lean", true: "rich"}[rich]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(req)))
			for b.Loop() {
				if n, err := CheckLogs(req); n != benchRecords || err != nil {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/record")
			b.ReportMetric(float64(len(req))/benchRecords, "B/record")
		})
	}
}

// BenchmarkField reads every field of every log record, as a reader of checked bytes does.
func BenchmarkField(b *testing.B) {
	req := benchLogs(false)
	var walk func(b []byte, m id) int
	walk = func(b []byte, m id) (n int) {
		for i := 0; uint(i) < uint(len(b)); n++ {
			num, _, val, next := Field(b, i)
			if f := &schema[m][num]; f.kind == nested {
				n += walk(b[val:next], f.of)
			}
			i = next
		}
		return n
	}
	for b.Loop() {
		walk(req, logsRequest)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/record")
}

func BenchmarkLogsFromJSON(b *testing.B) {
	body, err := AppendLogsJSON(nil, benchLogs(false))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	var pb []byte
	for b.Loop() {
		if pb, _, err = LogsFromJSON(pb[:0], body); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/record")
}

func BenchmarkAppendLogsJSON(b *testing.B) {
	req := benchLogs(false)
	b.ReportAllocs()
	b.SetBytes(int64(len(req)))
	var body []byte
	var err error
	for b.Loop() {
		if body, err = AppendLogsJSON(body[:0], req); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/record")
}
