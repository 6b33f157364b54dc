package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"mira/storage/column"
)

// What parsing finds wrong, without the place, which the caller knows.
var (
	errFlat   = errors.New("metadata is cut or tangled")
	errSchema = errors.New("schema is not one of a block")
	errBatch  = errors.New("row group does not fit the schema")
)

// footer is what the end of a file tells.
type footer struct {
	format, block  string
	columns        []column.Column
	fields         []field // of columns
	dicts          []*field
	dictAt, groups []message
}

// parseFooter reads a Footer table.
func parseFooter(b []byte) (*footer, error) {
	f := newFlat(b)
	root := f.root()
	schema, _ := root.table(1)
	var t footer
	pairs(schema, 2, map[string]*string{keyFormat: &t.format, keyBlock: &t.block})
	switch {
	case f.bad:
		return nil, errFlat
	case t.format != "" && t.format != formatNow:
		return nil, fmt.Errorf("%w: %q", ErrFormat, t.format)
	case t.format == "" || root.i16(0) != metadataV5 || schema.i16(0) != 0:
		return nil, errSchema
	}
	if err := t.schema(schema); err != nil {
		return nil, err
	}
	t.dictAt, t.groups = messages(root, 2), messages(root, 3)
	if f.bad || len(t.dictAt) != len(t.dicts) {
		return nil, errFlat
	}
	return &t, nil
}

// schema reads the fields of a Schema table.
func (t *footer) schema(schema table) error {
	taken := map[string]bool{}
	for _, ft := range schema.tables(1) {
		f, err := parseField(ft, 1)
		if err != nil {
			return err
		}
		if taken[f.col.Name] {
			return fmt.Errorf("%w: two columns %q", errSchema, f.col.Name)
		}
		taken[f.col.Name] = true
		t.fields = append(t.fields, f)
	}
	if schema.f.bad {
		return errFlat
	}
	t.columns = gather(t.fields)
	t.dicts = dictionaries(nil, t.fields)
	for i, f := range t.dicts {
		if f.id != i {
			return fmt.Errorf("%w: dictionary %d of %q", errSchema, f.id, f.col.Name)
		}
	}
	return nil
}

// gather puts the columns of fields side by side, where they stay.
func gather(fields []field) []column.Column {
	columns := make([]column.Column, len(fields))
	for i := range fields {
		columns[i] = *fields[i].col
		fields[i].col = &columns[i]
	}
	return columns
}

// pairs finds the values of some keys in a vector of KeyValue tables.
func pairs(t table, slot int, want map[string]*string) {
	for _, kv := range t.tables(slot) {
		if value := want[kv.text(0)]; value != nil {
			*value = kv.text(1)
		}
	}
}

// messages reads a vector of Block structs.
func messages(t table, slot int) []message {
	at, n := t.vector(slot, blockSize)
	list := make([]message, n)
	for i := range list {
		b := at + i*blockSize
		list[i] = message{at: int64(t.f.u64(b)), meta: int64(int32(t.f.u32(b + 8))), body: int64(t.f.u64(b + 16))}
	}
	return list
}

// parseField reads a Field table.
func parseField(t table, depth int) (field, error) {
	c := &column.Column{Name: t.text(0)}
	f := field{col: c}
	var level, kind string
	pairs(t, 6, map[string]*string{keyLevel: &level, keyKind: &kind, keyKey: &c.Key})
	l, ok1 := word(levelWords[:], level)
	k, ok2 := word(kindWords[:], kind)
	c.Level, c.Kind = column.Level(l), column.Kind(k)
	if t.f.bad {
		return f, errFlat
	}
	if !ok1 || !ok2 || depth > maxDepth || !f.parseType(t) || !f.parseDictionary(t) {
		return f, fmt.Errorf("%w: column %q", errSchema, c.Name)
	}
	for _, kt := range t.tables(5) {
		kid, err := parseField(kt, depth+1)
		if err != nil {
			return f, err
		}
		f.kids = append(f.kids, kid)
	}
	return f, f.adopt()
}

// adopt makes the fields below f the parts of its column.
func (f *field) adopt() error {
	parts := gather(f.kids)
	switch {
	case f.col.Type == column.Struct:
		f.col.Fields = parts
	case f.col.Type == column.List && len(parts) == 1:
		f.col.Elem = &parts[0]
	case f.col.Type == column.List || len(parts) > 0:
		return fmt.Errorf("%w: column %q has %d parts", errSchema, f.col.Name, len(parts))
	}
	return nil
}

