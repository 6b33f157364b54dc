package query

import (
	"context"

	"mira/storage"
	"mira/storage/block"
	"mira/storage/column"
	"mira/storage/signal"
)

// OfTable returns the rows of t that q selects, in the order of q, however many they are: Limit and
// After do not count.
func OfTable(ctx context.Context, t *column.Table, q Query) (chunks []Chunk, err error) {
	q.Limit, q.After = max(t.Rows, 1), nil
	scan, err := Open(ctx, tableSource{table: t}, q)
	if err != nil {
		return nil, err
	}
	for {
		page, err := scan.Page(ctx)
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, page.Chunks...)
		if page.Next == nil {
			return chunks, nil
		}
	}
}

// tableSource is a source of one block that is open. Nothing else of a Source is ever asked of it.
type tableSource struct {
	Source
	table *column.Table
}

// Snapshot returns the table.
func (s tableSource) Snapshot(_ context.Context, sig signal.Signal, _, _ uint64) (*storage.Snapshot, error) {
	return &storage.Snapshot{Open: []block.View{{ID: signal.BlockID{Signal: sig}, Table: s.table}}}, nil
}
