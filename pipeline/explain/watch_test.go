package explain

import (
	"encoding/json"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"mira/storage/stage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a server that did what its test says.
type fake struct {
	set     stage.Set
	exports atomic.Int64
	cpu     atomic.Int64
}

func (f *fake) watch() *Watch {
	return New(Sources{
		Stages: &f.set,
		Usage: func() Usage {
			return Usage{Process: time.Duration(f.cpu.Load())}
		},
		State:    func() State { return State{Exports: f.exports.Load(), Gauges: Gauges{Parked: 3}} },
		Settings: Settings{Shards: 2, Durability: "sync"},
	})
}

// work is some seconds of CPU time of which so much went to the codec, and one Export.
func (f *fake) work(cpu, codec time.Duration) {
	f.cpu.Add(int64(cpu))
	f.exports.Add(1)
	f.set.Observe(stage.Compress, codec)
}

func TestReportIsOfTheLastCompleteWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(fake)
		w := f.watch()
		defer w.Close()
		f.work(4*time.Second, time.Second)
		time.Sleep(Window + slow)
		f.work(8*time.Second, 2*time.Second)
		time.Sleep(Window + slow)
		f.work(time.Second, time.Second) // in the window that is not complete
		time.Sleep(3 * time.Second)

		r := w.Report(false)
		line := r.stage(stage.Compress)
		if r.Exports != 1 || r.CPUSeconds != 8 || line.Count != 1 || math.Abs(r.WindowSeconds-10) > 1 {
			t.Errorf("last window: got %d Exports, %g CPU-s, compress %+v in %g s", r.Exports, r.CPUSeconds, line, r.WindowSeconds)
		}
		if line.Share != .25 {
			t.Errorf("share of compress: got %g, want 0.25", line.Share)
		}
		all := w.Report(true)
		if all.Exports != 3 || all.CPUSeconds != 13 || all.stage(stage.Compress).Total != 4 {
			t.Errorf("since the start: got %d Exports, %g CPU-s, compress %+v", all.Exports, all.CPUSeconds, all.stage(stage.Compress))
		}
	})
}

func TestYoungServerReportsSinceItsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(fake)
		w := f.watch()
		defer w.Close()
		f.work(time.Second, time.Second)
		time.Sleep(time.Second)
		if r := w.Report(false); r.Exports != 1 || r.WindowSeconds != 1 || r.BoundBy == "" || r.Settings.Shards != 2 || r.Gauges.Parked != 3 {
			t.Errorf("got %+v", r)
		}
	})
}

func TestSharesOfTheCPUAreNotMoreThanAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(fake)
		w := f.watch()
		defer w.Close()
		f.work(2*time.Second, 3*time.Second) // three on the wall
		f.set.Observe(stage.Columns, time.Second)
		time.Sleep(time.Second)
		if r := w.Report(true); r.stage(stage.Compress).Share != .75 || r.stage(stage.Columns).Share != .25 {
			t.Errorf("got %g and %g, want 0.75 and 0.25", r.stage(stage.Compress).Share, r.stage(stage.Columns).Share)
		}
	})
}

func TestLagIsTheLatenessOfASleeper(t *testing.T) {
	w := &Watch{}
	w.slept(80*time.Millisecond, beat)
	w.slept(0, slow)
	if got := time.Duration(w.recent.Load()); got != 40*time.Millisecond {
		t.Errorf("a second later: got %s, want half of it", got)
	}
	for range 10 {
		w.slept(0, beat)
	}
	if got := time.Duration(w.recent.Load()); got < 19*time.Millisecond || got > 20*time.Millisecond {
		t.Errorf("ten beats later: got %s, want half of that", got)
	}
}

func TestSleeperHurriesWhileExportsCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(fake)
		w := f.watch()
		defer w.Close()
		beats := func() uint64 {
			var c stage.Counts
			w.lag.Load(&c)
			return c.Count()
		}
		time.Sleep(9*slow + beat/2)
		if got := beats(); got != 9 {
			t.Errorf("idle for nine seconds: got %d beats, want 9", got)
		}
		for range 20 {
			f.set.Group(1, 100)
			time.Sleep(beat)
		}
		if got := beats() - 9; got < 10 {
			t.Errorf("two seconds of Exports: got %d beats, want ten at least", got)
		}
	})
}

func TestDocumentHasTheAgreedNames(t *testing.T) {
	f := new(fake)
	w := f.watch()
	defer w.Close()
	b, err := json.Marshal(w.Report(false))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"window_seconds", "cores", "cpu_seconds", "gc_cpu_fraction", "records", "exports", "bytes", "verdict", "bound_by", "stages",
		"name", "kind", "count", "total_seconds", "p50_seconds", "p99_seconds", "max_seconds", "share", "gauges", "budget_used_bytes",
		"budget_bytes", "parked_exports", "in_flight_exports", "open_block_age_seconds", "unsynced_bytes", "scheduler_lag_seconds",
		"goroutines", "settings", "block_bytes", "shards", "ingest_memory", "durability", "gomaxprocs",
	} {
		if !strings.Contains(string(b), `"`+name+`":`) {
			t.Errorf("%s is missing in %s", name, b)
		}
	}
}
