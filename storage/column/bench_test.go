package column

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"mira/storage/otlp"
	"mira/storage/signal"
)

// corpus is n distinct requests of 8192 log records each. With less than 64 the same strings come back
// within a block.
func corpus(n int, rich bool) [][]byte {
	r := rand.New(rand.NewPCG(7, 11))
	var requests [][]byte
	for q := range n {
		requests = append(requests, request(q, func(dst []byte) []byte {
			for i := range 8192 {
				dst = appendLog(dst, r, rich, uint64(1_780_000_000_000_000_000+q*8192*1000+i*1000))
			}
			return dst
		}))
	}
	return requests
}

// request is an Export of one resource and one scope around entries.
func request(seq int, entries func(dst []byte) []byte) []byte {
	req, res := otlp.Begin(nil, 1)
	req, mark := otlp.Begin(req, 1)
	for _, kv := range [][2]string{{"service.name", "checkout"}, {"service.version", "1.4.2"}, {"host.name", fmt.Sprintf("node-%d", seq%8)}} {
		req = appendStringAttr(req, 1, kv[0], kv[1])
	}
	req = otlp.End(req, mark)
	req, scope := otlp.Begin(req, 2)
	req, mark = otlp.Begin(req, 1)
	req = otlp.AppendBytes(req, 1, "example.com/checkout")
	req = otlp.End(req, mark)
	return otlp.End(otlp.End(entries(req), scope), res)
}

func randomHex(r *rand.Rand, n int) string {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], r.Uint64())
	binary.LittleEndian.PutUint64(b[8:], r.Uint64())
	return hex.EncodeToString(b[:])[:n]
}

func appendStringAttr(dst []byte, num int, key, value string) []byte {
	dst, kv := otlp.Begin(dst, num)
	dst = otlp.AppendBytes(dst, 1, key)
	dst, v := otlp.Begin(dst, 2)
	dst = otlp.AppendBytes(dst, 1, value)
	return otlp.End(otlp.End(dst, v), kv)
}

func appendIntAttr(dst []byte, num int, key string, value uint64) []byte {
	dst, kv := otlp.Begin(dst, num)
	dst = otlp.AppendBytes(dst, 1, key)
	dst, v := otlp.Begin(dst, 2)
	dst = otlp.AppendVarint(dst, 3, value)
	return otlp.End(otlp.End(dst, v), kv)
}

func appendDoubleAttr(dst []byte, num int, key string, value uint64) []byte {
	dst, kv := otlp.Begin(dst, num)
	dst = otlp.AppendBytes(dst, 1, key)
	dst, v := otlp.Begin(dst, 2)
	dst = otlp.AppendFixed64(dst, 4, value)
	return otlp.End(otlp.End(dst, v), kv)
}

var (
	bodies  = []string{"request served", "cache miss for", "user signed in", "order placed by", "retrying upstream", "queue drained of", "token refreshed", "payment settled"}
	methods = []string{"GET", "PUT", "POST", "DELETE"}
	levels  = []string{"INFO", "WARN", "ERROR", "DEBUG"}
)

func appendLog(dst []byte, r *rand.Rand, rich bool, at uint64) []byte {
	dst, rec := otlp.Begin(dst, 2)
	dst = otlp.AppendFixed64(dst, 1, at)
	sev := r.IntN(4)
	dst = otlp.AppendVarint(dst, 2, uint64(5+4*sev))
	dst = otlp.AppendBytes(dst, 3, levels[sev])
	dst, body := otlp.Begin(dst, 5)
	text := fmt.Sprintf("%-22s %s in 12.3 ms", bodies[r.IntN(8)], randomHex(r, 12))
	if rich {
		text = fmt.Sprintf("%s: the upstream answered after the second attempt, connection kept open, id %s", text, randomHex(r, 6))
	}
	dst = otlp.AppendBytes(dst, 1, text)
	dst = otlp.End(dst, body)
	dst = appendStringAttr(dst, 6, "http.method", methods[r.IntN(4)])
	dst = appendIntAttr(dst, 6, "http.status", uint64(200+r.IntN(5)))
	dst = appendStringAttr(dst, 6, "user.id", fmt.Sprintf("u-%d", r.IntN(3000)))
	if rich {
		dst = appendStringAttr(dst, 6, "request.id", randomHex(r, 32))
		dst = appendStringAttr(dst, 6, "url.path", fmt.Sprintf("/api/v1/items/%d", r.IntN(500)))
		dst = appendDoubleAttr(dst, 6, "duration.ms", r.Uint64()>>2)
		dst = appendIntAttr(dst, 6, "bytes.sent", uint64(r.IntN(100000)))
		dst = appendStringAttr(dst, 6, "client.address", fmt.Sprintf("10.0.%d.%d", r.IntN(16), r.IntN(256)))
		dst = appendStringAttr(dst, 6, "user_agent.original", "Mozilla/5.0 (X11; Linux x86_64)")
		dst = appendStringAttr(dst, 6, "k8s.pod.name", fmt.Sprintf("checkout-7d9f-%d", r.IntN(40)))
		dst = otlp.AppendFixed32(dst, 8, 1)
		id, _ := hex.DecodeString(randomHex(r, 32))
		dst = otlp.AppendBytes(dst, 9, id)
		dst = otlp.AppendBytes(dst, 10, id[:8])
	}
	dst = otlp.AppendFixed64(dst, 11, at+uint64(r.IntN(1000)))
	return otlp.End(dst, rec)
}

