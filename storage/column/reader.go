package column

import (
	"encoding/binary"
	"slices"

	"mira/storage/otlp"
)

// reader reads one kind of OTLP message into the columns of a row, or, for a message inside a
// list, into the members of an element. Its table says by wire tag where a field goes.
type reader struct {
	lvl   *level // nil inside a list
	wrap  int    // the field of the level's message that this message is, if it is not all of it
	cells [maxTag + 1]cell
}

// cell is what a reader knows about one tag.
type cell struct {
	enc   enc // encNone: not a field of the message
	item  enc // encPacked: how an element lies on the wire
	keep  bool
	num   int
	bit   uint64  // in level.lost
	s     *series // the column
	other *series // the other column of a oneof
	sub   *reader
}

// maxTag is the largest tag of any field with a column: span.flags.
const maxTag = 16<<3 | 5

// newReader makes the reader of m; column makes the column of a field.
func newReader(m message, lvl *level, wrap int, column func(name string, typ Type, width int) *series) *reader {
	r := &reader{lvl: lvl, wrap: wrap}
	for i := range messages[m] {
		f := &messages[m][i]
		if f.num > maxTag>>3 {
			continue
		}
		c := cell{enc: f.enc, item: f.item, keep: f.keep, num: f.num, bit: 1 << f.num}
		if wrap != 0 {
			c.bit <<= 32
		}
		switch f.enc {
		case encOverflow, encAttrs:
		case encMessage:
			c.sub = newReader(f.sub, lvl, f.num, column)
		case encPacked:
			c.s = column(f.name, List, 0)
			c.s.consistOf(f.typ)
			r.cells[f.num<<3|int(f.item.wire())] = c
		case encList:
			c.s = column(f.name, List, 0)
			c.s.consistOf(Struct)
			c.sub = newReader(f.sub, nil, 0, c.s.elem.member)
		case encKeyValue:
			c.s = column(f.name, List, 0)
			c.s.consistOf(Struct)
			for _, m := range members {
				c.s.elem.member(m.name, m.typ, m.typ.width())
			}
		case encBody:
			c.s = column(f.name, String, 0)
			c.other = column(f.name+".any", Bytes, 0)
		default:
			c.s = column(f.name, f.typ, f.width())
		}
		r.cells[f.num<<3|int(f.enc.wire())] = c
	}
	r.link(m)
	return r
}

// link makes the members of a oneof know each other.
func (r *reader) link(m message) {
	for i := range messages[m] {
		if f := &messages[m][i]; f.not != 0 {
			o := m.field(f.not)
			r.cells[f.num<<3|int(f.enc.wire())].other = r.cells[o.num<<3|int(o.enc.wire())].s
		}
	}
}

// consistOf makes the elements of a list, unless another reader of the column did.
func (s *series) consistOf(typ Type) {
	if s.elem == nil {
		s.elem = newSeries(typ, typ.width())
	}
}

// member returns the member of a struct of that name, making it at first.
func (s *series) member(name string, typ Type, width int) *series {
	if i := slices.Index(s.names, name); i >= 0 {
		return s.fields[i]
	}
	m := newSeries(typ, width)
	s.fields = append(s.fields, m)
	s.names = append(s.names, name)
	return m
}

// read reads a message into a row. It reports false when r belongs to a list and something in
// the message has no place in it; the caller then takes the element back.
func (r *reader) read(p []byte, row int) bool {
	for i := 0; i < len(p); {
		from := i
		tag := uint64(p[i])
		if i++; tag >= 0x80 {
			tag, i = otlp.Uvarint(p, from)
		}
		if tag > maxTag || r.cells[tag].enc == encNone {
			if _, _, _, i = otlp.Field(p, from); i < 0 {
				break
			}
			continue
		}
		c := &r.cells[tag]
		var v uint64
		switch otlp.Type(tag & 7) {
		case otlp.Varint:
			v, i = otlp.Uvarint(p, i)
			c.varint(row, v)
		case otlp.Fixed64:
			v = binary.LittleEndian.Uint64(p[i:])
			i += 8
			if c.enc == encFixed64 {
				c.number(row, int64(v))
			} else {
				c.fixed64(row, v)
			}
		case otlp.Fixed32:
			v = uint64(binary.LittleEndian.Uint32(p[i:]))
			i += 4
			c.number(row, int64(v))
		default:
			if v = uint64(p[i]); v < 0x80 {
				i++
			} else {
				v, i = otlp.Uvarint(p, i)
			}
			start := i
			i += int(v)
			if c.enc == encAttrs {
				r.lvl.attribute(p[from:i], p[start:i], row)
			} else if !r.bytes(c, p, from, start, i, row) {
				return false
			}
		}
	}
	return true
}

// number sets an integer field. A default is no value, unless the field keeps it.
func (c *cell) number(row int, v int64) {
	if v == 0 && !c.keep {
		c.s.drop(row)
		return
	}
	if c.other != nil {
		c.other.drop(row)
	}
	c.s.int(row, v)
}

