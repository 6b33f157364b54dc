package block

import (
	"fmt"
	"math"

	"mira/storage/column"
)

// A field is one Arrow field: a column or a part of one, and the form of its values in a file.
type field struct {
	col   *column.Column // writing: with its values; reading: without
	width int            // bytes of an integer in the file, or of an index into the dictionary
	dict  bool           // its values are indices into a dictionary of its own
	id    int            // reading: which one
	kids  []field        // a List has one, a Struct any number
}

// maxDepth is how deep fields may be nested. A Builder stays far below it.
const maxDepth = 16

// Metadata keys. Those of a field are left out when the value is the zero one.
const (
	keyFormat = "mira.format" // of the schema
	keyBlock  = "mira.block"
	keyLevel  = "mira.level" // of a field
	keyKind   = "mira.kind"
	keyKey    = "mira.key"

	formatNow = "1"
)

// The words for levels and kinds in the metadata of a field.
var (
	levelWords = [...]string{
		column.LevelNone: "", column.LevelRecord: "record", column.LevelScope: "scope",
		column.LevelResource: "resource", column.LevelMetric: "metric",
	}
	kindWords = [...]string{
		column.KindField: "", column.KindString: "string", column.KindBool: "bool",
		column.KindInt: "int", column.KindDouble: "double", column.KindBytes: "bytes",
		column.KindAny: "any", column.KindOverflow: "overflow",
	}
)

// nodes returns how many Arrow field nodes the field and all below it have.
func (f *field) nodes() int {
	n := 1
	for i := range f.kids {
		n += f.kids[i].nodes()
	}
	return n
}

// buffers returns how many Arrow buffers the field and all below it have.
func (f *field) buffers() int {
	n := 2 // validity and values
	switch f.col.Type {
	case column.Struct:
		n = 1
	case column.String, column.Bytes:
		if !f.dict {
			n = 3
		}
	}
	for i := range f.kids {
		n += f.kids[i].buffers()
	}
	return n
}

// dictionaries appends the dictionary-encoded fields among fields and all below them, in the
// order of the schema: the place in this list is the id of the dictionary.
func dictionaries(dst []*field, fields []field) []*field {
	for i := range fields {
		if fields[i].dict {
			dst = append(dst, &fields[i])
		}
		dst = dictionaries(dst, fields[i].kids)
	}
	return dst
}

