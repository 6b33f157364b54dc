package otlp

import (
	"fmt"
	"slices"
	"strings"
)

// MaxDepth is how many arrays and maps may stand inside each other in one AnyValue: 64 levels
// are accepted, 65 refused. SDKs stop at 64 by default, so nothing they send is lost, and a
// reader that recurses per level needs no more than that of its stack.
const MaxDepth = 64

// MaxShared is how often the attributes of resources and scopes may be repeated over one request:
// every record under them has a cell in each of their columns, however few bytes it came in.
const MaxShared = 32 << 20

// Error says why bytes are not an Export request.
type Error struct {
	Offset int    // of the offending field or JSON value
	Reason string // the path of the field and the rule it breaks; valid UTF-8
}

func (e *Error) Error() string { return fmt.Sprintf("%s (at byte %d)", e.Reason, e.Offset) }

// CheckLogs reports whether b is an ExportLogsServiceRequest and how many log records it holds.
//
// The structure is checked at every level: wire types of known fields, lengths, lengths of ids,
// depth of values, MaxShared. Unknown fields are skipped. Strings are not checked to be UTF-8. The error is
// an *Error.
//
// A reader of b may rely on all of that, and must read it as protobuf does: of a singular scalar
// that occurs twice the last counts, a singular message that occurs twice merges.
func CheckLogs(b []byte) (records int, err error) { return check(b, logsRequest) }

// CheckTraces is CheckLogs for an ExportTraceServiceRequest; its records are spans.
func CheckTraces(b []byte) (records int, err error) { return check(b, tracesRequest) }

// CheckMetrics is CheckLogs for an ExportMetricsServiceRequest; its records are data points.
//
// When a metric carries several kinds of data, the last kind is its data and the points of the
// others do not count: they are not there. The same kind twice merges, like any message.
func CheckMetrics(b []byte) (records int, err error) { return check(b, metricsRequest) }

func check(b []byte, m id) (int, error) {
	var w walk
	if !w.message(b, 0, m, 0) {
		return 0, w.err()
	}
	return w.records, nil
}

// A walk is one pass of Check over a request. Its methods take the request cut off at the end of
// the message they look at, so that every index is an offset in the request.
type walk struct {
	records int
	shared  int // attributes of the resource or scope whose records are being counted
	cells   int // attributes of resources and scopes, once per record under them

	// Why and where the walk ended, when it was refused.
	offset int
	reason string
	path   []string // innermost field first
}

// message checks b[i:] as a message of kind m, depth levels deep in an AnyValue.
func (w *walk) message(b []byte, i int, m id, depth int) bool {
	for i < len(b) {
		if i = w.field(b, i, m, depth); i < 0 {
			return false
		}
	}
	return true
}

// field checks the field at b[i] of a message of kind m and returns where the next one starts,
// or -1.
func (w *walk) field(b []byte, i int, m id, depth int) int {
	num, typ, val, next := Field(b, i)
	if next < 0 {
		return w.refuse(i, fault(b, i))
	}
	if num >= width {
		return next
	}
	f := &schema[m][num]
	if f.kind == unknown {
		return next
	}
	if typ != wires[f.kind] && (typ != Bytes || !f.packable() || !packed(b[:next], int(val), wires[f.kind])) {
		w.refuse(i, fmt.Sprintf("wire type %d, want %d", typ, wires[f.kind]))
		return w.in(f)
	}
	size := next - int(val)
	switch {
	case f.kind == nested:
		if !w.nested(b[:next], int(val), f, depth) {
			return w.in(f)
		}
	case f.kind == traceID && size != 0 && size != 16:
		w.refuse(i, fmt.Sprintf("%d bytes, want 16 or 0", size))
		return w.in(f)
	case f.kind == spanID && size != 0 && size != 8:
		w.refuse(i, fmt.Sprintf("%d bytes, want 8 or 0", size))
		return w.in(f)
	}
	return next
}

// nested checks b[i:] as the content of f, a message.
func (w *walk) nested(b []byte, i int, f *spec, depth int) bool {
	if f.is(record) {
		w.records++
	}
	if f.is(shared) {
		w.shared++
	}
	if f.is(deeper) {
		if depth++; depth > MaxDepth {
			w.refuse(i, fmt.Sprintf("arrays and maps nested more than %d deep", MaxDepth))
			return false
		}
	}
	switch f.of {
	case logRecord:
		return w.logRecord(b, i)
	case resourceLogs, resourceSpans, resourceMetrics, scopeLogs, scopeSpans, scopeMetrics:
		return w.group(b, i, f.of)
	case keyValue:
		return plainAttribute(b[i:]) || w.message(b, i, keyValue, depth)
	case metric:
		return w.metric(b, i)
	}
	return w.message(b, i, f.of, depth)
}

// group checks b[i:] as records and the resource or scope that they share.
func (w *walk) group(b []byte, i int, m id) bool {
	outer, before := w.shared, w.records
	w.shared = 0
	if !w.message(b, i, m, 0) {
		return false
	}
	w.cells += w.shared * (w.records - before)
	w.shared = outer
	if w.cells > MaxShared {
		w.refuse(i, fmt.Sprintf("resource and scope attributes repeated over their records more than %d times: send it in parts", MaxShared))
		return false
	}
	return true
}

// metric counts the points of the metric's last kind of data only.
func (w *walk) metric(b []byte, i int) bool {
	start, kind := w.records, 0
	for i < len(b) {
		before := w.records
		num, _, _ := Tag(b, i)
		if i = w.field(b, i, metric, 0); i < 0 {
			return false
		}
		if num >= width || !schema[metric][num].is(choice) {
			continue
		}
		if kind != 0 && kind != num {
			w.records = start + w.records - before
		}
		kind = num
	}
	return true
}

// packed reports whether b[i:] is a sequence of whole values of the wire type.
func packed(b []byte, i int, typ Type) bool {
	switch typ {
	case Fixed64:
		return (len(b)-i)%8 == 0
	case Varint:
		for uint(i) < uint(len(b)) {
			_, i = Uvarint(b, i)
		}
		return i >= 0
	}
	return false
}

// fault says what Field did not like at b[i].
func fault(b []byte, i int) string {
	num, typ, next := Tag(b, i)
	switch {
	case next < 0:
		return "not a field tag"
	case typ == EndGroup:
		return "the end of a group that never began"
	case typ == StartGroup:
		return fmt.Sprintf("field %d: a group that does not end, or nests more than %d deep", num, maxGroups)
	}
	return fmt.Sprintf("field %d: does not end inside its message, or has more than 64 bits", num)
}

// refuse notes why and where; it returns -1 for the caller to pass on.
func (w *walk) refuse(i int, reason string) int {
	w.offset, w.reason = i, reason
	return -1
}

// in adds f to the path of what was refused.
func (w *walk) in(f *spec) int {
	w.path = append(w.path, f.name)
	return -1
}

func (w *walk) err() error {
	slices.Reverse(w.path)
	return &Error{Offset: w.offset, Reason: place(w.path) + w.reason}
}

// place turns the path of a field, outermost first, into the beginning of a sentence. Only the
// outer part of a long one is worth reading.
func place(path []string) string {
	const most = 12
	switch {
	case len(path) == 0:
		return ""
	case len(path) > most:
		return strings.Join(path[:most], ".") + "...: "
	}
	return strings.Join(path, ".") + ": "
}