// word returns the place of a word in a list.
func word(list []string, w string) (int, bool) {
	for i := range list {
		if list[i] == w {
			return i, true
		}
	}
	return 0, false
}

// parseType reads the member of the Type union.
func (f *field) parseType(t table) bool {
	kind, ok := t.table(3)
	c := f.col
	switch code := t.u8(2); code {
	case typeInt:
		if c.Type = column.Uint; kind.bool(1) {
			c.Type = column.Int
		}
		f.width = intWidth(kind)
		c.Width = f.width
		return ok && (f.width == 4 || f.width == 8)
	case typeTimestamp:
		c.Type, f.width = column.Time, 8
		return ok && kind.i16(0) == unitNanosecond && kind.text(1) == "UTC"
	case typeFloat:
		c.Type = column.Double
		return ok && kind.i16(0) == precisionDouble
	case typeFixed:
		c.Type, c.Width = column.Fixed, int(kind.i32(0))
		return ok && c.Width > 0
	default:
		for p, plain := range plainTypes {
			if plain == code && code != 0 {
				c.Type = column.Type(p)
				return ok
			}
		}
		return false
	}
}

// parseDictionary reads the DictionaryEncoding table, if there is one.
func (f *field) parseDictionary(t table) bool {
	enc, ok := t.table(4)
	if !ok {
		return true
	}
	index, ok := enc.table(1)
	f.dict, f.id, f.width = true, int(enc.i64(0)), intWidth(index)
	text := f.col.Type == column.String || f.col.Type == column.Bytes
	return ok && text && index.bool(1) && f.width != 0 && f.width != 8
}

// intWidth returns the bytes of an Int table, 0 if it is none.
func intWidth(t table) int {
	switch n := t.i32(0); n {
	case 8, 16, 32, 64:
		return int(n / 8)
	}
	return 0
}

// batch is a RecordBatch: where the parts of a body are.
type batch struct {
	rows    int
	nodes   []node
	buffers []span
}

// parseMessage reads the metadata of a message whose body is known to have a size.
func parseMessage(b []byte, code uint8, body int64) (header table, err error) {
	if len(b) < 16 || binary.LittleEndian.Uint32(b) != continuation ||
		int64(binary.LittleEndian.Uint32(b[4:])) != int64(len(b)-8) {
		return table{}, errFlat
	}
	root := newFlat(b[8:]).root()
	header, ok := root.table(2)
	if root.f.bad || !ok || root.i16(0) != metadataV5 || root.u8(1) != code || root.i64(3) != body {
		return table{}, errFlat
	}
	return header, nil
}

// parseBatch reads a RecordBatch table that should have so many nodes and buffers, and sees to
// it that the buffers lie in the body one after the other.
func parseBatch(t table, nodes, buffers int, body int64) (batch, error) {
	squeezed, ok := t.table(3)
	na, nn := t.vector(1, nodeSize)
	ba, bn := t.vector(2, bufferSize)
	rows := t.i64(0)
	if t.f.bad || !ok || squeezed.u8(0) != codecZstd || squeezed.u8(1) != 0 ||
		nn != nodes || bn != buffers || rows < 0 || rows > math.MaxInt32 {
		return batch{}, errBatch
	}
	b := batch{rows: int(rows), nodes: make([]node, nn), buffers: make([]span, bn)}
	for i := range b.nodes {
		at := na + i*nodeSize
		n := node{rows: int64(t.f.u64(at)), nulls: int64(t.f.u64(at + 8))}
		if n.rows < 0 || n.rows > math.MaxInt32 || n.nulls < 0 || n.nulls > n.rows {
			return batch{}, errBatch
		}
		b.nodes[i] = n
	}
	var end int64
	for i := range b.buffers {
		at := ba + i*bufferSize
		s := span{at: int64(t.f.u64(at)), size: int64(t.f.u64(at + 8))}
		if s.at < end || s.at > body || s.size < 0 || s.size > body-s.at {
			return batch{}, errBatch
		}
		end = s.at + s.size
		b.buffers[i] = s
	}
	return b, nil
}
