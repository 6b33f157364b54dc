package column

// A Table is what a block holds, in memory: one row per record, one Column per field or
// attribute. A Builder makes one, block.Write puts it on disk, block.Open brings it back (one
// Table per row group), and a query reads it, no matter where it came from.
//
// A Table is immutable. Its slices may be shared with a Builder that goes on appending behind
// their end; nobody writes to them.
type Table struct {
	Rows    int
	Columns []Column // in the order of the schema; names are unique
}

// Type is the logical type of a column's values.
type Type uint8

// The types and their Arrow form. Integers are int64 in memory. On disk they are as wide as OTLP
// has them, whatever their values: who reads several files as one table wants them alike.
const (
	Bool   Type = iota + 1 // Arrow bool; Bits
	Int                    // Arrow int32 or int64, by Width; Ints
	Uint                   // Arrow uint32 or uint64, by Width; Ints, bit for bit
	Time                   // Arrow timestamp[ns, UTC]; Ints, OTLP fixed64 nanoseconds bit for bit
	Double                 // Arrow float64; Floats
	String                 // Arrow utf8, or dictionary<int8..int32, utf8>; always valid UTF-8
	Bytes                  // Arrow binary, or dictionary<int8..int32, binary>
	Fixed                  // Arrow fixed_size_binary[Width]; Data
	List                   // Arrow list; Offsets into Elem
	Struct                 // Arrow struct; Fields
)

// Level says which OTLP message a column's value belongs to.
type Level uint8

// The levels. A column of LevelNone is mira's own and not part of the OTLP data.
const (
	LevelNone     Level = iota
	LevelRecord         // LogRecord, Span, or data point
	LevelScope          // InstrumentationScope, and the schema_url beside it
	LevelResource       // Resource, and the schema_url beside it
	LevelMetric         // Metric
)

// Kind says how a column's values become OTLP again.
type Kind uint8

// The kinds.
const (
	KindField    Kind = iota // a fixed field, named by Column.Name
	KindString               // attribute Key with a string_value; Type String
	KindBool                 // attribute Key with a bool_value; Type Bool
	KindInt                  // attribute Key with an int_value; Type Int
	KindDouble               // attribute Key with a double_value; Type Double
	KindBytes                // attribute Key with a bytes_value; Type Bytes
	KindAny                  // attribute Key with any other value (array, kvlist, none): the AnyValue message, protobuf; Type Bytes
	KindOverflow             // fields that no column took, as protobuf fields of the Level's message; Type Bytes
)

// Column is one column of a Table. Which of the slices below hold its values follows from Type.
// A null value has a zero (or repeated offset) in them.
type Column struct {
	Name  string // the Arrow field name, such as "body" or "resource.attributes.service.name"
	Level Level
	Kind  Kind
	Key   string // the attribute's key; "" for KindField and KindOverflow

	Type  Type
	Width int    // Fixed: bytes per value; Int, Uint: bytes per value in a file, 4 or 8, and 0 means 8
	Len   int    // values, nulls included
	Valid []byte // Arrow validity bitmap, least significant bit first; nil: no nulls

	Ints    []int64   // Int, Uint, Time
	Floats  []float64 // Double
	Bits    []byte    // Bool: bitmap
	Offsets []int32   // String, Bytes, List: Len+1 positions in Data or Elem; nil when Index is used
	Data    []byte    // String, Bytes: values back to back; Fixed: Len*Width bytes
	Index   []int32   // String, Bytes, dictionary-encoded: Len positions in Dict; nil when plain
	Dict    *Dict
	Elem    *Column  // List: the elements
	Fields  []Column // Struct: the members, each of Len values
}

// Dict is the distinct values of a dictionary-encoded column, in the order of first use.
type Dict struct {
	Offsets []int32 // Len()+1 positions in Data
	Data    []byte
}

// Len returns the number of entries.
func (d *Dict) Len() int { return len(d.Offsets) - 1 }

// At returns entry i. The slice is shared.
func (d *Dict) At(i int32) []byte { return d.Data[d.Offsets[i]:d.Offsets[i+1]] }

// Null reports whether value i is null.
func (c *Column) Null(i int) bool {
	return c.Valid != nil && c.Valid[i>>3]&(1<<(i&7)) == 0
}

// Bytes returns value i of a String, Bytes or Fixed column. The slice is shared.
func (c *Column) Bytes(i int) []byte {
	switch {
	case c.Type == Fixed:
		return c.Data[i*c.Width : (i+1)*c.Width]
	case c.Index != nil:
		return c.Dict.At(c.Index[i])
	default:
		return c.Data[c.Offsets[i]:c.Offsets[i+1]]
	}
}

// Bool returns value i of a Bool column.
func (c *Column) Bool(i int) bool { return c.Bits[i>>3]&(1<<(i&7)) != 0 }

// Column returns the column of that name, or nil.
func (t *Table) Column(name string) *Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}
