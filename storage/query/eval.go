package query

import (
	"mira/storage/column"
)

// node is a truth value of every row.
type node interface {
	bind(t *column.Table) pred
}

// pred is a node bound to the columns of one table. Not safe for concurrent use.
type pred struct {
	fn    func(row int) bool
	known bool // the same for all rows, because of the columns the table has
	value bool // what, if known
}

func known(v bool) pred { return pred{known: true, value: v} }

func (p pred) at(row int) bool {
	if p.known {
		return p.value
	}
	return p.fn(row)
}

type constant bool

func (c constant) bind(*column.Table) pred { return known(bool(c)) }

type not struct{ n node }

func (n not) bind(t *column.Table) pred {
	p := n.n.bind(t)
	if p.known {
		return known(!p.value)
	}
	return pred{fn: func(row int) bool { return !p.fn(row) }}
}

type (
	and []node
	or  []node
)

func (n and) bind(t *column.Table) pred { return bindAll(n, t, false) }
func (n or) bind(t *column.Table) pred  { return bindAll(n, t, true) }

// bindAll joins nodes of which the first that yields decisive decides: false for and, true for or.
func bindAll(nodes []node, t *column.Table, decisive bool) pred {
	var parts []func(int) bool
	for _, n := range nodes {
		p := n.bind(t)
		if p.known && p.value == decisive {
			return known(decisive)
		}
		if !p.known {
			parts = append(parts, p.fn)
		}
	}
	switch len(parts) {
	case 0:
		return known(!decisive)
	case 1:
		return pred{fn: parts[0]}
	}
	return pred{fn: func(row int) bool {
		for _, p := range parts {
			if p(row) == decisive {
				return decisive
			}
		}
		return !decisive
	}}
}

// expr is a value of every row.
type expr interface {
	bind(t *column.Table) source
}

// source is an expr bound to the columns of one table.
type source struct {
	fn    func(row int) value
	known bool // the same for all rows
	value value
	dict  *column.Column // if not nil, equal dictionary indices of this column mean equal values
}

func (s source) at(row int) value {
	if s.known {
		return s.value
	}
	return s.fn(row)
}

type literal struct{ value }

func (l literal) bind(*column.Table) source { return source{known: true, value: l.value} }

// truth is a node in the place of an expr.
type truth struct{ node }

func (n truth) bind(t *column.Table) source {
	p := n.node.bind(t)
	if p.known {
		return source{known: true, value: boolValue(p.value)}
	}
	return source{fn: func(row int) value { return boolValue(p.fn(row)) }}
}

// call applies a function of one value.
type call struct {
	arg expr
	fn  func(value) value
}

func (c call) bind(t *column.Table) source {
	s := c.arg.bind(t)
	if s.known {
		return source{known: true, value: c.fn(s.value)}
	}
	return source{fn: func(row int) value { return c.fn(s.fn(row)) }, dict: s.dict}
}

// test asks something about one value. For a dictionary column it asks once per entry.
type test struct {
	arg expr
	fn  func(value) bool
}

func (n test) bind(t *column.Table) pred {
	s := n.arg.bind(t)
	if s.known {
		return known(n.fn(s.value))
	}
	if s.dict == nil || s.dict.Index == nil {
		return pred{fn: func(row int) bool { return n.fn(s.fn(row)) }}
	}
	const asked, yes = 1, 2
	c := s.dict
	answers := make([]uint8, c.Dict.Len()+1) // the last is for null
	return pred{fn: func(row int) bool {
		i := len(answers) - 1
		if !c.Null(row) {
			i = int(c.Index[row])
		}
		if answers[i] == 0 {
			answers[i] = asked
			if n.fn(s.fn(row)) {
				answers[i] |= yes
			}
		}
		return answers[i]&yes != 0
	}}
}

// comparison builds the node "left op right".
func comparison(left expr, op operator, right expr) node {
	if l, ok := left.(literal); ok {
		left, right, op = right, l, op.mirror()
	}
	l, ok := right.(literal)
	if !ok {
		return comparing{left, right, op}
	}
	want := l.value
	return test{left, func(v value) bool { return compare(v, want, op) }}
}

// comparing compares two values of a row.
type comparing struct {
	left, right expr
	op          operator
}

func (n comparing) bind(t *column.Table) pred {
	l, r := n.left.bind(t), n.right.bind(t)
	if l.known && r.known {
		return known(compare(l.value, r.value, n.op))
	}
	return pred{fn: func(row int) bool { return compare(l.at(row), r.at(row), n.op) }}
}

// wants reports whether the filter may read column c.
func (f *Filter) wants(c *column.Column) bool {
	for _, p := range f.paths {
		if p.wants(c) {
			return true
		}
	}
	return false
}

// bind prepares the filter for one table, of which only the columns it wants need be there.
func (f *Filter) bind(t *column.Table) pred { return f.root.bind(t) }
