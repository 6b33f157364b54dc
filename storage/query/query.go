package query

import (
	"cmp"
	"context"
	"math"

	"mira/storage"
	"mira/storage/block"
	"mira/storage/column"
	"mira/storage/signal"
)

// Source is where the records are: a storage.Store.
type Source interface {
	// Snapshot returns what may hold records of [start, end), open rows included.
	Snapshot(ctx context.Context, s signal.Signal, start, end uint64) (*storage.Snapshot, error)
	// OpenBlock opens a published block for reading.
	OpenBlock(i block.Info) (*block.Reader, error)
	// Damaged is told about a block that was found corrupt.
	Damaged(i block.Info, cause error)
}

// Forever as a Query's End is no end at all: the half-open window then includes the last
// nanosecond that can be written down.
const Forever = math.MaxUint64

// Query says which records are wanted, and in which order.
type Query struct {
	Signal     signal.Signal
	Start, End uint64  // places in time, Unix nanoseconds: [Start, End)
	Filter     *Filter // nil accepts every record
	Ascending  bool    // earliest first; otherwise latest first
	Limit      int     // rows of one page; 0: 100
	After      *Position
	Want       func(*column.Column) bool // the columns a page needs; nil: all
}

// Position is the place of one record in the order of a Query. It stays valid under ingest, and
// when the block that holds the record is published.
type Position struct {
	Time  uint64
	Block signal.BlockID
	Row   int // in the block
}

// compareBlocks orders blocks of one signal whose records have the same time.
func compareBlocks(a, b signal.BlockID) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Shard, b.Shard))
}

// Stats is what an answer cost.
type Stats struct {
	BlocksTotal   int   `json:"blocks_total"`             // in the window, those still open included
	BlocksScanned int   `json:"blocks_scanned"`           // of which values were read
	BlocksDamaged int   `json:"blocks_damaged"`           // left out: corrupt
	BlocksMissing int   `json:"blocks_missing,omitempty"` // left out: the file is gone, or of a later format
	RowsScanned   int64 `json:"rows_scanned"`             // in the row groups that were read
	RowsMatched   int64 `json:"rows_matched"`             // of those, as far as the page needed to know
	RowsReturned  int64 `json:"rows_returned"`
	BytesRead     int64 `json:"bytes_read"` // values read, inflated, dictionaries not counted
	ElapsedMicros int64 `json:"elapsed_us"`
}

// Page is the next rows of an answer.
type Page struct {
	Chunks []Chunk   // in the order of the query
	Next   *Position // of the last row; nil: there are no more rows
	Stats  Stats
}

// Chunk is some rows as an OTLP Export request, in which walking the records yields the rows in
// their order. The requests of a page, one behind the other, are an Export request too.
type Chunk struct {
	Request []byte
	Times   []uint64 // the rows' places in time
}

// Add adds the cost of a further page of the same Scan.
func (s *Stats) Add(o Stats) {
	s.BlocksTotal = o.BlocksTotal
	s.BlocksScanned += o.BlocksScanned
	s.BlocksDamaged += o.BlocksDamaged
	s.BlocksMissing += o.BlocksMissing
	s.RowsScanned += o.RowsScanned
	s.RowsMatched += o.RowsMatched
	s.RowsReturned += o.RowsReturned
	s.BytesRead += o.BytesRead
	s.ElapsedMicros += o.ElapsedMicros
}
