package query

import (
	"context"

	"mira/storage/column"
)

// Batch is the rows of one row group that a Query selects. It is valid until Visit returns.
type Batch struct {
	Table *column.Table // with the columns that Query.Want names
	Rows  []int32       // the selected rows of Table, ascending
	Times column.Times  // of all rows of Table
}

// Visitor takes batches. One Visitor is used by one goroutine.
type Visitor interface {
	Visit(b *Batch) error
}

// Visit shows every row that q selects to visitors, which newVisitor makes, in no order. Limit,
// After and Ascending do not count. It returns the visitors, whose findings the caller joins. A
// block found damaged is left out from then on; what a Visitor has seen of it, it has seen.
func Visit(ctx context.Context, src Source, q Query, newVisitor func() Visitor) ([]Visitor, Stats, error) {
	s, err := Open(ctx, src, q)
	if err != nil {
		return nil, Stats{}, err
	}
	v := newVisitor()
	stats := Stats{BlocksTotal: s.total}
	for _, p := range s.parts {
		if err := s.visitPart(ctx, p, v, &stats); err != nil {
			if err := s.leaveOut(p, err, &stats); err != nil {
				return nil, stats, err
			}
		}
	}
	return []Visitor{v}, stats, nil
}

func (s *Scan) visitPart(ctx context.Context, p *part, v Visitor, stats *Stats) error {
	if p.open != nil {
		stats.BlocksScanned++
		return s.visitGroup(ctx, p.open, v, stats)
	}
	r, err := s.src.OpenBlock(p.info)
	if err != nil {
		return err
	}
	defer r.Close()
	if f := s.q.Filter.bind(&column.Table{Columns: r.Fields()}); f.known && !f.value {
		return nil
	}
	stats.BlocksScanned++
	for g := range r.Groups() {
		t, err := r.Group(g, func(c *column.Column) bool { return s.wantsToScan(c) || s.wantsToShow(c) })
		if err != nil {
			return err
		}
		stats.BytesRead += valueBytes(t.Columns)
		if err := s.visitGroup(ctx, t, v, stats); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scan) visitGroup(ctx context.Context, t *column.Table, v Visitor, stats *Stats) error {
	stats.RowsScanned += int64(t.Rows)
	accepts, times := s.q.Filter.bind(t), t.Times(s.q.Signal)
	b := Batch{Table: t, Times: times}
	for i := range t.Rows {
		if s.q.includes(times.At(i)) && accepts.at(i) {
			b.Rows = append(b.Rows, int32(i))
		}
	}
	stats.RowsMatched += int64(len(b.Rows))
	if ctx.Err() != nil || len(b.Rows) == 0 {
		return ctx.Err()
	}
	return v.Visit(&b)
}
