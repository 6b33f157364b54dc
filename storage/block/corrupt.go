package block

import (
	"errors"
	"fmt"
)

// ErrFormat is the answer to a whole block that another version of mira wrote: it is not
// damaged, and must not be treated as if it were.
var ErrFormat = errors.New("block has a format that this version does not know")

// CorruptError says that a file is not what its name promises.
type CorruptError struct {
	File   string // below the directory that holds the blocks
	Offset int64  // about where the first bad byte is
	Err    error  // what is wrong with it
}

// Error names the file, the place and the cause.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("block %s is damaged at offset %d: %v", e.File, e.Offset, e.Err)
}

// Unwrap returns Err.
func (e *CorruptError) Unwrap() error { return e.Err }
