package block

import (
	"errors"
	"io"

	"mira/storage/column"
	"mira/storage/signal"
	"mira/storage/vfs"
)

// Options says how to write a block. The zero value is good.
type Options struct {
	GroupRows int // rows of a row group, rounded up to a multiple of 64; 0: 65536
}

// View is the rows of a block that is not published yet.
type View struct {
	ID    signal.BlockID
	Table *column.Table
}

var errSoon = errors.New("not written yet")

// Encode writes the table to w as a block and says what the block is called. It is pure: the
// same table and Options give the same bytes.
func Encode(w io.Writer, id signal.BlockID, t *column.Table, o Options) (Info, error) {
	return Info{}, errSoon
}

// Write makes the table a published block below root.
func Write(fs vfs.FS, root string, id signal.BlockID, t *column.Table, o Options) (Info, error) {
	return Info{}, errSoon
}

// Reader reads one block. It is safe for concurrent use.
type Reader struct{}

// Open opens the block that i names below root, for reading.
func Open(fs vfs.FS, root string, i Info) (*Reader, error) { return nil, errSoon }

// Rows returns the number of records in the block.
func (r *Reader) Rows() int { return 0 }

// Groups returns the number of row groups.
func (r *Reader) Groups() int { return 0 }

// Fields returns the schema: columns that have a Name, Level, Kind, Key, Type, Width, Elem and
// Fields, but no values.
func (r *Reader) Fields() []column.Column { return nil }

// GroupRows returns the number of records in row group i.
func (r *Reader) GroupRows(i int) int { return 0 }

// Group reads the wanted columns of row group i; nil wants all. The Table has the wanted columns in the
// order of the schema. Every Group of a Reader has the same *Dict for the same column.
func (r *Reader) Group(i int, want func(*column.Column) bool) (*column.Table, error) {
	return nil, errSoon
}

// Close closes the file. Tables read before stay valid.
func (r *Reader) Close() error { return nil }

// Verify reads every byte of the block and compares it with the hash in its name.
func Verify(fs vfs.FS, root string, i Info) error { return errSoon }
