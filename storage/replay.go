package storage

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"mira/storage/block"
	"mira/storage/frame"
	"mira/storage/signal"
	"mira/storage/wal"
)

// Replay hands fn, in log order, every frame whose block is not published; the payload is valid
// during the call only. The blocks that live frames name are made durable and verified first: one
// that does not verify goes to quarantine, and its frames are replayed. Call it once, before Start.
func (s *Store) Replay(fn func(frame.Frame) error) (wal.Report, error) {
	published := map[signal.BlockID]bool{} // the verdict on every block that a frame names
	report, err := s.log.Replay(func(f frame.Frame) error {
		ok, known := published[f.Block]
		if !known {
			var err error
			if ok, err = s.confirm(f.Block); err != nil {
				return err
			}
			published[f.Block] = ok
		}
		if ok {
			return nil
		}
		return fn(f)
	})
	if err != nil {
		return report, fmt.Errorf("replay log: %w", err)
	}
	s.damaged.Add(int64(len(report.Damaged)))
	s.aside.Add(int64(len(report.Damaged))) // the log moves them there
	for _, name := range report.Damaged {
		s.logger.Error().Str("file", name).Msg("damaged log segment; its whole frames are kept")
	}
	if next := s.log.NextBlock(); next > s.next.Load() {
		s.next.Store(next)
	}
	for id, ok := range published {
		if ok {
			s.forget(id)
		}
	}
	return report, nil
}

// confirm reports whether a block is published beyond doubt. A name seen after a crash may be in
// memory only, so its directory is synced before the log may forget the frames.
func (s *Store) confirm(id signal.BlockID) (bool, error) {
	info, ok := s.blocks[id]
	if !ok {
		return false, nil
	}
	root := filepath.Join(s.dir, blocksDir)
	err := block.Verify(s.fs, root, info)
	var corrupt *block.CorruptError
	if errors.As(err, &corrupt) {
		s.Damaged(info, err)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for dir := path.Dir(info.Path()); ; dir = path.Dir(dir) {
		if err := s.fs.SyncDir(filepath.Join(root, filepath.FromSlash(dir))); err != nil {
			return false, fmt.Errorf("sync directory of block %s: %w", id, err)
		}
		if dir == "." {
			return true, nil
		}
	}
}
