package block

import (
	"bytes"
	"testing"
	"time"

	"mira/storage/stage"
)

func TestTimedRowGroupsStandForTheOthers(t *testing.T) {
	timed := func(dicts, each time.Duration, rows ...int) time.Duration {
		w := timing{rest: dicts}
		for _, n := range rows {
			if w.next(n); !w.off {
				w.rest += time.Duration(n) * each
			}
		}
		return w.total()
	}
	for _, c := range []struct {
		name string
		got  time.Duration
		want time.Duration
	}{
		{"nothing", timed(0, 1), 0},
		{"dictionaries alone", timed(7, 1), 7},
		{"one group", timed(7, 2, 100), 207},
		{"all alike", timed(7, 2, 64, 64, 64, 64, 64, 64), 7 + 2*6*64},
		{"the last one short", timed(0, 3, 64, 64, 64, 64, 10), 3 * (4*64 + 10)},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, c.got, c.want)
		}
	}
}

func TestEncodeCountsItsPartsOnce(t *testing.T) {
	set := new(stage.Set)
	began := stage.Now()
	for range 3 {
		if _, err := Encode(&bytes.Buffer{}, testID, everyType(1000, 3), Options{GroupRows: 64, Stages: set}); err != nil {
			t.Fatal(err)
		}
	}
	took := stage.Now().Since(began)
	s := set.Snapshot()
	var sum uint64
	for _, part := range []stage.Stage{stage.Encode, stage.Compress, stage.FileWrite} {
		c := &s.Stages[part]
		if sum += c.Sum; c.Count() != 3 || c.Sum == 0 {
			t.Errorf("%s: got %d in %d ns, want 3", part, c.Count(), c.Sum)
		}
	}
	if sum > uint64(took) {
		t.Errorf("the parts took %d ns together, and the whole %d", sum, took)
	}
}
