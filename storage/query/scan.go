package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"mira/storage/block"
	"mira/storage/column"
)

// Scan answers one Query, a page at a time, from one Snapshot.
type Scan struct {
	src   Source
	q     Query
	parts []*part // in the order of compareBlocks
	order []int   // of parts, in which they are looked at: the promising first
	after *Position
	total int
	done  bool
}

// part is one block of the snapshot: published, or still open.
type part struct {
	info     block.Info    // ID, Min and Max are set for open ones too
	open     *column.Table // nil: published
	leaveOut bool          // damaged, gone, or without a row that the filter could accept
}

// Open takes the snapshot that the pages of q will come from.
func Open(ctx context.Context, src Source, q Query) (*Scan, error) {
	snap, err := src.Snapshot(ctx, q.Signal, q.Start, q.End)
	if err != nil {
		return nil, err
	}
	if q.Limit == 0 {
		q.Limit = 100
	}
	if q.Filter == nil {
		q.Filter = &Filter{root: constant(true)}
	}
	s := &Scan{src: src, q: q, after: q.After}
	for _, i := range snap.Blocks {
		s.parts = append(s.parts, &part{info: i})
	}
	for _, v := range snap.Open {
		if v.Table.Rows == 0 {
			continue
		}
		p := &part{info: block.Info{ID: v.ID}, open: v.Table}
		p.info.Min, p.info.Max = span(v.Table.Times(q.Signal), v.Table.Rows)
		s.parts = append(s.parts, p)
	}
	s.parts = slices.DeleteFunc(s.parts, func(p *part) bool { return !q.overlaps(p) })
	s.total = len(s.parts)
	slices.SortFunc(s.parts, func(a, b *part) int { return compareBlocks(a.info.ID, b.info.ID) })
	s.arrange()
	return s, nil
}

// span returns the earliest and the latest of the times of rows records.
func span(times column.Times, rows int) (low, high uint64) {
	low = Forever
	for i := range rows {
		at := times.At(i)
		low, high = min(low, at), max(high, at)
	}
	return low, high
}

func (q *Query) overlaps(p *part) bool {
	return p.info.Max >= q.Start && (q.End == Forever || p.info.Min < q.End)
}

func (q *Query) includes(at uint64) bool {
	return at >= q.Start && (at < q.End || q.End == Forever)
}

// arrange decides the order in which parts are looked at: so that the first rows of the answer
// are found first, and blocks that lie behind them need not be read.
func (s *Scan) arrange() {
	s.order = make([]int, len(s.parts))
	for i := range s.order {
		s.order[i] = i
	}
	slices.SortStableFunc(s.order, func(a, b int) int {
		x, y := s.parts[a].info, s.parts[b].info
		if s.q.Ascending {
			return cmp.Compare(x.Min, y.Min)
		}
		return cmp.Compare(y.Max, x.Max)
	})
}

// Page returns the next rows: Limit of them, fewer when they are very large or the last. A page
// without a Next is the last one.
func (s *Scan) Page(ctx context.Context) (*Page, error) {
	began := time.Now()
	page := &Page{}
	for {
		// A block found damaged takes its rows away from a page that may have counted on
		// them, so the page is begun again without it.
		again, err := s.attempt(ctx, page)
		if err != nil {
			return nil, err
		}
		if !again {
			break
		}
	}
	s.after, s.done = page.Next, page.Next == nil
	page.Stats.BlocksTotal = s.total
	page.Stats.ElapsedMicros = time.Since(began).Microseconds()
	return page, nil
}

// Rewind makes the next page the first one again.
func (s *Scan) Rewind() { s.after, s.done = s.q.After, false }

// attempt selects the rows of a page and reads them. again says that a block had to be left out.
func (s *Scan) attempt(ctx context.Context, page *Page) (again bool, err error) {
	if s.done {
		return false, nil
	}
	top := &topK{max: s.q.Limit + 1, ascending: s.q.Ascending}
	for _, i := range s.order {
		p := s.parts[i]
		if s.passes(p, top) {
			continue
		}
		if err := s.scanPart(ctx, int32(i), top, &page.Stats); err != nil {
			return true, s.leaveOut(p, err, &page.Stats)
		}
	}
	refs := top.sorted()
	more := len(refs) > s.q.Limit
	if more {
		refs = refs[:s.q.Limit]
	}
	bad, err := s.read(ctx, refs, more, page)
	if err != nil {
		return true, s.leaveOut(bad, err, &page.Stats)
	}
	return false, nil
}

