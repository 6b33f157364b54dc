package api

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strconv"

	"mira/storage/otlp"
	"mira/storage/query"
)

// layout is where the fields of a message are, by their numbers.
type layout [maxNumber]slot

type slot struct {
	times int
	val   uint64 // of the last occurrence
	raw   []byte // the same, where it is length-delimited
}

func (l *layout) of(b []byte) {
	for i := 0; uint(i) < uint(len(b)); {
		num, typ, val, next := otlp.Field(b, i)
		if next < 0 {
			return
		}
		if num < maxNumber {
			l[num].add(typ, val, b, next)
		}
		i = next
	}
}

func (s *slot) add(typ otlp.Type, val uint64, b []byte, next int) {
	s.times++
	s.val = val
	if typ == otlp.Bytes {
		s.raw = b[val:next]
	}
}

// merged returns the content of a message, which protobuf allows to come in several pieces.
func (s *slot) merged(b []byte, num int) []byte {
	if s.times < 2 {
		return s.raw
	}
	return only(b, num)
}

// appendFields writes the fields of b, each with a comma before it. top says that they are keys
// of the row, which a projection may leave out.
func (w *rowWriter) appendFields(dst, b []byte, m message, top bool) []byte {
	var l layout
	l.of(b)
	for i := range m {
		f := &m[i]
		s := &l[f.num]
		if f.shape == flat {
			if s.times > 0 || f.always {
				dst = w.appendFields(dst, s.merged(b, f.num), f.sub, top)
			}
			continue
		}
		if s.times == 0 && !f.always || top && !w.columns.has(f.name) {
			continue
		}
		dst = append(append(dst, ','), f.key...)
		path := ""
		if top {
			path = f.name
		}
		dst = w.appendField(dst, b, f, s, path)
	}
	return dst
}

// appendField writes the value of field f of b. path is its key in the row, if it has one.
func (w *rowWriter) appendField(dst, b []byte, f *field, s *slot, path string) []byte {
	switch f.shape {
	case text:
		return query.AppendJSONString(dst, s.raw)
	case id:
		return append(hex.AppendEncode(append(dst, '"'), s.raw), '"')
	case boolean:
		return strconv.AppendBool(dst, s.val != 0)
	case small:
		return strconv.AppendInt(dst, int64(int32(s.val)), 10)
	case signed:
		return strconv.AppendInt(dst, otlp.Zigzag(s.val), 10)
	case unsigned:
		return strconv.AppendUint(dst, uint64(uint32(s.val)), 10)
	case large:
		return append(strconv.AppendInt(append(dst, '"'), int64(s.val), 10), '"')
	case count:
		return appendCount(dst, s.val)
	case double:
		return appendDouble(dst, math.Float64frombits(s.val))
	case anyValue:
		dst, typ := w.appendAny(dst, s.merged(b, f.num))
		w.note(path, nil, typ)
		return dst
	case pairs:
		return w.appendPairs(dst, b, f.num, path)
	case list:
		return w.appendList(dst, b, f)
	default:
		return appendNumbers(dst, b, f)
	}
}

func appendCount(dst []byte, v uint64) []byte {
	return append(strconv.AppendUint(append(dst, '"'), v, 10), '"')
}

// appendDouble writes v as a number, or as a string where JSON has no number for it.
func appendDouble(dst []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Infinity"`...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

func (w *rowWriter) appendList(dst, b []byte, f *field) []byte {
	dst = append(dst, '[')
	first := true
	each(b, f.num, func(element []byte) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		start := len(dst)
		dst = closed(w.appendFields(dst, element, f.sub, false), start)
	})
	return append(dst, ']')
}

// appendNumbers writes a repeated number, packed or not.
func appendNumbers(dst, b []byte, f *field) []byte {
	dst = append(dst, '[')
	mark := len(dst)
	add := func(v uint64) {
		if len(dst) > mark {
			dst = append(dst, ',')
		}
		if f.shape == doubles {
			dst = appendDouble(dst, math.Float64frombits(v))
		} else {
			dst = appendCount(dst, v)
		}
	}
	for i := 0; uint(i) < uint(len(b)); {
		num, typ, val, next := otlp.Field(b, i)
		if next < 0 {
			break
		}
		switch {
		case num != f.num:
		case typ == otlp.Bytes:
			unpack(b[val:next], f.shape == varints, add)
		default:
			add(val)
		}
		i = next
	}
	return append(dst, ']')
}

