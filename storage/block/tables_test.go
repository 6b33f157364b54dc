package block

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"mira/storage/column"
	"mira/storage/signal"
)

var testID = signal.BlockID{Signal: signal.Logs, Shard: 2, Node: 0x0a1b2c3d, Seq: 17}

// nullEvery returns a bitmap of n values where every k-th is null; nil for k == 0.
func nullEvery(n, k int) []byte {
	if k == 0 {
		return nil
	}
	valid := make([]byte, (n+7)/8)
	for i := range n {
		if i%k != k-1 {
			valid[i>>3] |= 1 << (i & 7)
		}
	}
	return valid
}

// ints returns an Int, Uint or Time column of 8 bytes a value.
func ints(name string, typ column.Type, valid []byte, v ...int64) column.Column {
	c := column.Column{Name: name, Type: typ, Len: len(v), Valid: valid, Ints: v}
	for i := range v {
		if c.Null(i) {
			v[i] = 0
		}
	}
	return c
}

// thin makes the integers of a column 4 bytes wide.
func thin(c column.Column) column.Column { c.Width = 4; return c }

// texts returns a plain String or Bytes column.
func texts(name string, typ column.Type, valid []byte, v ...string) column.Column {
	c := column.Column{Name: name, Type: typ, Len: len(v), Valid: valid, Offsets: []int32{0}}
	for i, s := range v {
		if !c.Null(i) {
			c.Data = append(c.Data, s...)
		}
		c.Offsets = append(c.Offsets, int32(len(c.Data)))
	}
	return c
}

// dict returns a dictionary of n entries.
func dict(n int) *column.Dict {
	d := &column.Dict{Offsets: []int32{0}}
	for i := range n {
		d.Data = fmt.Appendf(d.Data, "entry %d", i)
		d.Offsets = append(d.Offsets, int32(len(d.Data)))
	}
	return d
}

// coded returns a dictionary-encoded column of n values that uses the last entry first.
func coded(name string, typ column.Type, n, entries int, valid []byte) column.Column {
	c := column.Column{Name: name, Type: typ, Len: n, Valid: valid, Index: make([]int32, n), Dict: dict(entries)}
	for i := range n {
		if !c.Null(i) && entries > 0 {
			c.Index[i] = int32((entries - 1 + i*7) % entries)
		}
	}
	return c
}

// counting returns f(0), f(1), ….
func counting[T any](n int, f func(i int) T) []T {
	v := make([]T, n)
	for i := range v {
		v[i] = f(i)
	}
	return v
}

// plainColumns returns a column of every type that is not nested.
func plainColumns(n, k int) []column.Column {
	valid := nullEvery(n, k)
	at := func(i int) int64 { return 1_796_074_200_000_000_000 + int64(i)*1_000_003 }
	bits := make([]byte, (n+7)/8)
	for i := range n {
		if i%3 == 0 {
			bits[i>>3] |= 1 << (i & 7)
		}
	}
	attr := func(kind column.Kind, key string, c column.Column) column.Column {
		c.Level, c.Kind, c.Key = column.LevelRecord, kind, key
		return c
	}
	return []column.Column{
		ints("time_unix_nano", column.Time, nil, counting(n, at)...),
		attr(column.KindBool, "ok", column.Column{Name: "attributes.ok", Type: column.Bool, Len: n, Valid: valid, Bits: bits}),
		attr(column.KindInt, "", ints("attributes.", column.Int, valid, counting(n, func(i int) int64 { return int64(i%200 - 100) })...)),
		thin(ints("severity_number", column.Int, valid, counting(n, func(i int) int64 { return math.MinInt32 + int64(i) })...)),
		thin(ints("flags", column.Uint, valid, counting(n, func(i int) int64 { return math.MaxUint32 - int64(i) })...)),
		ints("big", column.Int, valid, counting(n, func(i int) int64 { return math.MinInt64 + int64(i) })...),
		ints("count", column.Uint, valid, counting(n, func(i int) int64 { return -1 - int64(i) })...),
		attr(column.KindDouble, "load", column.Column{Name: "attributes.load", Type: column.Double, Len: n, Valid: valid, Floats: counting(n, func(i int) float64 {
			return []float64{math.Inf(1), math.NaN(), math.Copysign(0, -1), float64(i) / 3}[i%4]
		})}),
		texts("body", column.String, valid, counting(n, func(i int) string { return fmt.Sprintf("request %d took a while ✓", i) })...),
		texts("body.any", column.Bytes, valid, counting(n, func(i int) string { return string([]byte{byte(i), 0xFF, 0}[:i%4%3]) })...),
		{Name: "span_id", Level: column.LevelRecord, Type: column.Fixed, Width: 8, Len: n, Valid: valid, Data: random(8 * n)},
		attr(column.KindString, "service.name", coded("resource.attributes.service.name", column.String, n, 3, valid)),
		coded("overflow", column.Bytes, n, 300, valid),
	}
}

