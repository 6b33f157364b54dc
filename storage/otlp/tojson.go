package otlp

import (
	"encoding/base64"
	"encoding/hex"
	"math"
	"strconv"
	"unicode/utf8"
)

// AppendLogsJSON appends an ExportLogsServiceRequest as OTLP/JSON: the inverse of LogsFromJSON,
// with ids in lower-case hexadecimal, integers of 64 bits as strings, bytes in base64, and no
// blanks. Defaults are left out where they mean nothing. What is no UTF-8 in a string becomes
// U+FFFD, so that the output is always JSON. The error, an *Error, is that pb is not a request.
func AppendLogsJSON(dst, pb []byte) ([]byte, error) { return appendJSON(dst, pb, logsRequest) }

// AppendTracesJSON is AppendLogsJSON for an ExportTraceServiceRequest.
func AppendTracesJSON(dst, pb []byte) ([]byte, error) { return appendJSON(dst, pb, tracesRequest) }

// AppendMetricsJSON is AppendLogsJSON for an ExportMetricsServiceRequest.
func AppendMetricsJSON(dst, pb []byte) ([]byte, error) { return appendJSON(dst, pb, metricsRequest) }

// AppendLogRecordJSON is AppendLogsJSON for one LogRecord.
func AppendLogRecordJSON(dst, pb []byte) ([]byte, error) { return appendJSON(dst, pb, logRecord) }

// AppendSpanJSON is AppendLogsJSON for one Span.
func AppendSpanJSON(dst, pb []byte) ([]byte, error) { return appendJSON(dst, pb, span) }

// AppendMetricJSON is AppendLogsJSON for one Metric.
func AppendMetricJSON(dst, pb []byte) ([]byte, error) { return appendJSON(dst, pb, metric) }

// AppendResourceJSON is AppendLogsJSON for a Resource.
func AppendResourceJSON(dst, pb []byte) ([]byte, error) { return appendJSON(dst, pb, resource) }

// AppendScopeJSON is AppendLogsJSON for an InstrumentationScope.
func AppendScopeJSON(dst, pb []byte) ([]byte, error) { return appendJSON(dst, pb, scope) }

// AppendValueJSON is AppendLogsJSON for an AnyValue.
func AppendValueJSON(dst, pb []byte) ([]byte, error) { return appendJSON(dst, pb, anyValue) }

func appendJSON(dst, pb []byte, m id) ([]byte, error) {
	if _, err := check(pb, m); err != nil {
		return dst, err
	}
	return appendObject(dst, pb, m), nil
}

// A layout is where the fields of one message are. Protobuf allows any order and any repetition,
// JSON needs each field once.
type layout struct {
	seen, again uint32          // a bit is a field number: is there one, is there another
	first       [width]int      // where the first of them starts
	last        [width]struct { // the content of the last of them
		val  uint64
		next int
	}
}

// of finds the fields of b, a checked message of kind m. Of a oneof it keeps the member that is
// set at the end, as far back as it was set without interruption.
func (l *layout) of(b []byte, m id) {
	chosen := 0
	for i := 0; uint(i) < uint(len(b)); {
		num, _, val, next := Field(b, i)
		start := i
		i = next
		if num >= width || schema[m][num].kind == unknown {
			continue
		}
		bit := uint32(1) << num
		if schema[m][num].is(choice) && chosen != num {
			l.seen &^= 1 << chosen
			l.again &^= bit
			chosen = num
		}
		if l.seen&bit != 0 {
			l.again |= bit
		} else {
			l.seen |= bit
			l.first[num] = start
		}
		l.last[num].val, l.last[num].next = val, next
	}
}

