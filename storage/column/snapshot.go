package column

import "bytes"

// Table returns what was appended so far. It shares the columns' memory and stays as it is while
// the Builder goes on: values are only ever added behind its end. Only the bitmaps, whose last
// byte goes on filling up, are copied.
//
// It must not run at the same time as Append.
func (b *Builder) Table() *Table {
	t := &Table{Rows: b.rows}
	add := func(s *series, c Column) {
		if s.empty() {
			return
		}
		s.snapshot(b.rows, &c)
		t.Columns = append(t.Columns, c)
	}
	add(&b.place, Column{Name: TimeName})
	for _, l := range []*level{&b.resource, &b.scope, &b.metric, &b.record} {
		for _, f := range l.fields {
			add(f.series, Column{Name: f.name, Level: l.id})
		}
		for _, s := range l.slots {
			add(&s.series, Column{Name: s.name, Level: l.id, Kind: s.kind, Key: s.key})
		}
		add(&l.overflow, Column{Name: l.name + "overflow", Level: l.id, Kind: KindOverflow})
	}
	return t
}

// empty reports whether the column has no value at all.
func (s *series) empty() bool {
	if !s.nulls {
		return s.n == 0
	}
	for _, b := range s.valid {
		if b != 0 {
			return false
		}
	}
	return true
}

// snapshot puts the values into c, after as many nulls as it takes to make rows of them.
func (s *series) snapshot(rows int, c *Column) {
	if s.n < rows {
		s.skip(rows - s.n)
	}
	c.Type, c.Width, c.Len = s.typ, s.width, rows
	if s.nulls {
		c.Valid = bytes.Clone(s.valid)
	}
	switch s.typ {
	case Int, Uint, Time:
		c.Ints = s.ints[:rows:rows]
	case Double:
		c.Floats = s.floats[:rows:rows]
	case Bool:
		c.Bits = bytes.Clone(s.bits)
	case Fixed:
		c.Data = s.data[: rows*s.width : rows*s.width]
	case String, Bytes:
		if s.dict != nil {
			c.Index, c.Dict = s.index[:rows:rows], s.dict.snapshot()
			return
		}
		c.Offsets, c.Data = s.offsets[:rows+1:rows+1], s.data[:len(s.data):len(s.data)]
	case List:
		c.Offsets, c.Elem = s.offsets[:rows+1:rows+1], &Column{Name: "item"}
		s.elem.snapshot(s.elem.n, c.Elem)
	case Struct:
		c.Fields = make([]Column, len(s.fields))
		for i, f := range s.fields {
			c.Fields[i].Name = s.names[i]
			f.snapshot(rows, &c.Fields[i])
		}
	}
}

func (d *dict) snapshot() *Dict {
	return &Dict{Offsets: d.offsets[:len(d.offsets):len(d.offsets)], Data: d.data[:len(d.data):len(d.data)]}
}
