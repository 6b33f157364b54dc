package column

// Union is the columns that several Tables of one signal have together, without values. A column is
// the same in two Tables when it belongs to the same field, or to the same key with the same type:
// its name may differ, because the first type of a key that a Table sees has the plain name.
type Union struct {
	Columns []Column
	at      map[identity]int
	names   map[string]bool
}

// identity says what a column is, whatever its Table calls it.
type identity struct {
	name  string // of a field
	key   string
	level Level
	kind  Kind
}

func (c *Column) identity() identity {
	id := identity{key: c.Key, level: c.Level, kind: c.Kind}
	if c.Kind == KindField || c.Kind == KindOverflow {
		id.name = c.Name
	}
	return id
}

// Add takes in those columns of t that wants accepts; nil accepts all.
func (u *Union) Add(t *Table, wants func(*Column) bool) {
	if u.at == nil {
		u.at, u.names = map[identity]int{}, map[string]bool{}
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if _, there := u.at[c.identity()]; there || wants != nil && !wants(c) {
			continue
		}
		u.at[c.identity()] = len(u.Columns)
		o := c.outline()
		if c.Kind != KindField && c.Kind != KindOverflow {
			o.Name = freeName(u.names, attributePrefix[c.Level]+c.Key, c.Kind)
		}
		u.Columns = append(u.Columns, o)
	}
}

// attributePrefix is what the names of a level's attribute columns begin with.
var attributePrefix = [...]string{
	LevelNone: "", LevelRecord: "attributes.", LevelScope: "scope.attributes.",
	LevelResource: "resource.attributes.", LevelMetric: "metric.metadata.",
}

// Shape returns t with exactly the columns of u: nulls where t lacks one.
func (u *Union) Shape(t *Table) *Table {
	shaped := &Table{Rows: t.Rows, Columns: make([]Column, len(u.Columns))}
	have := make([]bool, len(u.Columns))
	for i := range t.Columns {
		if n, ok := u.at[t.Columns[i].identity()]; ok {
			shaped.Columns[n] = t.Columns[i]
			shaped.Columns[n].Name = u.Columns[n].Name
			have[n] = true
		}
	}
	for n := range have {
		if !have[n] {
			shaped.Columns[n] = u.Columns[n].Nulls(t.Rows)
		}
	}
	return shaped
}

// outline returns c, and all below it, without values.
func (c *Column) outline() Column {
	o := Column{Name: c.Name, Level: c.Level, Kind: c.Kind, Key: c.Key, Type: c.Type, Width: c.Width}
	if c.Elem != nil {
		elem := c.Elem.outline()
		o.Elem = &elem
	}
	for i := range c.Fields {
		o.Fields = append(o.Fields, c.Fields[i].outline())
	}
	return o
}

// Nulls returns a column like c of n nulls.
func (c *Column) Nulls(n int) Column {
	o := c.outline()
	o.Len, o.Valid = n, make([]byte, (n+7)/8)
	switch c.Type {
	case Int, Uint, Time:
		o.Ints = make([]int64, n)
	case Double:
		o.Floats = make([]float64, n)
	case Bool:
		o.Bits = make([]byte, (n+7)/8)
	case Fixed:
		o.Data = make([]byte, n*c.Width)
	case String, Bytes:
		o.Offsets = make([]int32, n+1)
	case List:
		o.Offsets = make([]int32, n+1)
		elem := c.Elem.Nulls(0)
		o.Elem = &elem
	case Struct:
		for i := range o.Fields {
			o.Fields[i] = c.Fields[i].Nulls(n)
		}
	}
	return o
}
