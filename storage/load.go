package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mira/storage/block"
	"mira/storage/signal"
	"mira/storage/vfs"
)

// loadBlocks reads the set of blocks from their names: published ones become the set, left-over
// temporary files go, files that cannot be blocks are moved to quarantine. The next block number
// is above every name seen, quarantine included.
func (s *Store) loadBlocks() error {
	root := filepath.Join(s.dir, blocksDir)
	err := s.walk(root, func(rel string, e vfs.Entry) error {
		if strings.HasSuffix(rel, ".tmp") { // never published: its rows are in the log
			return s.fs.Remove(filepath.Join(root, rel))
		}
		info, err := block.ParsePath(filepath.ToSlash(rel))
		if err == nil && e.Size == 0 {
			err = errors.New("empty file")
			s.seen(info.ID)
		}
		if err != nil {
			return s.quarantine(filepath.Join(blocksDir, rel), err)
		}
		info.Bytes = e.Size
		return s.found(info)
	})
	if err != nil {
		return fmt.Errorf("read blocks: %w", err)
	}
	for _, sig := range signal.All {
		slices.SortFunc(s.sorted[sig], byMin)
	}
	return s.loadQuarantine()
}

// loadQuarantine counts the files set aside, and keeps their blocks' numbers from being given out.
func (s *Store) loadQuarantine() error {
	var n int64
	err := s.walk(filepath.Join(s.dir, quarantineDir), func(rel string, _ vfs.Entry) error {
		n++
		in, ok := strings.CutPrefix(filepath.ToSlash(rel), blocksDir+"/")
		if info, err := block.ParsePath(in); ok && err == nil {
			s.seen(info.ID)
		}
		return nil
	})
	s.aside.Store(n)
	if n > 0 {
		s.logger.Warn().Int64("files", n).Msg("damaged files are in quarantine")
	}
	return err
}

// found adds a block at start. Of two files for one block, the one that verifies stays.
func (s *Store) found(info block.Info) error {
	s.seen(info.ID)
	twin, double := s.blocks[info.ID]
	if double {
		root := filepath.Join(s.dir, blocksDir)
		if err := block.Verify(s.fs, root, twin); err == nil {
			return s.quarantine(filepath.Join(blocksDir, info.Path()), fmt.Errorf("second file of block %s", info.ID))
		} else if err := s.quarantine(filepath.Join(blocksDir, twin.Path()), err); err != nil {
			return err
		}
		list := s.sorted[info.ID.Signal]
		s.sorted[info.ID.Signal] = slices.DeleteFunc(list, func(b block.Info) bool { return b.ID == info.ID })
	}
	s.blocks[info.ID] = info
	s.sorted[info.ID.Signal] = append(s.sorted[info.ID.Signal], info)
	return nil
}

// seen keeps the next block number above id's.
func (s *Store) seen(id signal.BlockID) {
	if next := id.Seq + 1; next > s.next.Load() {
		s.next.Store(next)
	}
}

// walk calls fn for every file below dir, by its path relative to dir. A missing dir is empty.
func (s *Store) walk(dir string, fn func(rel string, e vfs.Entry) error) error {
	entries, err := s.fs.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Dir {
			if err := fn(e.Name, e); err != nil {
				return err
			}
			continue
		}
		err := s.walk(filepath.Join(dir, e.Name), func(rel string, f vfs.Entry) error {
			return fn(filepath.Join(e.Name, rel), f)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// quarantine moves a damaged file (rel is relative to the data directory) to the same path below
// quarantine/, counts it and reports it.
func (s *Store) quarantine(rel string, cause error) error {
	s.damaged.Add(1)
	s.aside.Add(1)
	to := filepath.Join(s.dir, quarantineDir, rel)
	s.logger.Error().Err(cause).Str("file", rel).Msg("damaged file moved to quarantine")
	if err := vfs.MkdirAll(s.fs, filepath.Dir(to)); err != nil {
		return fmt.Errorf("quarantine %s: %w", rel, err)
	}
	for n := 1; ; n++ { // an earlier file of the same name stays
		_, err := s.fs.Stat(to)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return fmt.Errorf("quarantine %s: %w", rel, err)
		}
		to = filepath.Join(s.dir, quarantineDir, fmt.Sprintf("%s.%d", rel, n))
	}
	from := filepath.Join(s.dir, rel)
	if err := s.fs.Rename(from, to); err != nil {
		return fmt.Errorf("quarantine %s: %w", rel, err)
	}
	return errors.Join(s.fs.SyncDir(filepath.Dir(to)), s.fs.SyncDir(filepath.Dir(from)))
}

func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
