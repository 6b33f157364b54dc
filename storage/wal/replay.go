package wal

import (
	"errors"

	"mira/storage/frame"
)

// Report is what Replay found.
type Report struct {
	Segments     int             // read
	Frames       int             // whole Exports handed out
	Bytes        int64           // that their frames take
	Torn         int             // torn tails, which are ordinary after a crash: 0 or 1
	TornBytes    int64           // cut off with them
	Gaps         int             // places where numbers are missing between two segments; ordinary, they were retired
	Damaged      []string        // paths of the segments that hold damage, to be moved to the quarantine
	DamagedBytes int64           // bytes of all damaged ranges
	Damage       []*CorruptError // the first maxDamage of these ranges
}

const maxDamage = 64

// Replay calls fn with every whole frame, in the order of the log. The payload is valid only
// during the call. It holds one frame in memory at a time, however long the log is. An error of
// fn ends it.
func (l *Log) Replay(fn func(frame.Frame) error) (Report, error) {
	return Report{}, errors.New("wal: not yet")
}
