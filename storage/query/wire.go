package query

import (
	"bytes"
	"encoding/base64"
	"math"
	"unicode/utf8"

	"mira/storage/otlp"
)

// Field numbers of opentelemetry.proto.common.v1.
const (
	anyString = 1
	anyBool   = 2
	anyInt    = 3
	anyDouble = 4
	anyArray  = 5
	anyMap    = 6
	anyBytes  = 7

	listValues = 1 // ArrayValue.values, KeyValueList.values
	pairKey    = 1
	pairValue  = 2
)

// eachField calls fn for every field of a message until fn returns false. v holds the value of a
// varint or fixed field, raw that of a length-delimited one. It stops at the first malformed byte.
func eachField(b []byte, fn func(num int, v uint64, raw []byte) bool) {
	for i := 0; uint(i) < uint(len(b)); {
		num, typ, v, next := otlp.Field(b, i)
		if next < 0 {
			return
		}
		var raw []byte
		if typ == otlp.Bytes {
			raw = b[v:next]
		}
		if !fn(num, v, raw) {
			return
		}
		i = next
	}
}

// anyValue decodes an AnyValue message one level deep. Without a value it is nil.
func anyValue(b []byte) value {
	var v value
	eachField(b, func(n int, num uint64, raw []byte) bool {
		switch n {
		case anyString:
			v = value{kind: kindString, raw: validText(raw)}
		case anyBool:
			v = boolValue(num != 0)
		case anyInt:
			v = intValue(int64(num))
		case anyDouble:
			v = doubleValue(math.Float64frombits(num))
		case anyArray:
			v = value{kind: kindList, raw: raw}
		case anyMap:
			v = value{kind: kindMap, raw: raw}
		case anyBytes:
			v = value{kind: kindBytes, raw: raw}
		}
		return true
	})
	return v
}

// validText returns b with invalid UTF-8 replaced, as every answer shows it.
func validText(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	return bytes.ToValidUTF8(b, []byte("\uFFFD"))
}

// pair decodes a KeyValue message.
func pair(b []byte) (key []byte, v value) {
	eachField(b, func(n int, _ uint64, raw []byte) bool {
		switch n {
		case pairKey:
			key = raw
		case pairValue:
			v = anyValue(raw)
		}
		return true
	})
	return key, v
}

// findPair looks for the first KeyValue with that key among the fields num of message b.
func findPair(b []byte, num int, key string) (v value, ok bool) {
	eachField(b, func(n int, _ uint64, raw []byte) bool {
		if n != num {
			return true
		}
		k, found := pair(raw)
		if string(validText(k)) == key {
			v, ok = found, true
		}
		return !ok
	})
	return v, ok
}

// index returns the element of a map or list that k names, or nil.
func (v value) index(k key) value {
	switch {
	case v.kind == kindMap && !k.isIndex:
		found, _ := findPair(v.raw, listValues, k.name)
		return found
	case v.kind == kindList && k.isIndex:
		return v.element(k.index)
	}
	return value{}
}

func (v value) element(i int) value {
	var found value
	eachField(v.raw, func(n int, _ uint64, raw []byte) bool {
		if n != listValues {
			return true
		}
		if i == 0 {
			found = anyValue(raw)
		}
		i--
		return i >= 0
	})
	return found
}

// length is OTTL's Len: bytes of a string, elements of a list or map.
func (v value) length() value {
	switch v.kind {
	case kindString, kindBytes:
		return intValue(int64(len(v.raw)))
	case kindList, kindMap:
		n := int64(0)
		eachField(v.raw, func(f int, _ uint64, _ []byte) bool {
			if f == listValues {
				n++
			}
			return true
		})
		return intValue(n)
	}
	return value{}
}

// appendValueJSON writes v as the text a function that wants a string sees for a list or a map.
func appendValueJSON(dst []byte, v value) []byte {
	switch v.kind {
	case kindNil:
		return append(dst, "null"...)
	case kindString:
		return AppendJSONString(dst, v.raw)
	case kindBytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.raw)
		return append(dst, '"')
	case kindList, kindMap:
		return appendElementsJSON(dst, v)
	default:
		text, _ := v.text()
		return append(dst, text...)
	}
}

func appendElementsJSON(dst []byte, v value) []byte {
	brackets := "[]"
	if v.kind == kindMap {
		brackets = "{}"
	}
	dst = append(dst, brackets[0])
	first := true
	eachField(v.raw, func(n int, _ uint64, raw []byte) bool {
		if n != listValues {
			return true
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if v.kind == kindMap {
			k, e := pair(raw)
			dst = append(AppendJSONString(dst, k), ':')
			dst = appendValueJSON(dst, e)
		} else {
			dst = appendValueJSON(dst, anyValue(raw))
		}
		return true
	})
	return append(dst, brackets[1])
}
