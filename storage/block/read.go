package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"mira/storage/column"
)

// Every dictionary has one sum for its metadata and one for each of its buffers: validity,
// offsets, data.
const (
	dictionaryBuffers = 3
	dictionarySums    = 1 + dictionaryBuffers
)

// Group reads the wanted columns of row group i; a nil want wants all. The Table has them in the
// order of the schema. The *Dict of a column is the same in every Table of a Reader.
func (r *Reader) Group(i int, want func(*column.Column) bool) (*column.Table, error) {
	g := &r.groups[i]
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)

	t := &column.Table{Rows: g.rows}
	for from := 0; from < len(r.foot.fields); {
		to := from
		for to < len(r.foot.fields) && (want == nil || want(&r.foot.columns[to])) {
			to++
		}
		if to > from {
			if err := d.columns(r, g, from, to, t); err != nil {
				return nil, err
			}
		}
		from = to + 1 // which is not wanted
	}
	return t, nil
}

// dictionary returns dictionary i, from the file if it is the first time.
func (r *Reader) dictionary(i int) (*column.Dict, error) {
	dict := &r.dicts[i]
	dict.mu.Lock()
	defer dict.mu.Unlock()
	if dict.values != nil {
		return dict.values, nil
	}
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	values, err := d.dictionary(r, i, dict.message)
	dict.values = values
	return values, err
}

