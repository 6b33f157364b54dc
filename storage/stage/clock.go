package stage

import "time"

// Mark is a reading of the clock, in nanoseconds. Only the distance of two means anything.
type Mark int64

// base is where marks count from. Its wall clock does not matter: time.Since reads one clock
// where time.Now reads two, and inside a testing/synctest bubble it follows the bubble's.
var base = time.Now()

// Now reads the clock.
func Now() Mark { return Mark(time.Since(base)) }

// At makes a mark of a time that was taken for another reason.
func At(t time.Time) Mark { return Mark(t.Sub(base)) }

// Since returns how long after earlier m is.
func (m Mark) Since(earlier Mark) time.Duration { return time.Duration(m - earlier) }
