package api

import (
	"time"

	"mira/storage/otlp"
	"mira/storage/query"
	"mira/storage/signal"
)

// rowWriter shows the records of Export requests as JSON objects.
type rowWriter struct {
	signal  signal.Signal
	columns *projection
	between string // separates two rows
	after   string // ends a row

	begun    bool // a row has been written
	resource part
	scope    part
	metric   part
	types    []byte // what the JSON written last does not tell, see note
	seen     [][]byte
}

// part is the share of a row that its neighbours have too. It is written once for all of them.
type part struct{ json, types []byte }

// set takes what has been written as the part's content.
func (w *rowWriter) set(p *part, json []byte) {
	p.json, p.types = json, append(p.types[:0], w.types...)
	w.types = w.types[:0]
}

// each calls fn with every length-delimited field num of b.
func each(b []byte, num int, fn func(content []byte)) {
	for i := 0; uint(i) < uint(len(b)); {
		n, typ, val, next := otlp.Field(b, i)
		if next < 0 {
			return
		}
		if n == num && typ == otlp.Bytes {
			fn(b[val:next])
		}
		i = next
	}
}

// only returns the content of the field num of b, all occurrences merged, as protobuf has it.
func only(b []byte, num int) (content []byte) {
	each(b, num, func(c []byte) {
		if content == nil {
			content = c
		} else {
			content = append(content[:len(content):len(content)], c...)
		}
	})
	return content
}

// Field numbers of the messages around records, the same for all signals.
const (
	requestGroups = 1 // ResourceLogs, ResourceSpans, ResourceMetrics
	groupHead     = 1 // Resource, InstrumentationScope
	groupItems    = 2 // the groups or records inside
	groupSchema   = 3 // schema_url
)

// append writes the rows of c.
func (w *rowWriter) append(dst []byte, c query.Chunk) []byte {
	times := c.Times
	each(c.Request, requestGroups, func(outer []byte) {
		w.set(&w.resource, w.appendResource(w.resource.json[:0], outer))
		each(outer, groupItems, func(inner []byte) {
			w.set(&w.scope, w.appendScope(w.scope.json[:0], inner))
			each(inner, groupItems, func(record []byte) {
				dst, times = w.appendItem(dst, record, times)
			})
		})
	})
	return dst
}

// appendItem writes a record, or the points of a metric. It takes their times off the list.
func (w *rowWriter) appendItem(dst, b []byte, times []uint64) ([]byte, []uint64) {
	switch w.signal {
	case signal.Logs:
		return w.appendRow(dst, b, logRecord, &times), times
	case signal.Traces:
		return w.appendRow(dst, b, span, &times), times
	}
	for i := 0; uint(i) < uint(len(b)); {
		num, typ, val, next := otlp.Field(b, i)
		if next < 0 {
			break
		}
		if t, ok := metricTypes[num]; ok && typ == otlp.Bytes {
			data := b[val:next]
			w.set(&w.metric, w.appendMetric(w.metric.json[:0], b, data, t))
			each(data, 1, func(point []byte) { dst = w.appendRow(dst, point, t.point, &times) })
		}
		i = next
	}
	return dst, times
}

// appendRow writes one row. Every piece starts with a comma; the first comma becomes the brace.
func (w *rowWriter) appendRow(dst, b []byte, m message, times *[]uint64) []byte {
	if len(*times) == 0 {
		return dst // more records than rows cannot be
	}
	at := (*times)[0]
	*times = (*times)[1:]
	if w.begun {
		dst = append(dst, w.between...)
	}
	w.begun = true
	start := len(dst)
	if w.columns.has("time") {
		dst = append(dst, `,"time":"`...)
		dst = append(appendTime(dst, at), '"')
	}
	dst = append(dst, w.metric.json...)
	w.types = w.types[:0]
	dst = w.appendFields(dst, b, m, true)
	dst = append(dst, w.resource.json...)
	dst = append(dst, w.scope.json...)
	dst = w.appendTypes(dst)
	return append(closed(dst, start), w.after...)
}

// closed makes the pieces behind start an object.
func closed(dst []byte, start int) []byte {
	if len(dst) == start {
		return append(dst, "{}"...)
	}
	dst[start] = '{'
	return append(dst, '}')
}

// appendTypes writes the notes of all parts.
func (w *rowWriter) appendTypes(dst []byte) []byte {
	mark := len(dst)
	dst = append(dst, `,"value_types":`...)
	start := len(dst)
	for _, notes := range [...][]byte{w.metric.types, w.types, w.resource.types, w.scope.types} {
		dst = append(dst, notes...)
	}
	if len(dst) == start {
		return dst[:mark]
	}
	return closed(dst, start)
}

// note remembers the type of an attribute value, or of a body, that its JSON does not tell: an
// integer, bytes and NaN look like strings.
func (w *rowWriter) note(object string, key []byte, typ string) {
	if typ == "" || object == "" {
		return
	}
	w.types = append(w.types, ',')
	path := append([]byte(object), key...)
	w.types = query.AppendJSONString(w.types, path)
	w.types = append(append(append(w.types, `:"`...), typ...), '"')
}

func (w *rowWriter) appendResource(dst, group []byte) []byte {
	dst = w.appendFields(dst, only(group, groupHead), resource, true)
	if url := only(group, groupSchema); len(url) > 0 && w.columns.has("resource.schema_url") {
		dst = query.AppendJSONString(append(dst, `,"resource.schema_url":`...), url)
	}
	return dst
}

func (w *rowWriter) appendScope(dst, group []byte) []byte {
	if !w.columns.hasScope() {
		return dst
	}
	dst = append(dst, `,"scope":`...)
	start := len(dst)
	var l layout
	head := only(group, groupHead)
	l.of(head)
	for i := range scope {
		f := &scope[i]
		if name := "scope." + f.name; l[f.num].times > 0 && w.columns.has(name) {
			dst = append(append(dst, ','), f.key...)
			dst = w.appendField(dst, head, f, &l[f.num], name)
		}
	}
	if url := only(group, groupSchema); len(url) > 0 && w.columns.has("scope.schema_url") {
		dst = query.AppendJSONString(append(dst, `,"schema_url":`...), url)
	}
	return closed(dst, start)
}

func (w *rowWriter) appendMetric(dst, b, data []byte, t metricType) []byte {
	dst = w.appendFields(dst, b, metric, true)
	if w.columns.has("metric.type") {
		dst = append(append(append(dst, `,"metric.type":"`...), t.name...), '"')
	}
	return w.appendFields(dst, data, t.data, true)
}

// appendTime writes a place in time as RFC 3339, always with nine decimals.
func appendTime(dst []byte, at uint64) []byte {
	const second = uint64(time.Second)
	// The layouts that time formats fast have no decimals, or only those that are not zero.
	dst = time.Unix(int64(at/second), 0).UTC().AppendFormat(dst, time.RFC3339)
	dst[len(dst)-1] = '.' // was Z
	for rest, digit := at%second, second/10; digit > 0; digit /= 10 {
		dst = append(dst, byte('0'+rest/digit%10))
	}
	return append(dst, 'Z')
}

func formatTime(at uint64) string { return string(appendTime(nil, at)) }
