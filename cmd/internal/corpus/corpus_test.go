package corpus

import (
	"testing"

	"mira/storage/otlp"
)

var checks = [Signals]func([]byte) (int, error){otlp.CheckLogs, otlp.CheckTraces, otlp.CheckMetrics}

func TestEveryRequestIsValidAndWeighsWhatItShould(t *testing.T) {
	for _, shape := range []Shape{Lean, Rich} {
		for s, check := range checks {
			for _, records := range []int{1, 15, 16, 17, 100, 2000} {
				p := Options{Shape: shape, Seed: 1, Run: "0123456789ab"}.Template(Signal(s), 5, records)
				body := make([]byte, p.Len())
				p.Fill(body, 7, 1e18, 99)
				if got, err := check(body); err != nil || got != records || p.Records() != records {
					t.Fatalf("%s %s: %d records of %d, %v", shape, Signal(s), got, records, err)
				}
				weight := len(body) / records
				if records == 2000 && Signal(s) == Logs && (shape == Lean && (weight < 130 || weight > 150) || shape == Rich && (weight < 450 || weight > 550)) {
					t.Errorf("a %s log record weighs %d bytes", shape, weight)
				}
			}
		}
	}
}

func TestSameSeedSameCorpusWhateverTheRun(t *testing.T) {
	sum := func(seed uint64, run string) string {
		return New(Options{Signals: []Signal{Logs, Traces}, Batch: 20, Seed: seed, Run: run}).Sum()
	}
	if sum(1, "aaaaaaaaaaaa") != sum(1, "bbbbbbbbbbbb") || sum(1, "aaaaaaaaaaaa") == sum(2, "aaaaaaaaaaaa") {
		t.Error("the fingerprint does not follow the seed alone")
	}
}

// Figures are compared by these fingerprints: one that changes makes every figure before it
// incomparable.
func TestBytesAreThoseOfEveryVersionBefore(t *testing.T) {
	f := func(shape Shape, leftover int, want string) {
		t.Helper()
		o := Options{Signals: []Signal{Logs, Traces, Metrics}, Shape: shape, Batch: 100, Leftover: leftover, Seed: 1, Run: "0123456789ab"}
		if got := New(o).Sum(); got != want {
			t.Errorf("%s, leftover %d: got %s, want %s", shape, leftover, got, want)
		}
	}
	f(Lean, 0, "47795ddd4acdbb21")
	f(Lean, 7, "733f9a710baeb9af")
	f(Rich, 0, "a221f62a7cd4c114")
	f(Rich, 7, "94794502301d6eb2")
}

func TestTicketsTakeTurnsAndTheLastTakesTheRest(t *testing.T) {
	c := New(Options{Signals: []Signal{Logs}, Batch: 2, Leftover: 1, Run: "r"})
	if c.Template(Logs, 3, 2) != c.Template(Logs, 3+Distinct, 2) || c.Template(Logs, 3, 2) == c.Template(Logs, 4, 2) {
		t.Error("requests do not take turns")
	}
	if got := c.Template(Logs, 5, 1).Records(); got != 1 {
		t.Errorf("the last request has %d records, want 1", got)
	}
}

func BenchmarkFill(b *testing.B) {
	for _, shape := range []Shape{Lean, Rich} {
		b.Run(shape.String(), func(b *testing.B) {
			all := New(Options{Signals: []Signal{Logs}, Shape: shape, Batch: 8192, Run: "0123456789ab"})
			dst := make([]byte, 8192*600)
			n := int64(0)
			for b.Loop() {
				t := all.Template(Logs, n, 8192)
				t.Fill(dst[:t.Len()], 1, uint64(n)<<20, 1)
				n++
			}
			b.ReportMetric(float64(n)*8192/b.Elapsed().Seconds(), "records/s")
		})
	}
}
