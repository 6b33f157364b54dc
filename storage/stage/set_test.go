package stage

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestStagesHaveTheirNamesAndKinds(t *testing.T) {
	want := "admit_wait check log_queue log_write log_sync ack shard_queue columns seal_wait encode compress file_write file_sync rename catalog trim"
	var got []string
	cpu := ""
	for _, s := range All {
		got = append(got, s.String())
		if s.Kind() == CPU {
			cpu += s.String() + " "
		}
	}
	if strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if cpu != "check columns encode compress catalog " {
		t.Errorf("stages of the CPU: got %s", cpu)
	}
}

func TestNilCountsNothing(t *testing.T) {
	var set *Set
	set.Observe(Check, time.Second)
	set.Group(1, 1)
	trip := set.Begin(Now())
	trip.Lap(Check)
	var none *Trip
	none.Lap(Check)
	none.LapAt(Check, 1)
	none.Skip(1)
	fork := none.Fork()
	fork.Lap(Check)
	if s := set.Snapshot(); s.Stages[Check].Count() != 0 {
		t.Errorf("got %d", s.Stages[Check].Count())
	}
}

func TestTimedExportsStandForAll(t *testing.T) {
	set := new(Set)
	timed := 0
	const exports = 10_000
	for i := range exports {
		trip := set.Begin(Mark(i))
		if trip.timed() {
			timed++
		}
		trip.Lap(Check)
	}
	if timed < exports/share/2 || timed > exports/share*2 {
		t.Errorf("%d of %d are timed, want about one in %d", timed, exports, share)
	}
	got := set.Snapshot().Stages[Check].Count() + set.pending.Load()
	if got != exports {
		t.Errorf("they stand for %d, want %d", got, exports)
	}
}

func TestFirstExportAfterAPauseIsTimed(t *testing.T) {
	set := new(Set)
	for i := range Mark(100) {
		if trip := set.Begin(i * quiet); !trip.timed() {
			t.Fatalf("Export %d, %s after the one before, is not timed", i, time.Duration(quiet))
		}
	}
}

func TestTripCountsEachStageFromWhereTheLastEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := new(Set)
		trip := set.Begin(At(time.Now()))
		time.Sleep(3 * time.Second)
		trip.Lap(Check)
		time.Sleep(2 * time.Second)
		trip.LapAt(LogQueue, Now()-Mark(time.Second))
		time.Sleep(4 * time.Second)
		trip.Skip(Now())
		fork := trip.Fork()
		time.Sleep(5 * time.Second)
		trip.Lap(Ack)
		time.Sleep(time.Second)
		fork.Lap(ShardQueue)
		s := set.Snapshot()
		for stage, want := range map[Stage]time.Duration{Check: 3, LogQueue: 1, Ack: 5, ShardQueue: 6} {
			if got := s.Stages[stage].Sum; got != uint64(want*time.Second) {
				t.Errorf("%s: got %s, want %ds", stage, time.Duration(got), want)
			}
		}
	})
}

func TestCountingAllocatesNothing(t *testing.T) {
	set := new(Set)
	if n := testing.AllocsPerRun(100, func() {
		trip := set.Begin(Now())
		trip.Lap(Check)
		set.Observe(LogSync, 1)
		set.Group(1, 1)
	}); n != 0 {
		t.Errorf("got %g allocations", n)
	}
}

func TestMetricsAreHistogramsThatPrometheusReads(t *testing.T) {
	set := new(Set)
	for i := range 1000 {
		set.Observe(All[i%len(All)], time.Duration(i*i*i))
		set.Group(int64(i), int64(i*1000))
	}
	var text strings.Builder
	set.Snapshot().WritePrometheus(&text)
	line := regexp.MustCompile(`^(mira_\w+)_(bucket|sum|count)(?:\{(stage="\w+")?,?(?:le="([^"]+)")?\})? ([0-9.e+-]+)$`)
	last, counts, series := map[string]float64{}, map[string]float64{}, 0
	for l := range strings.Lines(text.String()) {
		l = strings.TrimSuffix(l, "\n")
		if strings.HasPrefix(l, "# TYPE ") {
			continue
		}
		m := line.FindStringSubmatch(l)
		if m == nil {
			t.Fatalf("not a line of a histogram: %q", l)
		}
		key := m[1] + m[3]
		v, err := strconv.ParseFloat(m[5], 64)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case m[2] == "bucket" && v < last[key]:
			t.Errorf("%s falls behind the bucket before", l)
		case m[2] == "bucket" && m[4] == "+Inf":
			counts[key] = v
		case m[2] == "count" && v != counts[key]:
			t.Errorf("%s: the last bucket has %g", l, counts[key])
		case m[2] == "count":
			series++
		}
		if m[2] == "bucket" {
			last[key] = v
		}
	}
	if series != len(All)+2 {
		t.Errorf("got %d histograms, want %d", series, len(All)+2)
	}
}