// random returns n bytes, always the same.
func random(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	return counting(n, func(int) byte { return byte(r.Uint32()) })
}

// lists returns a List of n values, value i of which has i%4 elements, from what elem makes.
func lists(name string, n, k int, elem func(n int) column.Column) column.Column {
	c := column.Column{Name: name, Type: column.List, Len: n, Valid: nullEvery(n, k), Offsets: []int32{0}}
	total := 0
	for i := range n {
		if !c.Null(i) {
			total += i % 4
		}
		c.Offsets = append(c.Offsets, int32(total))
	}
	e := elem(total)
	c.Elem = &e
	return c
}

// nestedColumns returns columns of lists and structs, like events and buckets.
func nestedColumns(n, k int) []column.Column {
	structs := func(kids func(n int) []column.Column) func(n int) column.Column {
		return func(n int) column.Column {
			return column.Column{Type: column.Struct, Len: n, Valid: nullEvery(n, k), Fields: kids(n)}
		}
	}
	events := structs(func(n int) []column.Column {
		return append(plainColumns(n, k), lists("attributes", n, k, structs(func(n int) []column.Column { return plainColumns(n, k) })))
	})
	buckets := func(n int) column.Column {
		return ints("", column.Uint, nil, counting(n, func(i int) int64 { return int64(i) })...)
	}
	empty := func(n int) column.Column { return column.Column{Name: "nothing", Type: column.Struct, Len: n} }
	return []column.Column{lists("events", n, k, events), lists("bucket_counts", n, k, buckets), lists("hollow", n, k, empty)}
}

// everyType returns a table with columns of every type; every k-th value is null.
func everyType(n, k int) *column.Table {
	return &column.Table{Rows: n, Columns: append(plainColumns(n, k), nestedColumns(n, k)...)}
}

// sameTable fails the test when the rows from.. of want are not the rows of got.
func sameTable(t *testing.T, got, want *column.Table, from int) {
	t.Helper()
	if len(got.Columns) != len(want.Columns) {
		t.Fatalf("got %d columns, want %d", len(got.Columns), len(want.Columns))
	}
	for i := range got.Columns {
		g, w := &got.Columns[i], &want.Columns[i]
		sameSchema(t, g, w)
		for row := range got.Rows {
			if a, b := text(g, row), text(w, from+row); a != b {
				t.Fatalf("%s, row %d: got %s, want %s", w.Name, from+row, a, b)
			}
		}
	}
}

// sameSchema fails the test when two columns are not called the same.
func sameSchema(t *testing.T, g, w *column.Column) {
	t.Helper()
	name, width := fieldName(w), w.Width
	if width == 0 && (w.Type == column.Int || w.Type == column.Uint) {
		width = 8
	}
	if g.Name != name || g.Level != w.Level || g.Kind != w.Kind || g.Key != w.Key || g.Type != w.Type || g.Width != width {
		t.Fatalf("got column %+v, want %+v", *g, *w)
	}
	if w.Type == column.List {
		sameSchema(t, g.Elem, w.Elem)
	}
	if len(g.Fields) != len(w.Fields) {
		t.Fatalf("%s: got %d fields, want %d", w.Name, len(g.Fields), len(w.Fields))
	}
	for i := range w.Fields {
		sameSchema(t, &g.Fields[i], &w.Fields[i])
	}
}

// text shows a value so that two are equal when they look equal.
func text(c *column.Column, i int) string {
	if c.Null(i) {
		return "null"
	}
	switch c.Type {
	case column.Bool:
		return fmt.Sprint(c.Bool(i))
	case column.Int, column.Uint, column.Time:
		return fmt.Sprint(c.Ints[i])
	case column.Double:
		return fmt.Sprintf("%x", math.Float64bits(c.Floats[i]))
	case column.List:
		s := "["
		for j := c.Offsets[i]; j < c.Offsets[i+1]; j++ {
			s += text(c.Elem, int(j)) + " "
		}
		return s + "]"
	case column.Struct:
		s := "{"
		for j := range c.Fields {
			s += text(&c.Fields[j], i) + " "
		}
		return s + "}"
	}
	return fmt.Sprintf("%q", c.Bytes(i))
}
