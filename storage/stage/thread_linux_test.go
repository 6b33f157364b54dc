package stage

import (
	"runtime"
	"testing"
	"time"
)

func TestWaitingIsNotWork(t *testing.T) {
	set := new(Set)
	if got := set.Snapshot().OnCPU(); got != 1 {
		t.Errorf("unknown: got %g, want 1", got)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	id, cpu := Thread()
	if id == 0 {
		t.Fatal("no clock of a thread")
	}
	set.Worked(Work{at: Now() - Mark(time.Hour), cpu: cpu, thread: id})
	set.Worked(Work{at: Now(), cpu: cpu, thread: -1}) // another thread: not counted
	s := set.Snapshot()
	if s.wall < uint64(time.Hour) || s.wall > uint64(2*time.Hour) || s.OnCPU() > .01 {
		t.Errorf("an hour of waiting: got %g of %s", s.OnCPU(), time.Duration(s.wall))
	}
}

func TestWorkIsNotMoreThanItsTime(t *testing.T) {
	set := new(Set)
	for range 100 {
		set.Worked(StartWork())
	}
	if s := set.Snapshot(); s.worked > s.wall {
		t.Errorf("got %d ns of work in %d", s.worked, s.wall)
	}
	var none *Set
	none.Worked(StartWork())
}

func BenchmarkWork(b *testing.B) {
	set := new(Set)
	for b.Loop() {
		set.Worked(StartWork())
	}
}
