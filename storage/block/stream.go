package block

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"

	"mira/storage/column"
)

// Stream writes tables as one Arrow IPC stream, for programs that ask for rows: what every Arrow
// reader reads. So there is no dictionary in it, nothing is compressed, and nothing is mira's own
// but the metadata of the fields.
//
//	┌────────┬───────┬───────┬── … ──┬─────┐
//	│ schema │ batch │ batch │       │ EOS │
//	└────────┴───────┴───────┴── … ──┴─────┘
type Stream struct {
	e      *encoder
	schema []column.Column
}

const (
	// streamRows and streamBytes bound a batch. Its text may be larger than that of the table, in
	// which a value is there once however many rows have it.
	streamRows  = 8192
	streamBytes = 16 << 20
)

var errStreamColumns = errors.New("the table has other columns than the stream")

// NewStream begins a stream of tables that have these columns, whose values do not count.
func NewStream(w io.Writer, columns []column.Column) (*Stream, error) {
	s := &Stream{schema: columns, e: &encoder{
		meta: meta{flatbuffers.NewBuilder(1 << 12)}, file: bufio.NewWriterSize(w, 1<<16), plain: true,
	}}
	empty := &column.Table{Columns: make([]column.Column, len(columns))}
	for i := range columns {
		empty.Columns[i] = columns[i].Nulls(0)
	}
	fields, err := plan(empty)
	if err != nil {
		return nil, err
	}
	s.e.message(s.e.meta.message(headerSchema, s.e.meta.schema(fields, ""), 0))
	return s, s.e.err
}

// Write adds the rows of t, whose columns must be those of the stream in the same order.
func (s *Stream) Write(t *column.Table) error {
	if !slices.EqualFunc(s.schema, t.Columns, func(a, b column.Column) bool { return a.Name == b.Name && a.Type == b.Type }) {
		return errStreamColumns
	}
	fields, err := plan(t)
	if err != nil {
		return err
	}
	for from := 0; from < t.Rows && s.e.err == nil; {
		to := batchEnd(t, from)
		s.e.batch(fields, from, to)
		from = to
	}
	if s.e.err == nil {
		s.e.err = s.e.file.Flush()
	}
	return s.e.err
}

// Close ends the stream; it does not close what the stream is written to.
func (s *Stream) Close() error {
	s.e.write([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0})
	if s.e.err == nil {
		s.e.err = s.e.file.Flush()
	}
	return s.e.err
}

// batchEnd returns the row behind the last one of the batch that begins at from.
func batchEnd(t *column.Table, from int) int {
	size := 0
	for row := from; row < t.Rows; row++ {
		for i := range t.Columns {
			if c := &t.Columns[i]; c.Index != nil && !c.Null(row) {
				size += len(c.Dict.At(c.Index[row]))
			}
		}
		if row > from && (size > streamBytes || row-from == streamRows) {
			return row
		}
	}
	return t.Rows
}

// batch writes the rows from..to of a stream.
func (e *encoder) batch(fields []field, from, to int) {
	e.open()
	for i := range fields {
		e.column(&fields[i], from, to)
	}
	e.write(e.frame(e.meta.message(headerBatch, e.meta.batch(int64(to-from), e.nodes, e.buffers, false), int64(len(e.body)))))
	e.write(e.body)
}

// spell adds the rows from..to of a dictionary-encoded column as plain values.
func (e *encoder) spell(c *column.Column, from, to int) {
	value := func(row int) []byte {
		if c.Null(row) {
			return nil
		}
		return c.Dict.At(c.Index[row])
	}
	b, end := binary.LittleEndian.AppendUint32(e.raw[:0], 0), 0
	for row := from; row < to; row++ {
		end += len(value(row))
		b = binary.LittleEndian.AppendUint32(b, uint32(end))
	}
	e.buffer(b, false)
	b = b[:0]
	for row := from; row < to; row++ {
		b = append(b, value(row)...)
	}
	e.buffer(b, false)
	e.raw = b
}
