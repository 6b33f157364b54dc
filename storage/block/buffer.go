package block

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"mira/storage/column"
)

// stored is what Arrow writes where the length of the inflated buffer would be, when the buffer
// is not compressed.
const stored = math.MaxUint64

// column adds the values from..to of a column, and of everything below it, to the message.
func (e *encoder) column(f *field, from, to int) {
	c := f.col
	n := to - from
	e.node(n, c.Valid, from)
	switch {
	case e.plain && c.Index != nil:
		e.spell(c, from, to)
		return
	case f.dict:
		e.integers32(c.Index[from:to], f.width)
		return
	case c.Offsets != nil && c.Type != column.List:
		e.spans(c.Offsets[from : to+1])
		e.buffer(c.Data[c.Offsets[from]:c.Offsets[to]], true)
		return
	}
	switch c.Type {
	case column.Bool:
		e.raw = appendBits(e.raw[:0], c.Bits, from, n)
		e.buffer(e.raw, true)
	case column.Int, column.Uint, column.Time:
		e.raw = appendIntegers(e.raw[:0], c.Ints[from:to], f.width)
		e.buffer(e.raw, true)
	case column.Double:
		e.raw = appendFloats(e.raw[:0], c.Floats[from:to])
		e.buffer(e.raw, true)
	case column.Fixed:
		data := c.Data[from*c.Width : to*c.Width]
		e.buffer(data, !e.plain && e.worthwhile(data))
	case column.List:
		e.spans(c.Offsets[from : to+1])
		e.column(&f.kids[0], int(c.Offsets[from]), int(c.Offsets[to]))
	case column.Struct:
		for i := range f.kids {
			e.column(&f.kids[i], from, to)
		}
	}
}

// node adds a field node and its validity buffer, which is empty when there are no nulls.
func (e *encoder) node(n int, valid []byte, from int) {
	nulls := 0
	if valid != nil {
		e.raw = appendBits(e.raw[:0], valid, from, n)
		nulls = n - ones(e.raw)
	}
	e.nodes = append(e.nodes, node{rows: int64(n), nulls: int64(nulls)})
	if nulls == 0 {
		e.raw = e.raw[:0]
	}
	e.buffer(e.raw[:len(e.raw):len(e.raw)], true)
}

// spans adds offsets, moved so that the first is 0.
func (e *encoder) spans(offsets []int32) {
	b := slices.Grow(e.raw[:0], 4*len(offsets))
	for _, o := range offsets {
		b = binary.LittleEndian.AppendUint32(b, uint32(o-offsets[0]))
	}
	e.raw = b
	e.buffer(b, true)
}

// integers32 adds the indices of a dictionary.
func (e *encoder) integers32(v []int32, width int) {
	e.raw = appendIntegers(e.raw[:0], v, width)
	e.buffer(e.raw, true)
}

// buffer adds a buffer to the body: compressed if it is worth trying and gets smaller by a
// sixteenth, as it is otherwise. An empty one has no bytes at all. In a stream nothing is compressed
// and no length stands before it.
func (e *encoder) buffer(raw []byte, squeeze bool) {
	at := len(e.body)
	if e.plain {
		e.body = append(e.body, raw...)
	} else if len(raw) > 0 {
		size := uint64(len(raw))
		e.body = binary.LittleEndian.AppendUint64(e.body, size)
		if squeeze {
			e.body = e.codec.compress(e.body, raw)
		}
		if gone := len(e.body) - at - 8; !squeeze || gone >= len(raw)-len(raw)/16 {
			binary.LittleEndian.PutUint64(e.body[at:], stored)
			e.body = append(e.body[:at+8], raw...)
		}
	}
	e.buffers = append(e.buffers, span{at: int64(at), size: int64(len(e.body) - at)})
	e.body = append(e.body, zeros[:-len(e.body)&7]...)
}

// worthwhile tries the beginning of what is most likely random: ids are, unless many records
// share one or have none.
func (e *encoder) worthwhile(data []byte) bool {
	const sample = 1 << 13
	data = data[:min(len(data), sample)]
	e.raw = e.codec.compress(e.raw[:0], data)
	return len(e.raw) < len(data)-len(data)/8
}

// appendIntegers appends the low width bytes of every value.
func appendIntegers[T int32 | int64](dst []byte, v []T, width int) []byte {
	at := len(dst)
	dst = slices.Grow(dst, len(v)*width)[:at+len(v)*width]
	b := dst[at:]
	switch width {
	case 1:
		for i, x := range v {
			b[i] = byte(x)
		}
	case 2:
		for i, x := range v {
			binary.LittleEndian.PutUint16(b[2*i:], uint16(x))
		}
	case 4:
		for i, x := range v {
			binary.LittleEndian.PutUint32(b[4*i:], uint32(x))
		}
	default:
		for i, x := range v {
			binary.LittleEndian.PutUint64(b[8*i:], uint64(x))
		}
	}
	return dst
}

// appendFloats appends the bits of every value.
func appendFloats(dst []byte, v []float64) []byte {
	dst = slices.Grow(dst, 8*len(v))
	for _, x := range v {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	}
	return dst
}

// appendBits appends n bits of a bitmap from bit from on, with zeros behind them.
func appendBits(dst, src []byte, from, n int) []byte {
	if n == 0 {
		return dst
	}
	src, shift := src[from>>3:(from+n+7)>>3], from&7
	size := (n + 7) / 8
	at := len(dst)
	dst = append(dst, src[:size]...)
	if shift != 0 {
		b := dst[at:]
		for i := range b {
			b[i] >>= shift
			if i+1 < len(src) {
				b[i] |= src[i+1] << (8 - shift)
			}
		}
	}
	if n&7 != 0 {
		dst[len(dst)-1] &= 1<<(n&7) - 1
	}
	return dst
}

// ones counts the bits that are set.
func ones(b []byte) int {
	n := 0
	for ; len(b) >= 8; b = b[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(b))
	}
	for _, x := range b {
		n += bits.OnesCount8(x)
	}
	return n
}