// passes reports whether no row of p can be among the page's.
func (s *Scan) passes(p *part, top *topK) bool {
	if p.leaveOut {
		return true
	}
	if s.q.Ascending {
		return s.after != nil && p.info.Max < s.after.Time || top.full() && p.info.Min > top.refs[0].time
	}
	return s.after != nil && p.info.Min > s.after.Time || top.full() && p.info.Max < top.refs[0].time
}

// leaveOut excludes p because of err when that is about the block alone. It returns the errors
// that end the query.
func (s *Scan) leaveOut(p *part, err error, stats *Stats) error {
	var corrupt *block.CorruptError
	switch {
	case p.open != nil:
		return err
	case errors.As(err, &corrupt):
		s.src.Damaged(p.info, err)
		stats.BlocksDamaged++
	case errors.Is(err, fs.ErrNotExist), // expired or merged since the snapshot
		errors.Is(err, block.ErrFormat): // whole, and for a later version to read
		stats.BlocksMissing++
	default:
		return fmt.Errorf("read block %s: %w", p.info.Path(), err)
	}
	p.leaveOut = true
	return nil
}

// scanPart adds the rows of part i that belong to the answer to top.
func (s *Scan) scanPart(ctx context.Context, i int32, top *topK, stats *Stats) error {
	p := s.parts[i]
	if p.open != nil {
		stats.BlocksScanned++
		return s.scanGroup(ctx, ref{part: i}, p.open, top, stats)
	}
	r, err := s.src.OpenBlock(p.info)
	if err != nil {
		return err
	}
	defer r.Close()
	if f := s.q.Filter.bind(&column.Table{Columns: r.Fields()}); f.known && !f.value {
		p.leaveOut = true // a column that the filter needs is not there
		return nil
	}
	stats.BlocksScanned++
	bases := groupBases(r)
	for n := range r.Groups() {
		g := n
		if !s.q.Ascending {
			g = r.Groups() - 1 - n // the later rows are in the later groups, mostly
		}
		t, err := r.Group(g, s.wantsToScan)
		if err != nil {
			return err
		}
		stats.BytesRead += valueBytes(t.Columns)
		if err := s.scanGroup(ctx, ref{part: i, group: int32(g), row: int32(bases[g])}, t, top, stats); err != nil {
			return err
		}
	}
	return nil
}

// groupBases returns the number of the first row of each row group.
func groupBases(r *block.Reader) []int {
	bases, row := make([]int, r.Groups()), 0
	for i := range bases {
		bases[i] = row
		row += r.GroupRows(i)
	}
	return bases
}

func (s *Scan) wantsToScan(c *column.Column) bool {
	return c.Name == column.TimeName || c.Name == column.OwnTimeName(s.q.Signal) || s.q.Filter.wants(c)
}

// scanGroup adds the rows of t that belong to the answer to top. first is the ref of row 0.
func (s *Scan) scanGroup(ctx context.Context, first ref, t *column.Table, top *topK, stats *Stats) error {
	stats.RowsScanned += int64(t.Rows)
	accepts := s.q.Filter.bind(t)
	if accepts.known && !accepts.value {
		return nil
	}
	times := t.Times(s.q.Signal)
	behind := s.position(first.part)
	for n := range t.Rows {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		i := n
		if !s.q.Ascending {
			i = t.Rows - 1 - n
		}
		r := first
		r.time, r.row = times.At(i), first.row+int32(i)
		if s.q.includes(r.time) && behind(r) && top.takes(r) && accepts.at(i) {
			stats.RowsMatched++
			top.add(r)
		}
	}
	return nil
}

// position returns a function that reports whether a row of that part lies behind the last page.
func (s *Scan) position(part int32) func(ref) bool {
	if s.after == nil {
		return func(ref) bool { return true }
	}
	last := *s.after
	blocks := compareBlocks(s.parts[part].info.ID, last.Block)
	return func(r ref) bool {
		c := cmp.Or(cmp.Compare(r.time, last.Time), blocks, cmp.Compare(int(r.row), last.Row))
		if s.q.Ascending {
			return c > 0
		}
		return c < 0
	}
}
