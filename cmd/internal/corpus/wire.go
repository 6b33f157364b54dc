package corpus

import (
	"encoding/binary"
	"math"
)

// Wire types of protobuf.
const (
	wireVarint = 0
	wireFixed  = 1
	wireBytes  = 2

	wireFixed32 = 5
)

// encoder writes protobuf fields in field order, as generated code does, and
// remembers the places that are stamped before a send.
type encoder struct {
	b      []byte
	stamps []stamp
}

func (e *encoder) tag(field, typ int) {
	e.b = binary.AppendUvarint(e.b, uint64(field<<3|typ))
}

// uint writes a varint field; zero is the default and is left out.
func (e *encoder) uint(field int, v uint64) {
	if v != 0 {
		e.tag(field, wireVarint)
		e.b = binary.AppendUvarint(e.b, v)
	}
}

func (e *encoder) fixed(field int, v uint64) {
	e.tag(field, wireFixed)
	e.b = binary.LittleEndian.AppendUint64(e.b, v)
}

func (e *encoder) double(field int, v float64) {
	e.fixed(field, math.Float64bits(v))
}

func (e *encoder) string(field int, s string) {
	e.tag(field, wireBytes)
	e.b = binary.AppendUvarint(e.b, uint64(len(s)))
	e.b = append(e.b, s...)
}

// packed writes n eight-byte numbers as one packed field.
func (e *encoder) packed(field, n int, each func(i int)) {
	e.tag(field, wireBytes)
	e.b = binary.AppendUvarint(e.b, uint64(8*n))
	for i := range n {
		each(i)
	}
}

func appendFixed(b []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(b, v) }

func appendDouble(b []byte, v float64) []byte { return appendFixed(b, math.Float64bits(v)) }

// message writes a sub-message. Its length is known only when it is filled, so
// the content moves up by the length's own size, and its stamps with it.
func (e *encoder) message(field int, fill func()) {
	e.tag(field, wireBytes)
	start, first := len(e.b), len(e.stamps)
	fill()
	var size [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(size[:], uint64(len(e.b)-start))
	e.b = append(e.b, size[:n]...)
	copy(e.b[start+n:], e.b[start:len(e.b)-n])
	copy(e.b[start:], size[:n])
	for i := first; i < len(e.stamps); i++ {
		e.stamps[i].at += uint32(n)
	}
}

// stamped writes a fixed64 field that is stamped with the record's time plus late.
func (e *encoder) stamped(field int, off, late uint32) {
	e.tag(field, wireFixed)
	e.mark(stampTime, off+late)
	e.b = append(e.b, make([]byte, 8)...)
}

// id writes a bytes or string field of kind.size() bytes, stamped with what kind says.
func (e *encoder) id(field int, kind stampKind, off uint32) {
	e.tag(field, wireBytes)
	e.b = append(e.b, byte(kind.size()))
	e.mark(kind, off)
	e.b = append(e.b, make([]byte, kind.size())...)
}

func (e *encoder) mark(kind stampKind, off uint32) {
	e.stamps = append(e.stamps, stamp{at: uint32(len(e.b)), off: off, kind: kind})
}

// Fields of AnyValue and KeyValue.
const (
	anyString, anyBool, anyInt, anyDouble, anyArray, anyBytes = 1, 2, 3, 4, 5, 7

	keyValueKey, keyValueValue = 1, 2
)

// attribute writes one KeyValue whose AnyValue is written by fill.
func (e *encoder) attribute(field int, key string, fill func()) {
	e.message(field, func() {
		e.string(keyValueKey, key)
		e.message(keyValueValue, fill)
	})
}

func (e *encoder) stringAttribute(field int, key, value string) {
	e.attribute(field, key, func() { e.string(anyString, value) })
}

func (e *encoder) intAttribute(field int, key string, value int) {
	e.attribute(field, key, func() {
		e.tag(anyInt, wireVarint)
		e.b = binary.AppendUvarint(e.b, uint64(value))
	})
}