// BenchmarkAppendLogs reports CPU time, not wall time, and the steady state: the Builder is one
// that had a block before.
func BenchmarkAppendLogs(b *testing.B) {
	for _, rich := range []bool{false, true} {
		b.Run(map[bool]string{false: "lean", true: "rich"}[rich], func(b *testing.B) {
			requests := corpus(64, rich)
			bytes := 0
			for _, r := range requests {
				bytes += len(r)
			}
			t := NewBuilder(signal.Logs, Options{})
			mem, next := 0, 0
			step := func() {
				if t.Rows() >= 400_000 {
					mem = t.MemBytes()
					t.Reset()
				}
				t.Append(requests[next%len(requests)], 1)
				next++
			}
			for range 100 {
				step()
			}
			b.ReportAllocs()
			start, from := cpuTime(), next
			for b.Loop() {
				step()
			}
			b.ReportMetric(float64(cpuTime()-start)/float64(next-from)/8192, "cpu-ns/record")
			b.ReportMetric(float64(bytes)/64/8192, "B/record")
			b.ReportMetric(float64(mem)/400_000, "mem-B/row")
		})
	}
}

// BenchmarkAppendSpans and BenchmarkAppendPoints append generated requests.
func BenchmarkAppendSpans(b *testing.B)  { benchmarkGenerated(b, signal.Traces, spanRequest) }
func BenchmarkAppendPoints(b *testing.B) { benchmarkGenerated(b, signal.Metrics, pointRequest) }

func benchmarkGenerated(b *testing.B, s signal.Signal, request func(r *rand.Rand, seq int) []byte) {
	r := rand.New(rand.NewPCG(3, 5))
	var requests [][]byte
	bytes := 0
	for i := range 64 {
		requests = append(requests, request(r, i))
		bytes += len(requests[i])
	}
	t, rows, mem, next := NewBuilder(s, Options{}), 0, 0, 0
	step := func() {
		if t.Bytes() >= 64<<20 {
			rows, mem = t.Rows(), t.MemBytes()
			t.Reset()
		}
		t.Append(requests[next%len(requests)], 1)
		next++
	}
	for t.Append(requests[0], 1); t.Rows() != 0 && rows == 0; {
		step()
	}
	b.ReportAllocs()
	records := 2048
	start, from := cpuTime(), next
	for b.Loop() {
		step()
	}
	b.ReportMetric(float64(cpuTime()-start)/float64(next-from)/float64(records), "cpu-ns/record")
	b.ReportMetric(float64(bytes)/64/float64(records), "B/record")
	b.ReportMetric(float64(mem)/float64(rows), "mem-B/row")
}

