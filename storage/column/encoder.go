package column

import (
	"math"
	"slices"

	"mira/storage/otlp"
	"mira/storage/signal"
)

// An Encoder writes rows of a Table as OTLP. It finds the columns of every field once; use one
// for many rows. It may be used by several goroutines.
type Encoder struct {
	signal signal.Signal

	resource, scope, metric, record part

	points                             [len(metricTypes)]part
	metricType, temporality, monotonic *Column
}

// Encoder returns an Encoder for t, which holds records of s. A Table that lacks columns (a
// reader leaves out what a query did not ask for) gives records that lack those fields.
func (t *Table) Encoder(s signal.Signal) *Encoder {
	e := &Encoder{
		signal:   s,
		resource: t.part(LevelResource, msgResource, "resource."),
		scope:    t.part(LevelScope, msgScope, "scope."),
	}
	switch s {
	case signal.Logs:
		e.record = t.part(LevelRecord, msgLogRecord, "")
	case signal.Traces:
		e.record = t.part(LevelRecord, msgSpan, "")
	case signal.Metrics:
		e.metric = t.part(LevelMetric, msgMetric, "metric.")
		for i, m := range metricTypes {
			e.points[i] = t.part(LevelRecord, m.point, "")
		}
		e.metricType = t.typed("metric.type", String, 0)
		e.temporality = t.typed("metric.aggregation_temporality", Int, 0)
		e.monotonic = t.typed("metric.is_monotonic", Bool, 0)
	}
	return e
}

// AppendRequest appends one Export request with the rows, in their order; neighbours that share
// their resource, scope or metric share the message. With valid, strings that are not UTF-8 get
// U+FFFD where they are not; without it they come back as they were received.
func (e *Encoder) AppendRequest(dst []byte, rows []int, valid bool) []byte {
	for len(rows) > 0 {
		n := e.resource.run(rows)
		var mark, inner int
		dst, mark = otlp.Begin(dst, 1)
		dst, inner = otlp.Begin(dst, 1)
		dst = e.resource.append(dst, rows[0], valid)
		dst = endUnlessEmpty(dst, inner)
		for of := rows[:n]; len(of) > 0; {
			k := e.scope.run(of)
			dst = e.appendScopeGroup(dst, of[:k], valid)
			of = of[k:]
		}
		dst = appendURL(dst, e.resource.schemaURL(rows[0], valid))
		dst = otlp.End(dst, mark)
		rows = rows[n:]
	}
	return dst
}

// appendScopeGroup appends the rows of one scope as field 2 of the message around it.
func (e *Encoder) appendScopeGroup(dst []byte, rows []int, valid bool) []byte {
	var mark, inner int
	dst, mark = otlp.Begin(dst, 2)
	dst, inner = otlp.Begin(dst, 1)
	dst = e.scope.append(dst, rows[0], valid)
	dst = endUnlessEmpty(dst, inner)
	for of := rows; len(of) > 0; {
		k := 1
		if e.signal == signal.Metrics {
			k = e.metric.run(of)
		}
		dst, inner = otlp.Begin(dst, 2)
		dst = e.appendEntry(dst, of[:k], valid)
		dst = otlp.End(dst, inner)
		of = of[k:]
	}
	dst = appendURL(dst, e.scope.schemaURL(rows[0], valid))
	return otlp.End(dst, mark)
}

// AppendRecord appends the LogRecord or Span of a row, or a Metric with that one data point.
func (e *Encoder) AppendRecord(dst []byte, row int, valid bool) []byte {
	return e.appendEntry(dst, []int{row}, valid)
}

// AppendResource appends the Resource of a row and returns its schema_url beside it.
func (e *Encoder) AppendResource(dst []byte, row int, valid bool) (msg []byte, schemaURL string) {
	return e.resource.append(dst, row, valid), string(e.resource.schemaURL(row, valid))
}

// AppendScope appends the InstrumentationScope of a row and returns its schema_url beside it.
func (e *Encoder) AppendScope(dst []byte, row int, valid bool) (msg []byte, schemaURL string) {
	return e.scope.append(dst, row, valid), string(e.scope.schemaURL(row, valid))
}

// appendEntry appends a record, or a metric with the points in rows.
func (e *Encoder) appendEntry(dst []byte, rows []int, valid bool) []byte {
	row := rows[0]
	if e.signal != signal.Metrics {
		return e.record.append(dst, row, valid)
	}
	dst = e.metric.append(dst, row, valid)
	typ := e.typeOf(row)
	if typ < 0 {
		return dst
	}
	var mark, inner int
	dst, mark = otlp.Begin(dst, metricTypes[typ].num)
	for _, row := range rows {
		dst, inner = otlp.Begin(dst, dataPoints)
		dst = e.points[typ].append(dst, row, valid)
		dst = otlp.End(dst, inner)
	}
	if c := e.temporality; c != nil && !c.Null(row) {
		dst = otlp.AppendVarint(dst, dataTemporality, uint64(c.Ints[row]))
	}
	if c := e.monotonic; c != nil && !c.Null(row) && c.Bool(row) {
		dst = otlp.AppendVarint(dst, dataMonotonic, 1)
	}
	return otlp.End(dst, mark)
}

// typeOf returns the position in metricTypes of a row's type, or -1.
func (e *Encoder) typeOf(row int) int {
	if e.metricType == nil || e.metricType.Null(row) {
		return -1
	}
	name := e.metricType.Bytes(row)
	for i := range metricTypes {
		if metricTypes[i].name == string(name) {
			return i
		}
	}
	return -1
}

