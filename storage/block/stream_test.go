package block

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"mira/storage/column"
)

func TestArrowReadsAStreamOfEveryType(t *testing.T) {
	coded := column.Column{Name: "coded", Type: column.String, Len: 9000, Index: make([]int32, 9000), Dict: dict(7), Valid: nullEvery(9000, 5)}
	for i := range coded.Index {
		coded.Index[i] = int32(i % 7)
	}
	table := everyType(9000, 3)
	table.Columns = append(table.Columns, coded)
	empty := &column.Table{Rows: 70, Columns: make([]column.Column, len(table.Columns))}
	for i := range table.Columns {
		empty.Columns[i] = table.Columns[i].Nulls(70)
	}
	var b bytes.Buffer
	s, err := NewStream(&b, table.Columns)
	for _, part := range []*column.Table{table, empty} {
		err = errors.Join(err, s.Write(part))
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	row := 0
	for r.Next() {
		rec := r.RecordBatch()
		for i := range int(rec.NumRows()) {
			part, at := table, row
			if row >= table.Rows {
				part, at = empty, row-table.Rows
			}
			for j := range part.Columns {
				if got, want := arrowText(rec.Column(j), i), text(&part.Columns[j], at); got != want {
					t.Fatalf("%s, row %d: arrow reads %s, want %s", part.Columns[j].Name, row, got, want)
				}
			}
			row++
		}
	}
	if r.Err() != nil || row != table.Rows+empty.Rows {
		t.Errorf("read %d rows, %v, want %d", row, r.Err(), table.Rows+empty.Rows)
	}
}

func TestStreamTakesNoOtherColumns(t *testing.T) {
	s, err := NewStream(&bytes.Buffer{}, everyType(0, 0).Columns)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(&column.Table{Rows: 1, Columns: []column.Column{ints("n", column.Int, nil, 1)}}); !errors.Is(err, errStreamColumns) {
		t.Errorf("got %v, want %v", err, errStreamColumns)
	}
}

func TestBatchOfAStreamIsBoundedByItsText(t *testing.T) {
	const size = 1 << 20
	d := &column.Dict{Offsets: []int32{0, size}, Data: make([]byte, size)}
	c := column.Column{Name: "large", Type: column.String, Len: 100, Index: make([]int32, 100), Dict: d}
	table := &column.Table{Rows: 100, Columns: []column.Column{c}}
	var ends []int
	for at := 0; at < table.Rows; {
		at = batchEnd(table, at)
		ends = append(ends, at)
	}
	if len(ends) < 6 || ends[0] > 17 {
		t.Errorf("batches end at %s, want them to hold 16 MiB", fmt.Sprint(ends))
	}
}
