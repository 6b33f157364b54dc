package block

import (
	"io"
	"time"

	"mira/storage/stage"
)

// timedGroups is of how many row groups one is timed: they hold the same columns, and a clock read
// around every buffer would cost more than all else that is measured together.
const timedGroups = 4

// largeBuffer is how many bytes keep the codec busy for a millisecond or so. One such buffer of
// every row group tells how much of the time was work.
const largeBuffer = 1 << 17

// timing is how long the codec takes for one file.
type timing struct {
	set   *stage.Set
	off   bool
	done  bool          // this row group has been compared with its thread's clock
	dicts time.Duration // of the dictionaries
	rest  time.Duration // of the timed row groups
	rows  int           // in all row groups
	timed int           // in those that were timed
	group int           // how many row groups there were
}

// next begins a row group.
func (t *timing) next(rows int) {
	if t.group == 0 {
		t.dicts, t.rest = t.rest, 0
	}
	t.off = t.group%timedGroups > 0
	t.group++
	t.done = false
	t.rows += rows
	if !t.off {
		t.timed += rows
	}
}

// total returns the time for the whole file.
func (t *timing) total() time.Duration {
	if t.timed == 0 {
		return t.dicts + t.rest
	}
	return t.dicts + time.Duration(float64(t.rest)*float64(t.rows)/float64(t.timed))
}

// compress appends data as the codec makes it.
func (t *timing) compress(dst, data []byte) []byte {
	if !t.done && len(data) >= largeBuffer {
		t.done = true
		w := stage.StartWork()
		defer func() { t.set.Worked(w) }()
	}
	if t.off {
		return compressor.EncodeAll(data, dst)
	}
	began := stage.Now()
	dst = compressor.EncodeAll(data, dst)
	t.rest += stage.Now().Since(began)
	return dst
}

// clocked is a writer that knows how long it has written.
type clocked struct {
	w    io.Writer
	took time.Duration
}

// Write passes p on.
func (c *clocked) Write(p []byte) (int, error) {
	began := stage.Now()
	n, err := c.w.Write(p)
	c.took += stage.Now().Since(began)
	return n, err
}
