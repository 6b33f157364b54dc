package api

import (
	"math"

	"mira/storage/block"
	"mira/storage/column"
	"mira/storage/query"
)

// arrow sends rows as one Arrow stream: a page, or page after page until there is no more.
//
// A stream says first which columns it has. A page tells its own; when there are more pages, they
// are all read twice, the first time for their columns only.
func (a *answer) arrow() error {
	a.w.Header().Set("Trailer", headerNext+", "+headerStats)
	union, table := &column.Union{}, a.table()
	union.Add(table, a.shows)
	if a.q.all && a.page.Next != nil {
		if err := a.learn(union); err != nil {
			return err
		}
		table = a.table()
	}
	stream, err := block.NewStream(steady{a}, union.Columns)
	if err != nil {
		return err
	}
	var sum query.Stats
	for {
		if err := stream.Write(union.Shape(table)); err != nil {
			return begun{err}
		}
		sum.Add(a.page.Stats)
		if !a.q.all || a.page.Next == nil {
			break
		}
		if err := a.turn(); err != nil {
			return begun{err}
		}
		table = a.table()
	}
	if err := stream.Close(); err != nil {
		return begun{err}
	}
	a.page.Stats = sum
	a.headers()
	return nil
}

// turn goes to the next page.
func (a *answer) turn() (err error) {
	a.page, err = a.scan.Page(a.ctx)
	return err
}

// learn adds the columns of all pages to union, and returns to the first page.
func (a *answer) learn(union *column.Union) error {
	for a.page.Next != nil {
		if err := a.turn(); err != nil {
			return err
		}
		union.Add(a.table(), a.shows)
	}
	a.scan.Rewind()
	return a.turn()
}

// table returns the page as columns: the place in time, and then those of a block.
func (a *answer) table() *column.Table {
	b := column.NewBuilder(a.q.Signal, column.Options{MaxColumns: math.MaxInt32})
	at := column.Column{Name: "time", Type: column.Time}
	for _, c := range a.page.Chunks {
		b.Append(c.Request, 0)
		for _, t := range c.Times {
			at.Ints = append(at.Ints, int64(t))
		}
	}
	t := b.Table()
	at.Len = t.Rows
	t.Columns = append([]column.Column{at}, t.Columns...)
	return t
}

// shows reports whether an Arrow answer has the column. The place in time that a block keeps is
// in "time", for every row; what no column takes is not part of a projection.
func (a *answer) shows(c *column.Column) bool {
	switch {
	case c.Name == column.TimeName:
		return false
	case a.q.columns == nil:
		return true
	case c.Level == column.LevelNone:
		return a.q.columns.has("time")
	}
	return c.Kind != column.KindOverflow && a.q.columns.wants(c)
}

// steady is an answer as a writer: the client gets a minute for every piece.
type steady struct{ a *answer }

// Write sends p.
func (s steady) Write(p []byte) (int, error) {
	if err := s.a.write(p); err != nil {
		return 0, err
	}
	return len(p), nil
}
