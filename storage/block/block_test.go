package block

import (
	"bytes"
	"fmt"
	"testing"

	"mira/storage/column"
	"mira/storage/vfs"
)

// publish writes a table into a new file system.
func publish(t testing.TB, table *column.Table, o Options) (vfs.FS, Info) {
	t.Helper()
	fs := vfs.NewMem()
	i, err := Write(fs, "blocks", testID, table, o)
	if err != nil {
		t.Fatal(err)
	}
	return fs, i
}

// open opens a block.
func open(t testing.TB, fs vfs.FS, i Info) *Reader {
	t.Helper()
	r, err := Open(fs, "blocks", i)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// roundTrip writes a table and reads it back.
func roundTrip(t *testing.T, table *column.Table, o Options) {
	t.Helper()
	fs, i := publish(t, table, o)
	if err := Verify(fs, "blocks", i); err != nil {
		t.Fatal(err)
	}
	r := open(t, fs, i)
	if r.Rows() != table.Rows {
		t.Fatalf("got %d rows, want %d", r.Rows(), table.Rows)
	}
	from := 0
	for g := range r.Groups() {
		got, err := r.Group(g, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Rows != r.GroupRows(g) || got.Rows > o.rows() {
			t.Fatalf("group %d has %d rows", g, got.Rows)
		}
		sameTable(t, got, table, from)
		from += got.Rows
	}
	if from != table.Rows {
		t.Fatalf("got %d rows in groups, want %d", from, table.Rows)
	}
}

func TestTableComesBack(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 63, 64, 65, 128, 1000} {
		for _, k := range []int{0, 1, 2, 5, 64} {
			for _, rows := range []int{0, 64, 128} {
				t.Run(fmt.Sprintf("%d rows, %d null, groups of %d", n, k, rows), func(t *testing.T) {
					roundTrip(t, everyType(n, k), Options{GroupRows: rows})
				})
			}
		}
	}
}

func TestSameTableSameBytes(t *testing.T) {
	var a, b bytes.Buffer
	big := &column.Table{Rows: 200_000, Columns: plainColumns(200_000, 5)}
	first, err := Encode(&a, testID, big, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // an encoder that has seen other blocks
		if _, err := Encode(&bytes.Buffer{}, testID, everyType(1000, 3), Options{}); err != nil {
			t.Fatal(err)
		}
		b.Reset()
		again, err := Encode(&b, testID, big, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if first != again || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Fatal("the same table gave other bytes")
		}
	}
}
