package query

import (
	"mira/storage/column"
)

func (p *path) bind(t *column.Table) source {
	var reads []func(int) (value, bool)
	var only, overflow, types *column.Column
	for i := range t.Columns {
		c := &t.Columns[i]
		switch {
		case !p.wants(c):
		case c.Level != p.level:
			types = c
		case c.Kind == column.KindOverflow:
			overflow = c
		default:
			only = c
			reads = append(reads, p.reader(c))
		}
	}
	if overflow != nil {
		reads = append(reads, p.overflowReader(overflow, types))
	}
	switch len(reads) {
	case 0:
		return source{known: true, value: p.inside(p.missing)}
	case 1:
		read := reads[0]
		s := source{fn: func(row int) value {
			v, ok := read(row)
			if !ok {
				v = p.missing
			}
			return p.inside(v)
		}}
		if overflow == nil {
			s.dict = only
		}
		return s
	}
	return source{fn: func(row int) value {
		for _, read := range reads {
			if v, ok := read(row); ok {
				return p.inside(v)
			}
		}
		return p.inside(p.missing)
	}}
}

// inside follows the path's further keys.
func (p *path) inside(v value) value {
	for _, k := range p.rest {
		v = v.index(k)
	}
	return v
}

// reader returns the values of c; the second result is false for null.
func (p *path) reader(c *column.Column) func(int) (value, bool) {
	decode := decoder(c)
	switch {
	case c.Type == column.Bytes && (p.any || c.Kind == column.KindAny):
		decode = func(row int) value { return anyValue(c.Bytes(row)) }
	case c.Type == column.Fixed && p.id:
		decode = func(row int) value { return idValue(c.Bytes(row)) }
	}
	return func(row int) (value, bool) {
		if c.Null(row) {
			return value{}, false
		}
		return decode(row), true
	}
}

func decoder(c *column.Column) func(int) value {
	switch c.Type {
	case column.Bool:
		return func(row int) value { return boolValue(c.Bool(row)) }
	case column.Int:
		return func(row int) value { return intValue(c.Ints[row]) }
	case column.Uint, column.Time:
		return func(row int) value { return uintValue(uint64(c.Ints[row])) }
	case column.Double:
		return func(row int) value { return doubleValue(c.Floats[row]) }
	case column.String:
		return func(row int) value { return value{kind: kindString, raw: c.Bytes(row)} }
	case column.Bytes, column.Fixed:
		return func(row int) value { return value{kind: kindBytes, raw: c.Bytes(row)} }
	default:
		return func(int) value { return value{} }
	}
}

// overflowReader looks for the path's field among the raw ones no column took.
func (p *path) overflowReader(c, types *column.Column) func(int) (value, bool) {
	return func(row int) (value, bool) {
		if c.Null(row) {
			return value{}, false
		}
		b := c.Bytes(row)
		if p.keyed {
			return findPair(b, p.attributesNumber(types, row), p.attribute)
		}
		return p.findField(b)
	}
}

// attributesNumber is the field that holds the attributes in the path's message in that row.
func (p *path) attributesNumber(types *column.Column, row int) int {
	if p.level != column.LevelRecord {
		return attributeNumbers[p.level]
	}
	if n, ok := recordAttributes[p.sig]; ok {
		return n
	}
	if types == nil || types.Type != column.String || types.Null(row) {
		return 0
	}
	return pointAttributes[string(types.Bytes(row))]
}

const statusMessage = 2

// findField decodes the last occurrence of the path's field: only strings and bodies come here,
// because their text was not valid UTF-8.
func (p *path) findField(b []byte) (v value, ok bool) {
	eachField(b, func(n int, _ uint64, raw []byte) bool {
		switch {
		case n != p.number:
		case p.any:
			v, ok = anyValue(raw), true
		case p.column == "status.message":
			eachField(raw, func(n int, _ uint64, text []byte) bool {
				if n == statusMessage {
					v, ok = value{kind: kindString, raw: validText(text)}, true
				}
				return true
			})
		default:
			v, ok = value{kind: kindString, raw: validText(raw)}, true
		}
		return true
	})
	return v, ok
}

// elapsed is how long a span took, in nanoseconds: negative when it ends before it starts, nil
// when one of its times is unknown.
type elapsed struct{ start, end *path }

func newElapsed() *elapsed {
	at := func(name string) *path { return &path{field: record(name, unsetInt, 0)} }
	return &elapsed{start: at("start_time_unix_nano"), end: at("end_time_unix_nano")}
}

func (e *elapsed) bind(t *column.Table) source {
	start, end := e.start.bind(t), e.end.bind(t)
	return source{fn: func(row int) value {
		from, to := start.at(row), end.at(row)
		if from.num == 0 || to.num == 0 {
			return value{}
		}
		return intValue(to.num - from.num)
	}}
}
