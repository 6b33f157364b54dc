package column

import (
	"bytes"
	"encoding/binary"
	"math"

	"mira/storage/otlp"
)

// append appends the message of a row: its fields, its attributes, its overflow.
func (p *part) append(dst []byte, row int, valid bool) []byte {
	dst = appendFields(dst, p.fields, row)
	for _, c := range p.attrs {
		if !c.Null(row) {
			dst = c.appendAttribute(dst, p.number, row)
		}
	}
	if p.over == nil || p.over.Null(row) {
		return dst
	}
	return appendOverflow(dst, p.over.Bytes(row), p.message, valid)
}

// schemaURL returns the schema_url beside the message.
func (p *part) schemaURL(row int, valid bool) (url []byte) {
	if p.url != nil && !p.url.Null(row) {
		return p.url.Bytes(row)
	}
	if p.over == nil || p.over.Null(row) {
		return nil
	}
	over := p.over.Bytes(row)
	for i := 0; uint(i) < uint(len(over)); {
		num, _, v, next := otlp.Field(over, i)
		if num == schemaURL && next >= 0 {
			url = over[v:next]
		}
		i = next
	}
	if valid {
		return bytes.ToValidUTF8(url, replacement)
	}
	return url
}

// appendOverflow appends the fields in overflow, except for the schema_url that is none of the
// message's.
func appendOverflow(dst, over []byte, m message, valid bool) []byte {
	for i := 0; uint(i) < uint(len(over)); {
		num, _, _, next := otlp.Field(over, i)
		switch {
		case next < 0 || num == schemaURL:
		case valid:
			dst = appendValid(dst, over[i:next], m)
		default:
			dst = append(dst, over[i:next]...)
		}
		i = next
	}
	return dst
}

var replacement = []byte("\uFFFD")

// appendValid appends a message with its strings made valid UTF-8.
func appendValid(dst, p []byte, m message) []byte {
	for i := 0; uint(i) < uint(len(p)); {
		num, typ, v, next := otlp.Field(p, i)
		if next < 0 {
			break
		}
		f := m.field(num)
		switch {
		case f != nil && typ == otlp.Bytes && f.enc == encString:
			dst = otlp.AppendBytes(dst, num, bytes.ToValidUTF8(p[v:next], replacement))
		case f != nil && typ == otlp.Bytes && f.sub != msgNone:
			var mark int
			dst, mark = otlp.Begin(dst, num)
			dst = otlp.End(appendValid(dst, p[v:next], f.sub), mark)
		default:
			dst = append(dst, p[i:next]...)
		}
		i = next
	}
	return dst
}

func appendFields(dst []byte, fields []bound, row int) []byte {
	for i := range fields {
		dst = fields[i].append(dst, row)
	}
	return dst
}

func (b *bound) append(dst []byte, row int) []byte {
	switch b.enc {
	case encMessage:
		dst, mark := otlp.Begin(dst, b.num)
		return endUnlessEmpty(appendFields(dst, b.sub, row), mark)
	case encBody:
		return b.appendBody(dst, row)
	}
	if b.col.Null(row) {
		return dst
	}
	switch b.enc {
	case encFixed64:
		return otlp.AppendFixed64(dst, b.num, uint64(b.col.Ints[row]))
	case encDouble:
		return otlp.AppendFixed64(dst, b.num, math.Float64bits(b.col.Floats[row]))
	case encFixed32:
		return otlp.AppendFixed32(dst, b.num, uint32(b.col.Ints[row]))
	case encUint32, encInt32:
		return otlp.AppendVarint(dst, b.num, uint64(b.col.Ints[row]))
	case encSint32:
		v := int32(b.col.Ints[row])
		return otlp.AppendVarint(dst, b.num, uint64(uint32(v<<1)^uint32(v>>31)))
	case encString, encID:
		return otlp.AppendBytes(dst, b.num, b.col.Bytes(row))
	default:
		return b.appendList(dst, row)
	}
}

func (b *bound) appendBody(dst []byte, row int) []byte {
	if b.other != nil && !b.other.Null(row) {
		return otlp.AppendBytes(dst, b.num, b.other.Bytes(row))
	}
	if b.col == nil || b.col.Null(row) {
		return dst
	}
	dst, mark := otlp.Begin(dst, b.num)
	return otlp.End(otlp.AppendBytes(dst, anyString, b.col.Bytes(row)), mark)
}

// appendList appends the elements of a list, packed if they are scalars.
func (b *bound) appendList(dst []byte, row int) []byte {
	var mark int
	from, to := int(b.col.Offsets[row]), int(b.col.Offsets[row+1])
	if b.enc == encPacked {
		dst, mark = otlp.Begin(dst, b.num)
		for i := from; i < to; i++ {
			dst = b.appendElement(dst, i)
		}
		return endUnlessEmpty(dst, mark)
	}
	for i := from; i < to; i++ {
		dst, mark = otlp.Begin(dst, b.num)
		if b.enc == encKeyValue {
			dst = appendMembers(dst, b.sub, i)
		} else {
			dst = appendFields(dst, b.sub, i)
		}
		dst = otlp.End(dst, mark)
	}
	return dst
}

// appendMembers appends what is in a KeyValue inside a list.
func appendMembers(dst []byte, m []bound, i int) []byte {
	set := func(n int) bool { return m[n].col != nil && !m[n].col.Null(i) }
	if set(0) {
		if key := m[0].col.Bytes(i); len(key) > 0 {
			dst = otlp.AppendBytes(dst, kvKey, key)
		}
	}
	for k := KindString; k <= KindAny; k++ {
		if set(int(k)) {
			return m[k].col.appendValue(dst, k, i)
		}
	}
	return dst
}

// appendAttribute appends the KeyValue of a row as a field of that number.
func (c *Column) appendAttribute(dst []byte, num, row int) []byte {
	dst, mark := otlp.Begin(dst, num)
	if c.Key != "" {
		dst = otlp.AppendBytes(dst, kvKey, c.Key)
	}
	return otlp.End(c.appendValue(dst, c.Kind, row), mark)
}

// appendValue appends the value of a KeyValue.
func (c *Column) appendValue(dst []byte, k Kind, row int) []byte {
	if k == KindAny {
		return otlp.AppendBytes(dst, kvValue, c.Bytes(row))
	}
	dst, mark := otlp.Begin(dst, kvValue)
	switch k {
	case KindString:
		dst = otlp.AppendBytes(dst, anyString, c.Bytes(row))
	case KindBool:
		v := uint64(0)
		if c.Bool(row) {
			v = 1
		}
		dst = otlp.AppendVarint(dst, anyBool, v)
	case KindInt:
		dst = otlp.AppendVarint(dst, anyInt, uint64(c.Ints[row]))
	case KindDouble:
		dst = otlp.AppendFixed64(dst, anyDouble, math.Float64bits(c.Floats[row]))
	case KindBytes:
		dst = otlp.AppendBytes(dst, anyBytes, c.Bytes(row))
	}
	return otlp.End(dst, mark)
}

func (b *bound) appendElement(dst []byte, i int) []byte {
	switch {
	case b.item == encUint64:
		return binary.AppendUvarint(dst, uint64(b.col.Elem.Ints[i]))
	case b.typ == Double:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(b.col.Elem.Floats[i]))
	default:
		return binary.LittleEndian.AppendUint64(dst, uint64(b.col.Elem.Ints[i]))
	}
}
