package block

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"mira/storage/column"
)

// encode returns the bytes of a block.
func encode(t testing.TB, table *column.Table, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := Encode(&b, testID, table, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArrowReadsEveryType(t *testing.T) {
	for _, n := range []int{0, 1, 64, 65, 1000} {
		for _, k := range []int{0, 1, 3} {
			t.Run(fmt.Sprintf("%d rows, %d null", n, k), func(t *testing.T) {
				arrowReads(t, everyType(n, k), Options{GroupRows: 128})
			})
		}
	}
}

func TestArrowReadsDictionariesOfEverySize(t *testing.T) {
	for entries, width := range map[int]string{
		1: "int8", 127: "int8", 128: "int8", 129: "int16", 32768: "int16", 32769: "int32", 40000: "int32",
	} {
		t.Run(fmt.Sprint(entries), func(t *testing.T) {
			table := &column.Table{Rows: 300, Columns: []column.Column{
				coded("s", column.String, 300, entries, nullEvery(300, 4)),
				coded("b", column.Bytes, 300, entries, nil),
			}}
			schema := arrowReads(t, table, Options{GroupRows: 64})
			for _, f := range schema.Fields() {
				if got := f.Type.(*arrow.DictionaryType).IndexType.Name(); got != width {
					t.Errorf("indices of %s are %s, want %s", f.Name, got, width)
				}
			}
			roundTrip(t, table, Options{GroupRows: 64})
		})
	}
}

func TestDictionaryWithoutEntries(t *testing.T) {
	table := &column.Table{Rows: 10, Columns: []column.Column{coded("s", column.String, 10, 0, nullEvery(10, 1))}}
	roundTrip(t, table, Options{})
	arrowReads(t, table, Options{})
}

func TestWidthOfIntegersDoesNotDependOnValues(t *testing.T) {
	f := func(typ column.Type, width int, want string, v ...int64) {
		t.Helper()
		c := ints("n", typ, nil, v...)
		c.Width = width
		table := &column.Table{Rows: len(v), Columns: []column.Column{c}}
		roundTrip(t, table, Options{})
		schema := arrowReads(t, table, Options{})
		if got := schema.Field(0).Type.Name(); got != want {
			t.Errorf("%v of width %d is %s, want %s", v, width, got, want)
		}
	}
	f(column.Int, 4, "int32")
	f(column.Int, 4, "int32", 0)
	f(column.Int, 4, "int32", math.MinInt32, -1, math.MaxInt32)
	f(column.Int, 8, "int64", 0)
	f(column.Int, 8, "int64", math.MinInt64, -1, math.MaxInt64)
	f(column.Int, 0, "int64", 1)
	f(column.Uint, 4, "uint32", 0)
	f(column.Uint, 4, "uint32", 1<<31, math.MaxUint32)
	f(column.Uint, 8, "uint64", 0)
	f(column.Uint, 8, "uint64", math.MaxInt64, -1)
	f(column.Uint, 0, "uint64", 1)
	f(column.Time, 0, "timestamp", 0)
	f(column.Time, 0, "timestamp", 1, -1)
}

// arrowReads fails the test when arrow-go does not see the table in its block.
func arrowReads(t *testing.T, table *column.Table, o Options) *arrow.Schema {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	r, err := ipc.NewFileReader(bytes.NewReader(encode(t, table, o)), ipc.WithAllocator(mem))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	meta := r.Schema().Metadata()
	if v, _ := meta.GetValue(keyFormat); v != "1" {
		t.Errorf("format is %q", v)
	}
	if v, _ := meta.GetValue(keyBlock); v != testID.String() {
		t.Errorf("block is %q", v)
	}
	from := 0
	for i := range r.NumRecords() {
		rec, err := r.RecordBatchAt(i)
		if err != nil {
			t.Fatal(err)
		}
		for j := range table.Columns {
			c := &table.Columns[j]
			sameField(t, r.Schema().Field(j), c)
			for row := range int(rec.NumRows()) {
				if got, want := arrowText(rec.Column(j), row), text(c, from+row); got != want {
					t.Fatalf("%s, row %d: arrow reads %s, want %s", c.Name, from+row, got, want)
				}
			}
		}
		from += int(rec.NumRows())
		rec.Release()
	}
	if from != table.Rows {
		t.Fatalf("arrow reads %d rows, want %d", from, table.Rows)
	}
	return r.Schema()
}

// sameField fails the test when arrow-go does not see what a column is.
func sameField(t *testing.T, f arrow.Field, c *column.Column) {
	t.Helper()
	level, _ := f.Metadata.GetValue(keyLevel)
	kind, _ := f.Metadata.GetValue(keyKind)
	key, _ := f.Metadata.GetValue(keyKey)
	if f.Name != c.Name || !f.Nullable || level != levelWords[c.Level] || kind != kindWords[c.Kind] || key != c.Key {
		t.Fatalf("arrow reads the field %v for %q", f, c.Name)
	}
	if ts, ok := f.Type.(*arrow.TimestampType); ok && (ts.Unit != arrow.Nanosecond || ts.TimeZone != "UTC") {
		t.Fatalf("arrow reads times in %v", ts)
	}
}

// arrowText is text for arrow-go.
func arrowText(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "null"
	}
	switch a := a.(type) {
	case *array.Boolean:
		return fmt.Sprint(a.Value(i))
	case *array.Int32, *array.Int64, *array.Uint32:
		return a.ValueStr(i)
	case *array.Uint64:
		return fmt.Sprint(int64(a.Value(i)))
	case *array.Timestamp:
		return fmt.Sprint(int64(a.Value(i)))
	case *array.Float64:
		return fmt.Sprintf("%x", math.Float64bits(a.Value(i)))
	case *array.String:
		return fmt.Sprintf("%q", a.Value(i))
	case *array.Binary:
		return fmt.Sprintf("%q", a.Value(i))
	case *array.FixedSizeBinary:
		return fmt.Sprintf("%q", a.Value(i))
	case *array.Dictionary:
		return arrowText(a.Dictionary(), a.GetValueIndex(i))
	case *array.List:
		s := "["
		for j, end := a.ValueOffsets(i); j < end; j++ {
			s += arrowText(a.ListValues(), int(j)) + " "
		}
		return s + "]"
	case *array.Struct:
		s := "{"
		for j := range a.NumField() {
			s += arrowText(a.Field(j), i) + " "
		}
		return s + "}"
	}
	return "unexpected " + a.DataType().String()
}
