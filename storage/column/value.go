package column

import (
	"encoding/binary"
	"unicode/utf8"

	"mira/storage/otlp"
)

// Kinds that only exist on the way in.
const (
	kindNone    Kind = 0xff // a KeyValue without a value
	kindForeign Kind = 0xfe // a KeyValue that refers to a dictionary of strings we do not have
)

// parseKeyValue reads a KeyValue. num is the value of a bool, an int or (as bits) a double; val
// the bytes of a string or bytes value, or else the whole AnyValue.
//
// Encoders write key, value and one field in the value, nothing else, with lengths of one byte:
// one chain of comparisons accepts that form and everything else goes the long way.
func parseKeyValue(p []byte) (key []byte, kind Kind, num uint64, val []byte) {
	if n := len(p); n > 4 && p[0] == kvKey<<3|2 {
		v := 2 + int(p[1])
		if v+3 < n && p[1] < 0x80 && p[v] == kvValue<<3|2 && p[v+1] < 0x80 && int(p[v+1]) == n-v-2 {
			if kind, num, val, ok := parseCanonical(p[v+2:]); ok {
				return p[2:v], kind, num, val
			}
		}
	}
	return parseAnyKeyValue(p)
}

// parseCanonical reads an AnyValue with exactly one scalar field.
func parseCanonical(p []byte) (kind Kind, num uint64, val []byte, ok bool) {
	if len(p) < 2 {
		return 0, 0, nil, false
	}
	switch p[0] {
	case anyString<<3 | 2:
		return KindString, 0, p[2:], p[1] < 0x80 && int(p[1]) == len(p)-2
	case anyInt << 3:
		v, next := otlp.Uvarint(p, 1)
		return KindInt, v, nil, next == len(p)
	case anyDouble<<3 | 1:
		if len(p) == 9 {
			return KindDouble, binary.LittleEndian.Uint64(p[1:]), nil, true
		}
	case anyBool << 3:
		return KindBool, uint64(p[1]), nil, len(p) == 2 && p[1] < 0x80
	case anyBytes<<3 | 2:
		return KindBytes, 0, p[2:], p[1] < 0x80 && int(p[1]) == len(p)-2
	}
	return 0, 0, nil, false
}

// parseAnyKeyValue is parseKeyValue for every encoding that protobuf allows.
func parseAnyKeyValue(p []byte) (key []byte, kind Kind, num uint64, val []byte) {
	var value []byte
	foreign := false
	for i := 0; uint(i) < uint(len(p)); {
		n, typ, v, next := otlp.Field(p, i)
		switch {
		case next < 0:
		case n == kvKey && typ == otlp.Bytes:
			key = p[v:next]
		case n == kvValue && typ == otlp.Bytes:
			value = joined(value, p[v:next])
		case n == kvIndex:
			foreign = v != 0
		}
		i = next
	}
	switch {
	case foreign:
		return key, kindForeign, 0, nil
	case value == nil:
		return key, kindNone, 0, nil
	}
	kind, num, val = parseAny(value)
	return key, kind, num, val
}

// parseAny reads an AnyValue: of the members of a oneof the last one counts.
func parseAny(p []byte) (kind Kind, num uint64, val []byte) {
	kind, val = KindAny, p
	for i := 0; uint(i) < uint(len(p)); {
		n, _, v, next := otlp.Field(p, i)
		if next < 0 {
			break
		}
		switch n {
		case anyString:
			kind, val = KindString, p[v:next]
		case anyBytes:
			kind, val = KindBytes, p[v:next]
		case anyBool, anyInt, anyDouble:
			kind, num, val = scalars[n], v, nil
		case anyArray, anyKvlist, anyIndex:
			kind, val = KindAny, p
		}
		i = next
	}
	return kind, num, val
}

var scalars = [...]Kind{anyBool: KindBool, anyInt: KindInt, anyDouble: KindDouble}

// joined returns two encodings of one singular message as one: protobuf messages merge when they
// are joined. Neither argument is changed, and a is nil at first.
func joined(a, b []byte) []byte {
	if a == nil {
		return b
	}
	return append(a[:len(a):len(a)], b...)
}

// validMessage reports whether every string in a message is UTF-8.
func validMessage(p []byte, m message) bool {
	if ascii(p) {
		return true
	}
	for i := 0; uint(i) < uint(len(p)); {
		num, typ, v, next := otlp.Field(p, i)
		if next < 0 {
			return false
		}
		if f := m.field(num); f != nil && typ == otlp.Bytes {
			switch b := p[v:next]; {
			case f.enc == encString:
				if !utf8.Valid(b) {
					return false
				}
			case f.sub != msgNone:
				if !validMessage(b, f.sub) {
					return false
				}
			}
		}
		i = next
	}
	return true
}

func ascii(p []byte) bool {
	for len(p) >= 8 {
		if binary.LittleEndian.Uint64(p)&0x8080808080808080 != 0 {
			return false
		}
		p = p[8:]
	}
	for _, c := range p {
		if c >= 0x80 {
			return false
		}
	}
	return true
}
