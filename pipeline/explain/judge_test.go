package explain

import (
	"strings"
	"testing"

	"mira/storage/stage"
)

// window is ten seconds on two cores in which Exports came and nothing else is remarkable.
func window(change ...func(*Report)) *Report {
	r := &Report{
		WindowSeconds: 10, Cores: 2, CPUSeconds: 4, Records: 1e6, Exports: 1000, Bytes: 1e8,
		Gauges: Gauges{Budget: 1 << 30, BudgetUsed: 1 << 28},
		Groups: Groups{Count: 500, Frames: 2, Bytes: 2e5},
	}
	for _, s := range stage.All {
		r.Stages = append(r.Stages, Stage{Name: s.String(), Kind: s.Kind(), Count: 1000})
	}
	for _, c := range change {
		c(r)
	}
	return r
}

// with gives a stage a share of its whole, and the total and median that go with it.
func with(s stage.Stage, share float64) func(*Report) {
	return func(r *Report) {
		line := &r.Stages[s]
		line.Share, line.Total = share, share*r.WindowSeconds
		if line.Kind == stage.CPU {
			line.Total = share * r.CPUSeconds
		}
		line.P50 = line.Total / 1000
	}
}

func TestVerdictNamesWhatBounds(t *testing.T) {
	set := func(f func(*Report)) func(*Report) { return f }
	busy := set(func(r *Report) { r.CPUSeconds = 19 })
	for _, c := range []struct {
		name    string
		r       *Report
		boundBy string
		words   string // in the verdict, with bars between
	}{
		{"nothing to do", window(set(func(r *Report) { r.Exports, r.CPUSeconds = 0, .01 })), BoundIdle, "no Export came in 10 s"},
		{"the codec", window(busy, with(stage.Compress, .58), with(stage.LogSync, .03)), "compress", "compression bound: zstd 58 % of 1.9 busy cores; the log waits 3 %"},
		{"columns", window(busy, with(stage.Columns, .4), with(stage.Compress, .3), with(stage.Check, .1)), "columns", "columns 40 % of 1.9 busy cores|then compress 30 %"},
		{"work in no stage", window(busy, set(func(r *Report) { r.GCFraction = .07 }), with(stage.Compress, .2)), BoundCPU, "80 % of 1.9|garbage collection 7 %|compress, 20 %"},
		{"the codec beside a client", window(set(func(r *Report) { r.CPUSeconds, r.MachineBusy = 12, .99 }), with(stage.Compress, .6)), "compress", "1.2 busy cores|other processes"},
		{"other processes", window(set(func(r *Report) { r.CPUSeconds, r.MachineBusy = 1, .99 })), BoundMachine, "99 % of the machine"},
		{"a slow disk under the log", window(with(stage.LogSync, .9), with(stage.LogWrite, .05)), "log_sync", "log bound|syncs 90 %|9 ms|2.0 Exports"},
		{"a slow write of the log", window(with(stage.LogSync, .2), with(stage.LogWrite, .7)), "log_write", "writes 70 %"},
		{"a slow disk under the blocks", window(with(stage.FileSync, 1.2)), "file_sync", "disk bound|file_sync 120 %"},
		{"a slow directory", window(with(stage.Rename, .9), with(stage.FileSync, .3)), "rename", "disk bound|rename 90 %"},
		{"the disk, and Exports wait for it", window(with(stage.AdmitWait, 3.1), with(stage.FileSync, .7), with(stage.Compress, .1)), "file_sync", "disk bound: 3.1 Exports wait for room|file_sync 70 %"},
		{"a full budget that the codec drains", window(with(stage.AdmitWait, 2), with(stage.Compress, .5), set(func(r *Report) { r.Gauges.BudgetUsed = r.Gauges.Budget })), "admit_wait", "2.0 Exports wait for room, 100 %|drained by compress"},
		{"a full budget that nothing drains", window(set(func(r *Report) { r.Exports, r.Gauges.Parked = 0, 5 })), "admit_wait", "no block was written"},
		{"the scheduler", window(set(func(r *Report) { r.LagP90 = .012 })), BoundScheduler, "12 ms|0.4 of 2 cores"},
		{"the client", window(), BoundClient, "client bound: 0.4 of 2 cores busy and nobody waits"},
		{"no core free explains a full budget and a busy log", window(busy, with(stage.Compress, .6), with(stage.AdmitWait, 5), with(stage.LogSync, .9)), "compress", "the log waits 90 %"},
	} {
		boundBy, verdict := Judge(c.r)
		if boundBy != c.boundBy {
			t.Errorf("%s: got bound by %s (%s), want %s", c.name, boundBy, verdict, c.boundBy)
		}
		for part := range strings.SplitSeq(c.words, "|") {
			if !strings.Contains(verdict, part) {
				t.Errorf("%s: got %q, want %q in it", c.name, verdict, part)
			}
		}
	}
}

func TestVerdictOfAnEmptyReportIsIdle(t *testing.T) {
	if boundBy, verdict := Judge(&Report{Cores: 1}); boundBy != BoundIdle {
		t.Errorf("got %s: %s", boundBy, verdict)
	}
}