// AppendRequest is Encoder.AppendRequest for a Table that holds records of s.
func (t *Table) AppendRequest(dst []byte, s signal.Signal, rows []int, valid bool) []byte {
	return t.Encoder(s).AppendRequest(dst, rows, valid)
}

// AppendRecord is Encoder.AppendRecord for a single row.
func (t *Table) AppendRecord(dst []byte, s signal.Signal, row int, valid bool) []byte {
	return t.Encoder(s).AppendRecord(dst, row, valid)
}

// AppendResource is Encoder.AppendResource for a single row.
func (t *Table) AppendResource(dst []byte, row int, valid bool) (msg []byte, schemaURL string) {
	e := Encoder{resource: t.part(LevelResource, msgResource, "resource.")}
	return e.AppendResource(dst, row, valid)
}

// AppendScope is Encoder.AppendScope for a single row.
func (t *Table) AppendScope(dst []byte, row int, valid bool) (msg []byte, schemaURL string) {
	e := Encoder{scope: t.part(LevelScope, msgScope, "scope.")}
	return e.AppendScope(dst, row, valid)
}

func appendURL(dst, url []byte) []byte {
	if len(url) == 0 {
		return dst
	}
	return otlp.AppendBytes(dst, 3, url)
}

// endUnlessEmpty is otlp.End for a message that is left out when nothing is in it.
func endUnlessEmpty(dst []byte, mark int) []byte {
	if len(dst) == mark {
		return dst[:mark-2] // a tag of one byte, and the length
	}
	return otlp.End(dst, mark)
}

// part is one OTLP message of a row, with the columns its fields come from.
type part struct {
	message message
	fields  []bound
	attrs   []*Column
	number  int // of attributes
	over    *Column
	url     *Column
	columns []*Column // all of them
}

// bound is a field and its column.
type bound struct {
	*field
	col   *Column // nil for encMessage
	other *Column // encBody: the bodies that are not strings
	sub   []bound
}

// part finds the columns of m, whose own columns begin with name.
func (t *Table) part(l Level, m message, name string) part {
	p := part{message: m, url: t.typed(name+"schema_url", String, 0)}
	p.fields = bind(m, t.typed)
	for _, f := range messages[m] {
		if f.enc == encAttrs {
			p.number = f.num
		}
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Level != l {
			continue
		}
		p.columns = append(p.columns, c)
		switch {
		case c.Kind == KindOverflow && c.Type == Bytes:
			p.over = c
		case c.Kind != KindField && int(c.Kind) < len(kinds) && c.Type == kinds[c.Kind].typ:
			p.attrs = append(p.attrs, c)
		}
	}
	return p
}

// typed returns the fixed column of that name, or nil when there is none of that type.
func (t *Table) typed(name string, typ Type, width int) *Column {
	return typedColumn(t.Columns, name, typ, width)
}

func typedColumn(columns []Column, name string, typ Type, width int) *Column {
	i := slices.IndexFunc(columns, func(c Column) bool { return c.Name == name })
	if i < 0 || columns[i].Kind != KindField || columns[i].Type != typ || typ == Fixed && columns[i].Width != width {
		return nil
	}
	return &columns[i]
}

// bind finds the columns of the fields of m.
func bind(m message, column func(name string, typ Type, width int) *Column) (fields []bound) {
	for i := range messages[m] {
		b := bound{field: &messages[m][i]}
		switch b.enc {
		case encMessage:
			b.sub = bind(b.field.sub, column)
		case encList, encKeyValue:
			if b.col = column(b.name, List, 0); b.col == nil || b.col.Elem == nil || b.col.Elem.Type != Struct {
				continue
			}
			member := func(name string, typ Type, width int) *Column {
				return typedColumn(b.col.Elem.Fields, name, typ, width)
			}
			if b.enc == encList {
				b.sub = bind(b.field.sub, member)
				break
			}
			for _, m := range members {
				b.sub = append(b.sub, bound{col: member(m.name, m.typ, 0)})
			}
		case encPacked:
			if b.col = column(b.name, List, 0); b.col == nil || b.col.Elem == nil || b.col.Elem.Type != b.typ {
				continue
			}
		case encBody:
			b.col, b.other = column(b.name, String, 0), column(b.name+".any", Bytes, 0)
		default:
			if b.name == "" {
				continue
			}
			if b.col = column(b.name, b.typ, b.width()); b.col == nil {
				continue
			}
		}
		fields = append(fields, b)
	}
	return fields
}

// run returns how many of the rows at the front agree in every column of the message.
func (p *part) run(rows []int) int {
	n := 1
	for n < len(rows) && p.same(rows[n-1], rows[n]) {
		n++
	}
	return n
}

func (p *part) same(a, b int) bool {
	for _, c := range p.columns {
		if !c.same(a, b) {
			return false
		}
	}
	return true
}

// same reports whether two rows of a column of scalars agree.
func (c *Column) same(a, b int) bool {
	if c.Null(a) || c.Null(b) {
		return c.Null(a) == c.Null(b)
	}
	switch c.Type {
	case Bool:
		return c.Bool(a) == c.Bool(b)
	case Int, Uint, Time:
		return c.Ints[a] == c.Ints[b]
	case Double:
		return math.Float64bits(c.Floats[a]) == math.Float64bits(c.Floats[b])
	case String, Bytes, Fixed:
		return c.Index != nil && c.Index[a] == c.Index[b] || string(c.Bytes(a)) == string(c.Bytes(b))
	default:
		return false
	}
}