// spanRequest is 2048 spans with 8 attributes, a status, and an event in every fourth.
func spanRequest(r *rand.Rand, seq int) []byte {
	return request(seq, func(dst []byte) []byte {
		for i := range 2048 {
			var rec, ev int
			dst, rec = otlp.Begin(dst, 2)
			id, _ := hex.DecodeString(randomHex(r, 32))
			at := uint64(1_780_000_000_000_000_000 + seq*2048*1000 + i*1000)
			dst = otlp.AppendBytes(dst, 1, id)
			dst = otlp.AppendBytes(dst, 2, id[:8])
			dst = otlp.AppendBytes(dst, 4, id[8:])
			dst = otlp.AppendBytes(dst, 5, methods[r.IntN(4)]+" /api/v1/items/{id}")
			dst = otlp.AppendVarint(dst, 6, uint64(1+r.IntN(5)))
			dst = otlp.AppendFixed64(dst, 7, at)
			dst = otlp.AppendFixed64(dst, 8, at+uint64(r.IntN(1e9)))
			for k := range 6 {
				dst = appendStringAttr(dst, 9, "attribute.number."+string(rune('a'+k)), fmt.Sprintf("value-%d", r.IntN(1<<(2*k))))
			}
			dst = appendIntAttr(dst, 9, "http.status", uint64(200+r.IntN(5)))
			dst = appendDoubleAttr(dst, 9, "share", r.Uint64()>>2)
			if i%4 == 0 {
				dst, ev = otlp.Begin(dst, 11)
				dst = otlp.AppendFixed64(dst, 1, at)
				dst = otlp.AppendBytes(dst, 2, "exception")
				dst = appendStringAttr(dst, 3, "exception.type", "java.io.IOException")
				dst = appendStringAttr(dst, 3, "exception.message", "connection reset by "+randomHex(r, 8))
				dst = otlp.End(dst, ev)
			}
			dst, ev = otlp.Begin(dst, 15)
			dst = otlp.End(otlp.AppendVarint(dst, 3, uint64(r.IntN(3))), ev)
			dst = otlp.End(dst, rec)
		}
		return dst
	})
}

// pointRequest is 2048 points: 128 metrics of 16 points with 3 attributes; every fourth metric is
// a histogram of 10 buckets.
func pointRequest(r *rand.Rand, seq int) []byte {
	return request(seq, func(dst []byte) []byte {
		for i := range 128 {
			var m, data, p int
			dst, m = otlp.Begin(dst, 2)
			dst = otlp.AppendBytes(dst, 1, fmt.Sprintf("process.metric.%d", i))
			dst = otlp.AppendBytes(dst, 3, "By")
			dst, data = otlp.Begin(dst, map[bool]int{false: 7, true: 9}[i%4 == 0])
			for range 16 {
				dst, p = otlp.Begin(dst, 1)
				dst = otlp.AppendFixed64(dst, 2, 1_780_000_000_000_000_000)
				dst = otlp.AppendFixed64(dst, 3, uint64(1_780_000_060_000_000_000+seq*1e9))
				attrs := 7
				if i%4 == 0 {
					attrs = 9
					dst = otlp.AppendFixed64(dst, 4, uint64(r.IntN(1000)))
					dst = otlp.AppendFixed64(dst, 5, r.Uint64()>>2)
					for n := 6; n <= 7; n++ {
						var packed int
						dst, packed = otlp.Begin(dst, n)
						for range 17 - n {
							dst = binary.LittleEndian.AppendUint64(dst, r.Uint64N(1000))
						}
						dst = otlp.End(dst, packed)
					}
				} else {
					dst = otlp.AppendFixed64(dst, 6, uint64(r.IntN(1e6)))
				}
				for k := range 3 {
					dst = appendStringAttr(dst, attrs, "attribute.number."+string(rune('a'+k)), fmt.Sprintf("value-%d", r.IntN(1<<(2*k))))
				}
				dst = otlp.End(dst, p)
			}
			dst = otlp.AppendVarint(dst, 2, 2)
			dst = otlp.End(otlp.End(dst, data), m)
		}
		return dst
	})
}

// BenchmarkAppendRequest turns rows back into OTLP.
func BenchmarkAppendRequest(b *testing.B) {
	t := NewBuilder(signal.Logs, Options{})
	t.Append(corpus(1, true)[0], 1)
	table := t.Table()
	rows := allRows(table)
	var dst []byte
	start, n := cpuTime(), 0
	for b.Loop() {
		dst = table.AppendRequest(dst[:0], signal.Logs, rows, true)
		n++
	}
	b.ReportMetric(float64(cpuTime()-start)/float64(n*len(rows)), "cpu-ns/record")
}

// BenchmarkTable takes snapshots of a block that is nearly full.
func BenchmarkTable(b *testing.B) {
	t := NewBuilder(signal.Logs, Options{})
	requests := corpus(40, true)
	for _, r := range requests {
		t.Append(r, 1)
	}
	b.ReportAllocs()
	for b.Loop() {
		t.Table()
	}
}

// cpuTime returns the CPU time of the process in nanoseconds.
func cpuTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
