package storage

import (
	"context"
	"math"
	"path/filepath"
	"slices"

	"mira/storage/block"
	"mira/storage/signal"
)

// Snapshot is what a query reads: published blocks, and the rows that are in none yet. No record
// is in both.
type Snapshot struct {
	Blocks []block.Info // by Min
	Open   []block.View
}

// Snapshot returns the blocks of sig that may hold records of the half-open window [start, end),
// in Unix nanoseconds, and all open rows. An end of math.MaxUint64 is no end: it takes that
// nanosecond in. Everything acknowledged before the call is in it.
func (s *Store) Snapshot(ctx context.Context, sig signal.Signal, start, end uint64) (*Snapshot, error) {
	s.mu.RLock()
	open := s.open
	s.mu.RUnlock()
	snap := &Snapshot{}
	if open != nil {
		// Open rows first: a block that is published between the two looks is in both and
		// dropped below; the other way round it would be in neither.
		views, err := open(ctx, sig)
		if err != nil {
			return nil, err
		}
		snap.Open = views
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	snap.Open = slices.DeleteFunc(snap.Open, func(v block.View) bool {
		_, published := s.blocks[v.ID]
		return published
	})
	for _, b := range s.sorted[sig] {
		if (b.Min < end || end == math.MaxUint64) && b.Max >= start {
			snap.Blocks = append(snap.Blocks, b)
		}
	}
	return snap, nil
}

// OpenBlock opens a published block for reading. The caller closes it.
func (s *Store) OpenBlock(i block.Info) (*block.Reader, error) {
	return block.Open(s.fs, filepath.Join(s.dir, blocksDir), i)
}

// Damaged takes a block out of the set because a reader found it damaged, and moves its file to
// quarantine. The rows are rebuilt at the next start if the log still holds them.
func (s *Store) Damaged(i block.Info, cause error) {
	s.mu.Lock()
	_, there := s.blocks[i.ID]
	if there {
		delete(s.blocks, i.ID)
		old := s.sorted[i.ID.Signal]
		s.sorted[i.ID.Signal] = slices.DeleteFunc(slices.Clone(old), func(b block.Info) bool { return b.ID == i.ID })
	}
	s.mu.Unlock()
	if !there {
		return // somebody else has seen to it
	}
	if err := s.quarantine(filepath.Join(blocksDir, i.Path()), cause); err != nil {
		s.logger.Error().Err(err).Str("block", i.Path()).Msg("damaged block could not be moved to quarantine")
	}
}
