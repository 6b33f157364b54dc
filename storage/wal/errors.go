package wal

import (
	"errors"
	"fmt"
	"syscall"
)

// Why Append refuses.
var (
	ErrFull     = errors.New("wal: no space left")        // nothing of the frame remains in the log; try again later
	ErrPoisoned = errors.New("wal: poisoned")             // a sync or a repair failed: the outcome is unknown until a restart
	ErrClosed   = errors.New("wal: closed")               // Close was called
	ErrTooLarge = errors.New("wal: payload over the cap") // longer than frame.MaxPayload; will never be taken
)

var errNotStarted = errors.New("wal: not started")

// CorruptError is a range of a segment that holds no frame where one must have been.
type CorruptError struct {
	File   string // path of the segment
	Offset int64  // first bad byte
	Bytes  int64  // how many, up to the next whole frame or the file's end
	Err    error  // what is wrong at Offset
}

// Error names file, range and reason.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s: %d bytes at %d: %v", e.File, e.Bytes, e.Offset, e.Err)
}

// Unwrap returns Err.
func (e *CorruptError) Unwrap() error { return e.Err }

// full joins ErrFull to an error that says that the volume or the quota is exhausted.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}