// plan checks that the parts of every column fit each other and chooses their form on disk.
func plan(t *column.Table) ([]field, error) {
	fields := make([]field, len(t.Columns))
	taken := make(map[string]bool, len(t.Columns))
	for i := range t.Columns {
		c := &t.Columns[i]
		if taken[c.Name] {
			return nil, fmt.Errorf("two columns named %q", c.Name)
		}
		taken[c.Name] = true
		var err error
		if fields[i], err = planColumn(c, t.Rows, 1); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

// planColumn plans a column of n values and what is below it.
func planColumn(c *column.Column, n, depth int) (field, error) {
	f := field{col: c}
	if err := checkColumn(c, n); err != nil {
		return f, err
	}
	if depth > maxDepth {
		return f, fmt.Errorf("column %q is nested too deeply", c.Name)
	}
	switch c.Type {
	case column.Int, column.Uint, column.Time:
		f.width = integerWidth(c)
	case column.String, column.Bytes:
		if c.Index != nil {
			f.dict, f.width = true, widthIndex(c.Dict.Len())
		}
	}
	return f, f.planKids(n, depth)
}

// planKids plans the parts of a List or a Struct.
func (f *field) planKids(n, depth int) error {
	c := f.col
	parts, rows := c.Fields, n
	if c.Type == column.List {
		parts, rows = []column.Column{*c.Elem}, c.Elem.Len
	} else if c.Type != column.Struct {
		return nil
	}
	f.kids = make([]field, len(parts))
	for i := range parts {
		var err error
		if f.kids[i], err = planColumn(&parts[i], rows, depth+1); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

// checkColumn says where a column is not what column.Column promises. A wrong table is a bug
// of ours; an error keeps its records in the log, a panic would stop those of all others too.
func checkColumn(c *column.Column, n int) error {
	bad := func(what string, have int) error {
		return fmt.Errorf("column %q of %d values has %d %s", c.Name, n, have, what)
	}
	bytes := (n + 7) / 8
	switch {
	case c.Len != n:
		return bad("values by its own account", c.Len)
	case c.Valid != nil && len(c.Valid) < bytes:
		return bad("bytes of validity", len(c.Valid))
	}
	switch c.Type {
	case column.Bool:
		if len(c.Bits) < bytes {
			return bad("bytes of bits", len(c.Bits))
		}
	case column.Int, column.Uint, column.Time:
		return checkIntegers(c, n, bad)
	case column.Double:
		if len(c.Floats) < n {
			return bad("floats", len(c.Floats))
		}
	case column.Fixed:
		if c.Width < 1 || len(c.Data)/c.Width < n {
			return bad(fmt.Sprintf("bytes of width %d", c.Width), len(c.Data))
		}
	case column.String, column.Bytes:
		return checkVariable(c, n, bad)
	case column.List:
		if c.Elem == nil || !spans(c.Offsets, n, c.Elem.Len) {
			return bad("offsets that do not fit its elements", len(c.Offsets))
		}
	case column.Struct:
	default:
		return bad("as its type", int(c.Type))
	}
	return nil
}

// checkVariable is checkColumn for String and Bytes.
func checkVariable(c *column.Column, n int, bad func(string, int) error) error {
	switch {
	case c.Index == nil && !spans(c.Offsets, n, len(c.Data)):
		return bad("offsets that do not fit its data", len(c.Offsets))
	case c.Index != nil && len(c.Index) < n:
		return bad("indices", len(c.Index))
	case c.Index != nil && (c.Dict == nil || len(c.Dict.Offsets) == 0):
		return bad("indices and no dictionary", len(c.Index))
	case c.Index != nil && !spans(c.Dict.Offsets, c.Dict.Len(), len(c.Dict.Data)):
		return bad("dictionary offsets that do not fit its data", len(c.Dict.Offsets))
	}
	return nil
}

// spans reports whether the ends of n+1 offsets lie within size. Those between are trusted.
func spans(offsets []int32, n, size int) bool {
	return len(offsets) > n && offsets[0] >= 0 && offsets[0] <= offsets[n] && int(offsets[n]) <= size
}

// integerWidth returns the bytes of a value of an Int, Uint or Time column. They do not depend on
// the values: a program that reads many blocks as one table takes the schema of one for all.
func integerWidth(c *column.Column) int {
	if c.Type == column.Time || c.Width == 0 {
		return 8
	}
	return c.Width
}

// checkIntegers is checkColumn for Int, Uint and Time.
func checkIntegers(c *column.Column, n int, bad func(string, int) error) error {
	switch width := integerWidth(c); {
	case len(c.Ints) < n:
		return bad("integers", len(c.Ints))
	case width != 4 && width != 8:
		return bad("bytes of width", width)
	case width == 4 && !fit(c.Ints[:n], c.Type == column.Int):
		return fmt.Errorf("column %q has a value of more than 4 bytes", c.Name)
	}
	return nil
}

// fit reports whether 4 bytes hold every value.
func fit(v []int64, signed bool) bool {
	var lost int64 // bits that would not come back
	if signed {
		for _, x := range v {
			lost |= x ^ int64(int32(x))
		}
		return lost == 0
	}
	for _, x := range v {
		lost |= x
	}
	return uint64(lost) <= math.MaxUint32
}

// widthIndex returns the bytes of the smallest signed index into n entries.
func widthIndex(n int) int {
	switch {
	case n <= math.MaxInt8+1:
		return 1
	case n <= math.MaxInt16+1:
		return 2
	}
	return 4
}
