package storage

import (
	"errors"
	"fmt"

	"mira/storage/vfs"
)

// UnsafeError says why a directory cannot be used as a data directory: it is locked, of a newer
// format, on a network file system, or not writable. Nothing in it was changed.
type UnsafeError struct {
	Dir    string
	Reason string // one sentence that says what to do
	Err    error  // may be nil
}

// Error names the directory and the reason.
func (e *UnsafeError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("data directory %s: %s", e.Dir, e.Reason)
	}
	return fmt.Sprintf("data directory %s: %s: %v", e.Dir, e.Reason, e.Err)
}

// Unwrap returns the cause.
func (e *UnsafeError) Unwrap() error { return e.Err }

func unsafeLock(dir string, err error) error {
	if errors.Is(err, vfs.ErrLocked) {
		return &UnsafeError{Dir: dir, Reason: "another mira process has it open; stop that process or choose another directory"}
	}
	return &UnsafeError{Dir: dir, Reason: "its lock cannot be taken; check who owns it", Err: err}
}