// unpack calls add for every number of a packed field.
func unpack(b []byte, varint bool, add func(uint64)) {
	for len(b) > 0 {
		v, n := uint64(0), 8
		if varint {
			v, n = binary.Uvarint(b)
		} else if len(b) >= n {
			v = binary.LittleEndian.Uint64(b)
		}
		if n <= 0 || n > len(b) {
			return
		}
		add(v)
		b = b[n:]
	}
}

// appendPairs writes the KeyValues that are field num of b as an object. Of a key that comes more
// than once the first counts. path is the object's key in the row, "" inside other values.
func (w *rowWriter) appendPairs(dst, b []byte, num int, path string) []byte {
	var wanted map[string]bool
	dotted := ""
	if path != "" {
		wanted, dotted = w.columns.only(path), path+"."
	}
	start := len(dst)
	keys := keySet{base: len(w.seen)}
	each(b, num, func(pair []byte) {
		key := only(pair, 1)
		if wanted != nil && !wanted[string(key)] || keys.again(w, key) {
			return
		}
		dst = append(dst, ',')
		dst = append(query.AppendJSONString(dst, key), ':')
		var typ string
		dst, typ = w.appendAny(dst, only(pair, 2))
		w.note(dotted, key, typ)
	})
	w.seen = w.seen[:keys.base]
	return closed(dst, start)
}

// keySet is the keys that an object has so far: behind base in rowWriter.seen, and when they are
// many, in a map.
type keySet struct {
	base int
	many map[string]struct{}
}

// again reports whether the object has that key, and adds it.
func (k *keySet) again(w *rowWriter, key []byte) bool {
	const few = 32
	own := w.seen[k.base:]
	if len(own) < few {
		if slices.ContainsFunc(own, func(o []byte) bool { return string(o) == string(key) }) {
			return true
		}
		w.seen = append(w.seen, key)
		return false
	}
	if k.many == nil {
		k.many = make(map[string]struct{}, 4*few)
		for _, o := range own {
			k.many[string(o)] = struct{}{}
		}
	}
	_, there := k.many[string(key)]
	k.many[string(key)] = struct{}{}
	return there
}

// The members of AnyValue's oneof.
const (
	anyString = 1
	anyBool   = 2
	anyInt    = 3
	anyDouble = 4
	anyArray  = 5
	anyMap    = 6
	anyBytes  = 7
)

// appendAny writes an AnyValue. typ says what it is, where the JSON does not tell it.
func (w *rowWriter) appendAny(dst, b []byte) (_ []byte, typ string) {
	member, s := memberOf(b)
	switch member {
	case anyString:
		return query.AppendJSONString(dst, s.raw), ""
	case anyBool:
		return strconv.AppendBool(dst, s.val != 0), ""
	case anyInt:
		return append(strconv.AppendInt(append(dst, '"'), int64(s.val), 10), '"'), "int"
	case anyDouble:
		v := math.Float64frombits(s.val)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			typ = "double"
		}
		return appendDouble(dst, v), typ
	case anyArray:
		return w.appendArray(dst, s.merged(b, member)), ""
	case anyMap:
		return w.appendPairs(dst, s.merged(b, member), 1, ""), ""
	case anyBytes:
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), s.raw), '"'), "bytes"
	}
	return append(dst, "null"...), ""
}

func (w *rowWriter) appendArray(dst, b []byte) []byte {
	dst = append(dst, '[')
	mark := len(dst)
	each(b, 1, func(element []byte) {
		if len(dst) > mark {
			dst = append(dst, ',')
		}
		dst, _ = w.appendAny(dst, element)
	})
	return append(dst, ']')
}

// memberOf returns the member of AnyValue's oneof that is set, 0 for none.
func memberOf(b []byte) (member int, s slot) {
	for i := 0; uint(i) < uint(len(b)); {
		num, typ, val, next := otlp.Field(b, i)
		if next < 0 {
			break
		}
		if num >= anyString && num <= anyBytes {
			if num != member {
				member, s = num, slot{}
			}
			s.add(typ, val, b, next)
		}
		i = next
	}
	return member, s
}