// A decoder turns the buffers of a message into columns. After an error it has nothing to say
// but that.
type decoder struct {
	file []byte // the part of the body that was read
	raw  []byte // one buffer, inflated

	r    *Reader
	err  error
	b    *batch
	body int64 // where the body is in the file
	from int64 // where the part that was read is in the body
	sums int   // the first sum of a buffer
	next place
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// columns reads the columns from..to of a row group with one read.
func (d *decoder) columns(r *Reader, g *group, from, to int, t *column.Table) error {
	*d = decoder{
		file: d.file, raw: d.raw,
		r: r, b: &g.batch, body: g.at + g.meta, sums: g.sum + 1, next: r.first[from],
	}
	defer d.forget()
	first, last := g.buffers[d.next.buffer], g.buffers[r.first[to].buffer-1]
	d.from = first.at
	b, err := r.read(d.file, d.body+first.at, last.at+last.size-first.at)
	if err != nil {
		return err
	}
	d.file = b
	for i := from; i < to && d.err == nil; i++ {
		t.Columns = append(t.Columns, d.column(&r.foot.fields[i], g.rows))
	}
	return d.err
}

// forget lets go of what belongs to a Reader.
func (d *decoder) forget() { d.r, d.b = nil, nil }

// dictionary reads dictionary i.
func (d *decoder) dictionary(r *Reader, i int, m message) (*column.Dict, error) {
	b, err := r.read(d.file, m.at, m.meta+m.body)
	if err != nil {
		return nil, err
	}
	sum := i * dictionarySums
	*d = decoder{file: b, raw: d.raw, r: r, body: m.at + m.meta, sums: sum + 1}
	defer d.forget()
	if err := checkSum(r.sums, sum, b[:m.meta]); err != nil {
		return nil, r.corrupt(m.at, err)
	}
	t, err := parseMessage(b[:m.meta], headerDictionary, m.body)
	if err != nil {
		return nil, r.corrupt(m.at, err)
	}
	data, _ := t.table(1)
	parts, err := parseBatch(data, 1, dictionaryBuffers, m.body)
	if err != nil || t.i64(0) != int64(i) || t.bool(2) {
		return nil, r.corrupt(m.at, fmt.Errorf("dictionary %d is not what the schema says", i))
	}
	d.b, d.from, d.file = &parts, 0, b[m.meta:]
	defer func() { d.file = b }()
	if valid := d.node(parts.rows); valid != nil {
		d.fail(errors.New("dictionary has nulls"))
	}
	offsets := d.offsets(parts.rows)
	values := d.data(offsets)
	if d.err != nil {
		return nil, d.err
	}
	return &column.Dict{Offsets: offsets, Data: values}, nil
}

// fail keeps the first error, about the buffer taken last.
func (d *decoder) fail(err error) {
	if d.err == nil {
		at := d.body
		if d.next.buffer > 0 {
			at += d.b.buffers[d.next.buffer-1].at
		}
		d.err = d.r.corrupt(at, err)
	}
}

// column reads the n values of a column.
func (d *decoder) column(f *field, n int) column.Column {
	c := *f.col
	c.Len, c.Valid = n, d.node(n)
	switch c.Type {
	case column.Bool:
		c.Bits = d.bytes((n + 7) / 8)
	case column.Int, column.Time:
		c.Ints = widen(d.take(n*f.width), n, f.width, true)
	case column.Uint:
		c.Ints = widen(d.take(n*f.width), n, f.width, false)
	case column.Double:
		c.Floats = floats(d.take(8 * n))
	case column.Fixed:
		c.Data = d.bytes(n * c.Width)
	case column.String, column.Bytes:
		if f.dict {
			d.indices(f, &c)
			break
		}
		c.Offsets = d.offsets(n)
		c.Data = d.data(c.Offsets)
	case column.List:
		c.Offsets = d.offsets(n)
		if d.err == nil {
			elem := d.column(&f.kids[0], int(c.Offsets[n]))
			c.Elem = &elem
		}
	case column.Struct:
		c.Fields = make([]column.Column, len(f.kids))
		for i := range f.kids {
			if d.err == nil {
				c.Fields[i] = d.column(&f.kids[i], n)
			}
		}
	}
	return c
}

// node takes a field node, which must be of n values, and returns the validity of the values.
func (d *decoder) node(n int) []byte {
	if d.err != nil {
		return nil
	}
	want := d.b.nodes[d.next.node]
	d.next.node++
	if want.rows != int64(n) {
		d.fail(fmt.Errorf("%d values, want %d", want.rows, n))
		return nil
	}
	if d.b.buffers[d.next.buffer].size == 0 && want.nulls == 0 {
		d.next.buffer++
		return nil
	}
	valid := d.bytes((n + 7) / 8)
	if d.err == nil && (n-ones(valid) != int(want.nulls) || (n&7 != 0 && valid[n>>3]>>(n&7) != 0)) {
		d.fail(errors.New("nulls do not add up"))
	}
	return valid
}

// offsets takes the offsets of n values: from 0 on, never downwards.
func (d *decoder) offsets(n int) []int32 {
	raw := d.take(4 * (n + 1))
	if d.err != nil {
		return nil
	}
	offsets := make([]int32, n+1)
	var last int32
	for i := range offsets {
		o := int32(binary.LittleEndian.Uint32(raw[4*i:]))
		if o < last || (i == 0 && o != 0) {
			d.fail(errors.New("offsets out of order"))
			return nil
		}
		offsets[i], last = o, o
	}
	return offsets
}

// data takes the bytes that offsets point to.
func (d *decoder) data(offsets []int32) []byte {
	if d.err != nil {
		return nil
	}
	return d.bytes(int(offsets[len(offsets)-1]))
}

// indices takes the indices into a dictionary. An index of a null is in it too, or 0.
func (d *decoder) indices(f *field, c *column.Column) {
	raw := d.take(c.Len * f.width)
	if d.err != nil {
		return
	}
	dict, err := d.r.dictionary(f.id)
	if err != nil {
		d.err = err
		return
	}
	c.Dict, c.Index = dict, make([]int32, c.Len)
	n := dict.Len()
	if n == 0 && (c.Valid != nil || c.Len == 0) && ones(c.Valid) == 0 {
		return // no value at all
	}
	if !narrow(c.Index, raw, f.width, int32(n)) {
		d.fail(fmt.Errorf("index into a dictionary of %d", n))
	}
}

// take takes a buffer that must have size bytes. They are valid until the next one is taken.
func (d *decoder) take(size int) []byte {
	d.raw = d.inflate(d.raw[:0], size)
	return d.raw
}

// bytes takes a buffer that must have size bytes, to keep.
func (d *decoder) bytes(size int) []byte { return d.inflate(nil, size) }

// inflate takes a buffer that must have size bytes, into dst or a larger slice.
func (d *decoder) inflate(dst []byte, size int) []byte {
	if d.err != nil {
		return nil
	}
	s := d.b.buffers[d.next.buffer]
	b := d.file[s.at-d.from:][:s.size]
	err := checkSum(d.r.sums, d.sums+d.next.buffer, b)
	d.next.buffer++
	if err == nil {
		dst, err = inflate(dst, b, size)
	}
	if err != nil {
		d.fail(err)
		return nil
	}
	return dst
}

// inflate returns the size bytes that the buffer b holds.
func inflate(dst, b []byte, size int) ([]byte, error) {
	if len(b) < 8 {
		if len(b) != 0 || size != 0 {
			return nil, fmt.Errorf("%d bytes in the place of %d", len(b), size)
		}
		return dst[:0], nil
	}
	claim, b := binary.LittleEndian.Uint64(b), b[8:]
	asIs := claim == stored
	if asIs {
		claim = uint64(len(b))
	} else if claim/maxRatio > uint64(len(b)) {
		return nil, fmt.Errorf("%d bytes cannot come from %d", claim, len(b))
	}
	if claim != uint64(size) {
		return nil, fmt.Errorf("buffer of %d bytes, want %d", claim, size)
	}
	if cap(dst) < size+spare {
		dst = make([]byte, 0, size+spare)
	}
	if asIs {
		return append(dst[:0], b...), nil
	}
	dst, err := decompressor.DecodeAll(b, dst[:0]) // never beyond the capacity
	if err == nil && len(dst) != size {
		err = fmt.Errorf("buffer inflates to %d bytes, want %d", len(dst), size)
	}
	return dst, err
}

const (
	maxRatio = 1 << 15 // what the smallest zstd block, of 4 bytes, can become, per byte
	spare    = 16      // bytes behind a buffer that let the decompressor write in larger pieces
)

// widen returns the n integers in b.
func widen(b []byte, n, width int, signed bool) []int64 {
	if len(b) != n*width {
		return nil // there was an error
	}
	v := make([]int64, n)
	switch {
	case width == 8:
		for i := range v {
			v[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	case signed:
		for i := range v {
			v[i] = int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
		}
	default:
		for i := range v {
			v[i] = int64(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}
	return v
}

// narrow reads the indices in b and reports whether all are below n.
func narrow(v []int32, b []byte, width int, n int32) bool {
	var highest uint32
	for i := range v {
		var x int32
		switch width {
		case 1:
			x = int32(int8(b[i]))
		case 2:
			x = int32(int16(binary.LittleEndian.Uint16(b[2*i:])))
		default:
			x = int32(binary.LittleEndian.Uint32(b[4*i:]))
		}
		v[i], highest = x, max(highest, uint32(x)) // below zero is very high
	}
	return len(v) == 0 || highest < uint32(n)
}

// floats returns the floats in b.
func floats(b []byte) []float64 {
	v := make([]float64, len(b)/8)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return v
}
