package query

import (
	"context"
	"maps"
	"slices"

	"mira/storage/block"
	"mira/storage/column"
)

const (
	// chunkRows bounds the rows of one Chunk: a row may weigh megabytes, and a page can give
	// back only whole chunks.
	chunkRows = 64
	// pageBytes bounds the OTLP bytes of one page.
	pageBytes = 32 << 20
)

// run is a Chunk to be: neighbours of the answer that are in one row group.
type run struct {
	refs []ref
	data []byte
}

// read fills the page with the rows of refs. It goes through the row groups one by one, whatever
// the order of the answer, so that each is inflated once and one at a time is in memory. When the
// rows are too many bytes, the page ends earlier. bad is the part that an error is about.
func (s *Scan) read(ctx context.Context, refs []ref, more bool, page *Page) (bad *part, err error) {
	runs := split(refs)
	groups := map[int32]map[int32][]int{} // part, row group: indices of runs
	for i, r := range runs {
		first := r.refs[0]
		if groups[first.part] == nil {
			groups[first.part] = map[int32][]int{}
		}
		groups[first.part][first.group] = append(groups[first.part][first.group], i)
	}
	b := &budget{runs: runs, keep: len(runs)}
	for _, i := range slices.Sorted(maps.Keys(groups)) {
		if err := s.readPart(ctx, s.parts[i], groups[i], b, &page.Stats); err != nil {
			return s.parts[i], err
		}
	}
	for _, r := range runs[:b.keep] {
		times := make([]uint64, len(r.refs))
		for i, ref := range r.refs {
			times[i] = ref.time
		}
		page.Chunks = append(page.Chunks, Chunk{Request: r.data, Times: times})
		page.Stats.RowsReturned += int64(len(times))
	}
	if more || b.keep < len(runs) {
		kept := runs[b.keep-1].refs
		last := kept[len(kept)-1]
		page.Next = &Position{Time: last.time, Block: s.parts[last.part].info.ID, Row: int(last.row)}
	}
	return nil, nil
}

// split cuts refs where the row group changes, and where a run gets long.
func split(refs []ref) []run {
	var runs []run
	for len(refs) > 0 {
		n := 1
		for n < len(refs) && n < chunkRows && refs[n].part == refs[0].part && refs[n].group == refs[0].group {
			n++
		}
		runs = append(runs, run{refs: refs[:n]})
		refs = refs[n:]
	}
	return runs
}

// budget drops runs from the end of a page that has become too large.
type budget struct {
	runs  []run
	keep  int // runs that are still part of the page
	bytes int
}

func (b *budget) fill(i int, data []byte) {
	b.runs[i].data = data
	for b.bytes += len(data); b.bytes > pageBytes && b.keep > 1; {
		b.keep--
		b.bytes -= len(b.runs[b.keep].data)
		b.runs[b.keep].data = nil
	}
}

func (s *Scan) readPart(ctx context.Context, p *part, groups map[int32][]int, b *budget, stats *Stats) error {
	if p.open != nil {
		s.encode(p.open, 0, groups[0], b)
		return ctx.Err()
	}
	var r *block.Reader
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		runs := groups[g]
		if !b.needs(runs) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if r == nil {
			var err error
			if r, err = s.src.OpenBlock(p.info); err != nil {
				return err
			}
			defer r.Close()
		}
		t, err := r.Group(int(g), s.wantsToShow)
		if err != nil {
			return err
		}
		stats.BytesRead += valueBytes(t.Columns)
		s.encode(t, groupBases(r)[g], runs, b)
	}
	return nil
}

// needs reports whether any of the runs is still part of the page.
func (b *budget) needs(runs []int) bool { return len(runs) > 0 && runs[0] < b.keep }

func (s *Scan) encode(t *column.Table, base int, runs []int, b *budget) {
	enc := t.Encoder(s.q.Signal)
	rows := make([]int, 0, chunkRows)
	for _, i := range runs {
		if i >= b.keep {
			return
		}
		rows = rows[:0]
		for _, r := range b.runs[i].refs {
			rows = append(rows, int(r.row)-base)
		}
		b.fill(i, enc.AppendRequest(nil, rows, true))
	}
}

// wantsToShow adds what a page needs to be OTLP at all to the columns of the query.
func (s *Scan) wantsToShow(c *column.Column) bool {
	return s.q.Want == nil || c.Name == metricType || s.q.Want(c)
}

// valueBytes returns the size of the values in memory.
func valueBytes(columns []column.Column) int64 {
	n := 0
	for i := range columns {
		c := &columns[i]
		n += len(c.Valid) + 8*len(c.Ints) + 8*len(c.Floats) + len(c.Bits) + 4*len(c.Offsets) + len(c.Data) + 4*len(c.Index)
		n += int(valueBytes(c.Fields))
		if c.Elem != nil {
			n += int(valueBytes([]column.Column{*c.Elem}))
		}
	}
	return int64(n)
}