func (c *cell) varint(row int, v uint64) {
	switch c.enc {
	case encUint32:
		c.number(row, int64(uint32(v)))
	case encInt32:
		c.number(row, int64(int32(v)))
	case encSint32:
		c.number(row, int64(int32(otlp.Zigzag(uint64(uint32(v))))))
	case encPacked:
		c.s.open(row)
		c.s.elem.int(c.s.elem.n, int64(v))
		c.s.close()
	}
}

func (c *cell) fixed64(row int, v uint64) {
	switch c.enc {
	case encDouble:
		if v == 0 && !c.keep {
			c.s.drop(row)
			return
		}
		if c.other != nil {
			c.other.drop(row)
		}
		c.s.double(row, v)
	case encPacked:
		c.s.open(row)
		c.element(v)
		c.s.close()
	}
}

// element appends to the open list of a repeated 64-bit scalar.
func (c *cell) element(v uint64) {
	if c.item == encDouble {
		c.s.elem.double(c.s.elem.n, v)
		return
	}
	c.s.elem.int(c.s.elem.n, int64(v))
}

// packed appends the elements of a packed scalar field to the list of a row.
func (c *cell) packed(p []byte, row int) {
	if len(p) == 0 {
		return
	}
	c.s.open(row)
	for i := 0; uint(i) < uint(len(p)); {
		var v uint64
		if c.item == encUint64 {
			v, i = otlp.Uvarint(p, i)
		} else {
			v = binary.LittleEndian.Uint64(p[i:])
			i += 8
		}
		c.element(v)
	}
	c.s.close()
}

// bytes reads a length-delimited field, p[from:end] with its content at start.
func (r *reader) bytes(c *cell, p []byte, from, start, end, row int) bool {
	if r.lvl != nil && r.lvl.lost&c.bit != 0 {
		return r.spill(c, p[from:end]) // what is behind it in order stays behind it
	}
	v, ok := p[start:end], true
	switch c.enc {
	case encString:
		if len(v) == 0 {
			c.s.drop(row)
		} else {
			ok = c.s.str(row, v)
		}
	case encID:
		switch len(v) {
		case 0:
			c.s.drop(row)
		case c.s.width:
			c.s.fixed(row, v)
		default:
			ok = false
		}
	case encBody:
		return r.body(c, p[:end], from, start, row)
	case encMessage:
		return c.sub.read(v, row)
	case encPacked:
		c.packed(v, row)
	case encList, encKeyValue:
		ok = c.child(v, row)
	case encOverflow:
		ok = false
	}
	if !ok {
		return r.spill(c, p[from:end])
	}
	return true
}

// spill sends a field, and every later one of its number in this row, to overflow.
func (r *reader) spill(c *cell, raw []byte) bool {
	if r.lvl == nil {
		return false
	}
	r.lvl.lost |= c.bit
	if r.wrap != 0 {
		r.lvl.over = otlp.AppendBytes(r.lvl.over, r.wrap, raw)
	} else {
		r.lvl.spill(raw)
	}
	return true
}

// body reads the body of a log record: the last field of p, whose content begins at start. A
// second one merges with those before.
func (r *reader) body(c *cell, p []byte, from, start, row int) bool {
	v, raw := p[start:], p[from:]
	if c.s.n > row || c.other.n > row {
		v = allOf(p, c.num)
		raw = otlp.AppendBytes(nil, c.num, v)
	}
	kind, _, str, ok := parseCanonical(v)
	if !ok {
		kind, _, str = parseAny(v)
	}
	if kind == KindString {
		c.other.drop(row)
		if c.s.str(row, str) {
			return true
		}
		return r.spill(c, raw)
	}
	c.s.drop(row)
	if validMessage(v, msgAnyValue) {
		c.other.bytes(row, v)
		return true
	}
	c.other.drop(row)
	return r.spill(c, raw)
}

// allOf joins what p has of a singular message.
func allOf(p []byte, field int) (all []byte) {
	for i := 0; uint(i) < uint(len(p)); {
		num, typ, v, next := otlp.Field(p, i)
		if num == field && typ == otlp.Bytes {
			all = joined(all, p[v:next])
		}
		i = next
	}
	return all
}

// child appends an element to the list of a row.
func (c *cell) child(p []byte, row int) bool {
	l := c.s
	l.open(row)
	at := l.elem.n
	l.elem.n++
	var ok bool
	if c.enc == encKeyValue {
		ok = l.elem.keyValue(p, at)
	} else {
		ok = c.sub.read(p, at)
	}
	if !ok {
		l.elem.truncate(at)
	}
	l.close()
	return ok
}

// keyValue sets the members of an attribute inside a list.
func (s *series) keyValue(p []byte, at int) bool {
	key, kind, num, val := parseKeyValue(p)
	if !s.fields[0].str(at, key) {
		return false
	}
	switch kind {
	case kindNone:
	case KindString:
		return s.fields[1].str(at, val)
	case KindBool:
		s.fields[2].bool(at, num != 0)
	case KindInt:
		s.fields[3].int(at, int64(num))
	case KindDouble:
		s.fields[4].double(at, num)
	case KindBytes:
		s.fields[5].bytes(at, val)
	case KindAny:
		if !validMessage(val, msgAnyValue) {
			return false
		}
		s.fields[6].bytes(at, val)
	default:
		return false
	}
	return true
}
