package query

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
)

type kind uint8

const (
	kindNil kind = iota
	kindBool
	kindInt
	kindUint // an integer above the largest int64
	kindDouble
	kindString
	kindBytes
	kindID   // a trace or span id: compares with bytes, and with its hexadecimal string
	kindList // raw is an ArrayValue message
	kindMap  // raw is a KeyValueList message
)

// value is what a path, a literal or a function yields for one row. The bytes are shared.
type value struct {
	kind  kind
	unset bool // a field at its protobuf default, which equals nil as well as the default
	num   int64
	dbl   float64
	raw   []byte
}

func boolValue(b bool) value {
	if b {
		return value{kind: kindBool, num: 1}
	}
	return value{kind: kindBool}
}

func intValue(i int64) value      { return value{kind: kindInt, num: i} }
func doubleValue(f float64) value { return value{kind: kindDouble, dbl: f} }
func stringValue(s string) value  { return value{kind: kindString, raw: []byte(s)} }

// uintValue returns u, as an int where it is one.
func uintValue(u uint64) value {
	if u > math.MaxInt64 {
		return value{kind: kindUint, num: int64(u)}
	}
	return intValue(int64(u))
}

// idValue returns an id. All zero means "none" in OpenTelemetry, so it is nil.
func idValue(b []byte) value {
	for _, c := range b {
		if c != 0 {
			return value{kind: kindID, raw: b}
		}
	}
	return value{}
}

func (v value) number() bool { return v.kind == kindInt || v.kind == kindUint || v.kind == kindDouble }

func (v value) float() float64 {
	switch v.kind {
	case kindDouble:
		return v.dbl
	case kindUint:
		return float64(uint64(v.num))
	default:
		return float64(v.num)
	}
}

type operator uint8

const (
	opEqual operator = iota
	opNotEqual
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
)

var operators = map[string]operator{
	"==": opEqual, "!=": opNotEqual, "<": opLess, "<=": opLessEqual, ">": opGreater, ">=": opGreaterEqual,
}

// holds reports whether "a op b" is true when a compares to b as c says.
func (o operator) holds(c int) bool {
	switch o {
	case opEqual:
		return c == 0
	case opNotEqual:
		return c != 0
	case opLess:
		return c < 0
	case opLessEqual:
		return c <= 0
	case opGreater:
		return c > 0
	default:
		return c >= 0
	}
}

// mirror returns the operator that says the same with the sides exchanged.
func (o operator) mirror() operator {
	return [...]operator{opEqual, opNotEqual, opGreater, opGreaterEqual, opLess, opLessEqual}[o]
}

// compare applies the rules of OTTL: numbers compare by value, other kinds only with their own;
// of two kinds that do not compare, only != is true.
func compare(a, b value, op operator) bool {
	if a.kind == kindNil || b.kind == kindNil {
		if (a.kind == kindNil || a.unset) && (b.kind == kindNil || b.unset) {
			return op.holds(0)
		}
		return op == opNotEqual
	}
	if a.number() && b.number() {
		return compareNumbers(a, b, op)
	}
	if a.kind == kindID || b.kind == kindID {
		return compareIDs(a, b, op)
	}
	if a.kind != b.kind {
		return op == opNotEqual
	}
	switch a.kind {
	case kindBool:
		return op.holds(cmp.Compare(a.num, b.num))
	case kindString, kindBytes:
		return op.holds(bytes.Compare(a.raw, b.raw))
	default: // lists and maps have no order
		return bytes.Equal(a.raw, b.raw) == (op == opEqual) && (op == opEqual || op == opNotEqual)
	}
}

func compareNumbers(a, b value, op operator) bool {
	switch {
	case a.kind == kindInt && b.kind == kindInt:
		return op.holds(cmp.Compare(a.num, b.num))
	case a.kind != kindDouble && b.kind != kindDouble: // at least one above every int64
		if a.kind != b.kind {
			return op.holds(cmp.Compare(a.kind, b.kind))
		}
		return op.holds(cmp.Compare(uint64(a.num), uint64(b.num)))
	}
	x, y := a.float(), b.float()
	if math.IsNaN(x) || math.IsNaN(y) {
		return op == opNotEqual
	}
	return op.holds(cmp.Compare(x, y))
}

func compareIDs(a, b value, op operator) bool {
	if a.kind == kindString {
		return compareIDs(b, a, op.mirror())
	}
	switch b.kind {
	case kindID, kindBytes:
		return (a.kind == kindID || a.kind == kindBytes) && op.holds(bytes.Compare(a.raw, b.raw)) ||
			a.kind != kindID && a.kind != kindBytes && op == opNotEqual
	case kindString:
		var text [64]byte
		if len(a.raw) > len(text)/2 {
			return op == opNotEqual
		}
		n := hex.Encode(text[:], a.raw)
		return op.holds(bytes.Compare(text[:n], bytes.ToLower(b.raw)))
	default:
		return op == opNotEqual
	}
}

// text returns v as a function that wants a string sees it; nil has none.
func (v value) text() (string, bool) {
	switch v.kind {
	case kindNil:
		return "", false
	case kindBool:
		return strconv.FormatBool(v.num != 0), true
	case kindInt:
		return strconv.FormatInt(v.num, 10), true
	case kindUint:
		return strconv.FormatUint(uint64(v.num), 10), true
	case kindDouble:
		return strconv.FormatFloat(v.dbl, 'f', -1, 64), true
	case kindString:
		return string(v.raw), true
	case kindBytes, kindID:
		return hex.EncodeToString(v.raw), true
	default:
		return string(appendValueJSON(nil, v)), true
	}
}

// toInt converts as OTTL's Int does; what has no integer form becomes nil.
func (v value) toInt() value {
	switch v.kind {
	case kindInt, kindUint:
		return v
	case kindBool:
		return intValue(v.num)
	case kindDouble:
		if v.dbl >= math.MinInt64 && v.dbl < math.MaxInt64 {
			return intValue(int64(v.dbl))
		}
	case kindString:
		if i, err := strconv.ParseInt(strings.TrimSpace(string(v.raw)), 10, 64); err == nil {
			return intValue(i)
		}
	}
	return value{}
}

// toDouble converts as OTTL's Double does; what has no number in it becomes nil.
func (v value) toDouble() value {
	switch v.kind {
	case kindInt, kindUint, kindDouble:
		return doubleValue(v.float())
	case kindBool:
		return doubleValue(float64(v.num))
	case kindString:
		if f, err := strconv.ParseFloat(strings.TrimSpace(string(v.raw)), 64); err == nil {
			return doubleValue(f)
		}
	}
	return value{}
}
