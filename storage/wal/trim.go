package wal

import (
	"errors"
	"path/filepath"
	"slices"

	"mira/storage/signal"
	"mira/storage/stage"
	"mira/storage/vfs"
)

// Release says that these blocks are published under durable names: their frames are no longer
// needed. Segments all of whose blocks are released are retired: renamed, durably, so that they
// can never be replayed, and kept for reuse. A damaged segment goes to the quarantine instead.
func (l *Log) Release(ids ...signal.BlockID) {
	began := stage.Now()
	defer func() { l.o.Stages.Observe(stage.Trim, stage.Now().Since(began)) }()
	l.mu.Lock()
	for _, s := range l.live {
		for _, id := range ids {
			s.release(id)
		}
	}
	l.mu.Unlock()
	l.sweep()
	l.prune()
}

// sweep retires what can be retired. Until the new names are durable the segments stay live, for
// until then a crash would bring them back. A rename that fails is tried again by the next sweep;
// after a failed sync of the directory the segment stays for the life of the process.
func (l *Log) sweep() {
	gone := slices.DeleteFunc(l.retirable(), func(s *segment) bool { return l.rename(s) != nil })
	if len(gone) == 0 {
		return
	}
	err := l.o.FS.SyncDir(l.o.Dir)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.stats.TrimErrors++
		return
	}
	l.live = slices.DeleteFunc(l.live, func(s *segment) bool { return slices.Contains(gone, s) })
	for _, s := range gone {
		if !s.damaged {
			l.spares = append(l.spares, &segment{path: s.path, size: s.size})
		}
	}
}

// retirable returns, and marks as leaving, the segments that nobody needs.
func (l *Log) retirable() []*segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*segment
	for _, s := range l.live {
		if s.open == 0 && s.sealed && !s.leaving {
			s.leaving = true
			list = append(list, s)
		}
	}
	return list
}

// rename gives a leaving segment the name of a spare, or moves it to the quarantine.
func (l *Log) rename(s *segment) error {
	name := l.nameAfter(s)
	var err error
	if s.damaged {
		err = vfs.MkdirAll(l.o.FS, l.o.Quarantine)
	}
	if err == nil {
		err = l.o.FS.Rename(s.path, name)
	}
	renamed := err == nil
	if renamed && s.damaged {
		err = l.o.FS.SyncDir(l.o.Quarantine)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if renamed {
		s.path = name
	} else {
		s.leaving = false
	}
	if err != nil {
		l.stats.TrimErrors++
	}
	return err
}

func (l *Log) nameAfter(s *segment) string {
	if s.damaged {
		return filepath.Join(l.o.Quarantine, filepath.Base(s.path))
	}
	return s.path[:len(s.path)-len(liveExt)] + spareExt
}

// prune removes the spares that are too many or of another size than segments have. They bear
// their durable names already, so a removal that a crash undoes does no harm.
func (l *Log) prune() {
	l.mu.Lock()
	var surplus []*segment
	l.spares = slices.DeleteFunc(l.spares, func(s *segment) bool {
		drop := s.size != l.o.SegmentBytes
		if drop {
			surplus = append(surplus, s)
		}
		return drop
	})
	for len(l.spares) > l.o.Spares {
		surplus = append(surplus, l.spares[0])
		l.spares = l.spares[1:]
	}
	l.mu.Unlock()
	var errs []error
	for _, s := range surplus {
		errs = append(errs, l.o.FS.Remove(s.path))
	}
	if errors.Join(errs...) != nil {
		l.mu.Lock()
		l.stats.TrimErrors++
		l.mu.Unlock()
	}
}
