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
		req, res := otlp.Begin(nil, 1)
		req, mark := otlp.Begin(req, 1)
		for _, kv := range [][2]string{{"service.name", "checkout"}, {"service.version", "1.4.2"}, {"host.name", fmt.Sprintf("node-%d", q%8)}} {
			req = appendStringAttr(req, 1, kv[0], kv[1])
		}
		req = otlp.End(req, mark)
		req, scope := otlp.Begin(req, 2)
		req, mark = otlp.Begin(req, 1)
		req = otlp.AppendBytes(req, 1, "example.com/checkout")
		req = otlp.End(req, mark)
		for i := range 8192 {
			req = appendLog(req, r, rich, uint64(1_780_000_000_000_000_000+q*8192*1000+i*1000))
		}
		req = otlp.End(req, scope)
		requests = append(requests, otlp.End(req, res))
	}
	return requests
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

// cpuTime returns the CPU time of the process in nanoseconds.
func cpuTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
