package wal

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"mira/storage/frame"
	"mira/storage/stage"
)

// Start makes the log ready for Append: it ends the last segment where its last whole frame
// ends, opens a new one, for nothing is ever written behind a doubtful byte, and starts the
// committer. A volume without space is no reason not to start: Append will say ErrFull.
func (l *Log) Start() error {
	l.mu.Lock()
	ready := l.replayed && !l.started && errors.Is(l.refusal, errNotStarted)
	l.started = l.started || ready
	l.mu.Unlock()
	if !ready {
		return errors.New("wal: Start comes once, after Replay")
	}
	l.flush, l.company = time.NewTimer(time.Hour), time.NewTimer(time.Hour)
	l.flush.Stop()
	l.company.Stop()
	err := l.settle()
	if err == nil {
		l.sweep()
		if err = l.rotate(0); errors.Is(err, ErrFull) {
			err = nil
		}
	}
	if err != nil {
		close(l.done) // Close has nothing to wait for
		return fmt.Errorf("start log: %w", err)
	}
	l.prune()
	l.mu.Lock()
	l.refusal = nil
	l.mu.Unlock()
	go l.run()
	return nil
}

// settle makes what Replay saw of the last segment final: a torn tail is cut off, and frames
// that a killed process left in the system's memory are synced before anybody counts on them.
func (l *Log) settle() error {
	if len(l.live) == 0 {
		return nil
	}
	s := l.live[len(l.live)-1]
	if s.cut == 0 && s.blocks == nil {
		return nil
	}
	f, err := l.o.FS.OpenReadWrite(s.path)
	if err != nil {
		return err
	}
	if s.cut > 0 {
		err = f.Truncate(s.cut)
		s.size = s.cut
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Close writes and syncs what is queued, answers it, and waits for the committer. Later Appends
// get ErrClosed. It returns what poisoned the log, if something did.
func (l *Log) Close() error {
	l.mu.Lock()
	first := !errors.Is(l.refusal, ErrClosed)
	l.refusal = ErrClosed
	idle := !l.started
	l.started = true // too late to Start
	l.mu.Unlock()
	if first {
		close(l.closing)
		if idle {
			close(l.done)
		}
	}
	<-l.done
	return l.closeErr
}

// finish is the committer's last act.
func (l *Log) finish() error {
	l.flush.Stop()
	err := l.Err()
	if err == nil && l.active != nil {
		err = l.seal()
	}
	if l.active != nil {
		err = errors.Join(err, l.active.file.Close())
	}
	return err
}

// rotate makes a new segment the active one, with room for a frame of so many bytes. Until the
// new name is durable nothing has changed, but for a mark in the old segment.
func (l *Log) rotate(need int64) error {
	next, err := l.prepare(max(l.o.SegmentBytes, headerBlock+need+markSize))
	if err != nil {
		return full(fmt.Errorf("new segment: %w", err))
	}
	old := l.active
	if err := l.seal(); err != nil { // the old segment is durable before the next one exists
		return errors.Join(err, l.discard(next))
	}
	if err := l.install(next); err != nil {
		return err
	}
	if old != nil {
		l.leave(old)
	}
	return nil
}

// leave lets go of a segment that is sealed or abandoned, as long as its file is open.
func (l *Log) leave(s *segment) {
	if s.file == nil {
		return
	}
	s.file.Close() //nolint:errcheck // all of it is synced
	s.file = nil
	l.mu.Lock()
	s.sealed = true
	l.mu.Unlock()
	l.sweep()
}

// seal ends the active segment with a mark, which tells a reader that no frame is missing, and
// syncs it.
func (l *Log) seal() error {
	s := l.active
	if s == nil {
		return nil
	}
	mark := frame.Header(nil, frame.Frame{Epoch: s.epoch, Synced: uint64(s.end)})
	if _, err := s.file.WriteAt(mark, s.end); err != nil {
		l.abandon(fmt.Errorf("mark %s: %w", s.path, err)) //nolint:errcheck // only a failed repair matters
		return l.Err()
	}
	s.end += markSize
	return l.sync(stage.Now())
}

// abandon gives up the active segment after a failed write: what the write left is cut off, so
// that no refused frame is ever replayed. It returns what the refused are told. A repair that
// fails poisons the log.
func (l *Log) abandon(cause error) error {
	s := l.active
	err := s.file.Truncate(s.end)
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		return l.fail(fmt.Errorf("%w; cut %s: %w", cause, s.path, err))
	}
	l.disarm()
	l.active = nil
	l.mu.Lock()
	l.stats.Unsynced = 0
	s.size = s.end
	l.mu.Unlock()
	l.leave(s)
	return full(cause)
}

// prepare makes a spare of at least so many bytes, with a header for its next life, durable but
// for its name.
func (l *Log) prepare(size int64) (*segment, error) {
	s := l.spare(size)
	var err error
	if s != nil {
		s.file, err = l.o.FS.OpenReadWrite(s.path)
	} else {
		s, err = l.create(size)
	}
	if err != nil {
		return nil, err
	}
	l.number++
	s.number, s.epoch, s.floor = l.number, newEpoch(l.number), max(l.NextBlock(), l.o.Floor())
	s.end, s.synced = headerBlock, headerBlock
	if _, err = s.file.WriteAt(appendHeader(nil, s), 0); err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, l.discard(s))
	}
	return s, nil
}

// spare takes a used file of just the size wanted, or nil.
func (l *Log) spare(size int64) *segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, s := range l.spares {
		if s.size == size {
			l.spares = append(l.spares[:i], l.spares[i+1:]...)
			return &segment{path: s.path, size: size}
		}
	}
	return nil
}

// create makes a new file, named as a spare.
func (l *Log) create(size int64) (*segment, error) {
	s := &segment{path: filepath.Join(l.o.Dir, fileName(l.number+1, spareExt)), size: size}
	f, err := l.o.FS.Create(s.path)
	if err != nil {
		return nil, err
	}
	s.file = f
	if err := f.Preallocate(size); err != nil {
		return nil, errors.Join(err, l.discard(s))
	}
	return s, nil
}

// discard removes a spare that did not become a segment.
func (l *Log) discard(s *segment) error {
	return errors.Join(s.file.Close(), l.o.FS.Remove(s.path))
}

// install gives the prepared segment its name. From then on it is the last one of the log.
func (l *Log) install(s *segment) error {
	name := filepath.Join(l.o.Dir, fileName(s.number, liveExt))
	if err := l.o.FS.Rename(s.path, name); err != nil {
		if err = full(fmt.Errorf("new segment: %w", err)); !errors.Is(err, ErrFull) {
			err = l.fail(err) // it may bear either name now
		}
		return errors.Join(err, l.discard(s))
	}
	s.path = name
	if err := l.o.FS.SyncDir(l.o.Dir); err != nil {
		s.file.Close() //nolint:errcheck // nothing is in it
		return l.fail(fmt.Errorf("sync %s: %w", l.o.Dir, err))
	}
	l.active = s
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live = append(l.live, s)
	return nil
}