// appendObject appends b, a checked message of kind m.
func appendObject(dst, b []byte, m id) []byte {
	var l layout
	l.of(b, m)
	dst = append(dst, '{')
	for num := range width {
		if l.seen&(1<<num) == 0 {
			continue
		}
		before := len(dst)
		if dst[before-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(dst, schema[m][num].json...)
		dst = append(dst, '"', ':')
		empty := len(dst)
		if dst = l.appendField(dst, b, num, &schema[m][num]); len(dst) == empty {
			dst = dst[:before]
		}
	}
	return append(dst, '}')
}

// appendField appends the value of field num, or nothing when that is its default.
func (l *layout) appendField(dst, b []byte, num int, f *spec) []byte {
	last := l.last[num]
	switch {
	case f.is(list):
		return appendList(dst, b[l.first[num]:], num, f)
	case f.kind == nested && l.again&(1<<num) != 0:
		return appendObject(dst, merged(b[l.first[num]:], num), f.of)
	}
	v, content := last.val, []byte(nil)
	if wires[f.kind] == Bytes {
		content = b[v:last.next]
		v = uint64(len(content))
	}
	if v == 0 && f.kind != nested && !f.is(choice|optional) {
		return dst
	}
	return appendSingle(dst, f, v, content)
}

// merged is what the singular messages with this number in b amount to: one after the other,
// they are one message.
func merged(b []byte, num int) (content []byte) {
	for i := 0; uint(i) < uint(len(b)); {
		n, _, val, next := Field(b, i)
		if n == num {
			content = append(content, b[val:next]...)
		}
		i = next
	}
	return content
}

func appendList(dst, b []byte, num int, f *spec) []byte {
	before := len(dst)
	for i := 0; uint(i) < uint(len(b)); {
		n, typ, val, next := Field(b, i)
		i = next
		if n != num {
			continue
		}
		switch {
		case typ != Bytes:
			dst = appendSingle(append(dst, ','), f, val, nil)
		case wires[f.kind] == Bytes:
			dst = appendSingle(append(dst, ','), f, 0, b[val:next])
		default:
			for j := int(val); j < next; {
				val, j = value(b[:next], j, num, wires[f.kind])
				dst = appendSingle(append(dst, ','), f, val, nil)
			}
		}
	}
	if len(dst) == before {
		return dst // a packed field without values
	}
	dst[before] = '[' // was the first comma
	return append(dst, ']')
}

// appendSingle appends one value: v, bit for bit, or content.
func appendSingle(dst []byte, f *spec, v uint64, content []byte) []byte {
	switch f.kind {
	case nested:
		return appendObject(dst, content, f.of)
	case text:
		return appendString(dst, content)
	case binaries:
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), content), '"')
	case traceID, spanID:
		return append(hex.AppendEncode(append(dst, '"'), content), '"')
	case boolean:
		return strconv.AppendBool(dst, v != 0)
	case double:
		return appendDouble(dst, math.Float64frombits(v))
	case int32s, enum:
		return strconv.AppendInt(dst, int64(int32(v)), 10)
	case sint32s:
		return strconv.AppendInt(dst, Zigzag(uint64(uint32(v))), 10)
	case uint32s, fixed32s:
		return strconv.AppendUint(dst, uint64(uint32(v)), 10)
	case int64s, sfixed64s:
		return append(strconv.AppendInt(append(dst, '"'), int64(v), 10), '"')
	}
	return append(strconv.AppendUint(append(dst, '"'), v, 10), '"')
}

// appendDouble writes the shortest decimal that reads back as v.
func appendDouble(dst []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Infinity"`...)
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, 64)
}

// appendString appends s as a JSON string.
func appendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x80 && c != '"' && c != '\\' {
			i++
			continue
		}
		size := 1
		if c >= 0x80 {
			var r rune
			if r, size = utf8.DecodeRune(s[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = appendEscape(append(dst, s[done:i]...), c)
		i += size
		done = i
	}
	return append(append(dst, s[done:]...), '"')
}

// appendEscape appends what stands in a string for the byte c, which cannot stand for itself.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	if c >= 0x80 {
		return append(dst, "\uFFFD"...)
	}
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}
