package stage

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Set is the histograms of one server. A nil Set counts nothing.
type Set struct {
	stages        [count]Histogram // nanoseconds
	frames, bytes Histogram        // of the log's groups
	worked, wall  atomic.Uint64    // nanoseconds; see Work

	// Which Export is timed.
	pending atomic.Uint64 // Exports since the last one that was
	due     atomic.Uint64 // how many there may be
	last    atomic.Int64  // when that was, a Mark
}

// Observe counts one passage through s.
func (t *Set) Observe(s Stage, took time.Duration) {
	if t != nil {
		t.stages[s].Observe(int64(took), 1)
	}
}

// Group counts one group of the log.
func (t *Set) Group(frames, bytes int64) {
	if t != nil {
		t.frames.Observe(frames, 1)
		t.bytes.Observe(bytes, 1)
	}
}

// Frames returns how many frames the log has written.
func (t *Set) Frames() uint64 {
	if t == nil {
		return 0
	}
	return t.frames.sum.Load()
}

// Snapshot is what a Set had counted at some time, or between two times.
type Snapshot struct {
	Stages                  [count]Counts // by Stage, in nanoseconds
	GroupFrames, GroupBytes Counts
	worked, wall            uint64
}

// Snapshot copies the counts of now.
func (t *Set) Snapshot() *Snapshot {
	s := new(Snapshot)
	if t == nil {
		return s
	}
	for i := range t.stages {
		t.stages[i].Load(&s.Stages[i])
	}
	t.frames.Load(&s.GroupFrames)
	t.bytes.Load(&s.GroupBytes)
	s.worked, s.wall = t.worked.Load(), t.wall.Load()
	return s
}

// Sub takes away what had been counted earlier: what is left happened in between.
func (s *Snapshot) Sub(earlier *Snapshot) {
	for i := range s.Stages {
		s.Stages[i].Sub(&earlier.Stages[i])
	}
	s.GroupFrames.Sub(&earlier.GroupFrames)
	s.GroupBytes.Sub(&earlier.GroupBytes)
	s.worked -= earlier.worked
	s.wall -= earlier.wall
}

const (
	share = 8                            // one Export in so many is timed, on average
	quiet = Mark(100 * time.Millisecond) // and the first one after so long
)

// Trip is the clock of one Export, and of those it stands for. A nil Trip, and the zero one, is of
// an Export that is not timed. One goroutine at a time may use it.
type Trip struct {
	set    *Set
	weight uint64 // how many Exports this one stands for
	at     Mark   // when the stage it is in began
}

// Begin says whether the Export that came at start is timed, and starts its clock. The distance
// from one to the next is random, so that clients who take turns are all seen.
func (t *Set) Begin(start Mark) Trip {
	if t == nil {
		return Trip{}
	}
	n := t.pending.Add(1)
	if n < t.due.Load() && start-Mark(t.last.Load()) < quiet {
		return Trip{}
	}
	if !t.pending.CompareAndSwap(n, 0) {
		return Trip{} // somebody came in between: it is for them
	}
	t.due.Store(1 + rand.Uint64N(2*share-1))
	t.last.Store(int64(start))
	return Trip{set: t, weight: n, at: Now()}
}

// Lap counts the stage that ends now; the next one begins.
func (t *Trip) Lap(s Stage) {
	if t.timed() {
		t.LapAt(s, Now())
	}
}

// LapAt counts the stage that ended at a time taken before.
func (t *Trip) LapAt(s Stage, at Mark) {
	if t.timed() {
		t.set.stages[s].Observe(int64(at-t.at), t.weight)
		t.at = at
	}
}

// Skip begins the next stage at a time taken before: what lies between is counted elsewhere.
func (t *Trip) Skip(at Mark) {
	if t.timed() {
		t.at = at
	}
}

// Fork returns a clock for another goroutine that goes on with the same Export.
func (t *Trip) Fork() Trip {
	if t == nil {
		return Trip{}
	}
	return *t
}

func (t *Trip) timed() bool { return t != nil && t.weight > 0 }
