package wal

import (
	"fmt"
	"io"
	"time"

	"mira/storage/frame"
	"mira/storage/signal"
	"mira/storage/stage"
)

const (
	maxGroup = 511     // frames of one write: a header and a payload each, and the last padding, make 1023 of the 1024 buffers that a system takes
	crowd    = 1 << 20 // bytes that need no more company
)

var zeros [headerBlock]byte

// run is the committer: the only goroutine that writes to the log.
func (l *Log) run() {
	defer close(l.done)
	for {
		select {
		case <-l.wake:
			l.gather()
			l.begin()
			l.commit(l.take())
		case <-l.flush.C:
			l.armed = false
			l.begin()
			l.syncFrames() //nolint:errcheck // it has poisoned the log, and nobody waits
		case <-l.closing:
			l.begin()
			l.commit(l.take())
			l.closeErr = l.finish()
			l.busy.Store(0)
			return
		}
		l.busy.Store(0)
	}
}

// gather lets a queue of batched frames wait for company, at most Window long.
func (l *Log) gather() {
	if l.hurried() {
		return
	}
	l.company.Reset(l.o.Window)
	defer l.company.Stop()
	for {
		select {
		case <-l.wake:
			if l.hurried() {
				return
			}
		case <-l.company.C:
			return
		case <-l.closing:
			return
		}
	}
}

// hurried reports whether nothing is gained, or somebody harmed, by waiting for more frames.
func (l *Log) hurried() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waiting
	return w.sync > 0 || w.batched == 0 || w.bytes >= crowd || len(l.queue) >= maxGroup
}

// take empties the queue. The frames taken are valid until the next take.
func (l *Log) take() []*waiter {
	clear(l.batch)
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := l.queue
	l.queue, l.batch = l.batch[:0], batch
	l.waiting = tally{}
	return batch
}

// commit writes the frames in their order, in as few groups as the segments allow, and answers
// every one of them.
func (l *Log) commit(batch []*waiter) {
	for len(batch) > 0 {
		if err := l.Err(); err != nil {
			l.refuse(batch, err)
			return
		}
		n := l.fitting(batch)
		if n == 0 {
			need := int64(frame.Size(len(batch[0].frame.Payload)))
			taken := l.at
			err := l.rotate(need)
			l.at = taken // a new segment is part of the write that needs it
			if err != nil {
				l.refuse(batch[:1], err) // what comes behind may be small enough
				batch = batch[1:]
				continue
			}
			n = l.fitting(batch)
		}
		l.write(batch[:n])
		batch = batch[n:]
	}
}

// fitting returns how many of the first frames go into the active segment with one write.
func (l *Log) fitting(batch []*waiter) int {
	if l.active == nil {
		return 0
	}
	room := l.active.size - markSize - l.active.end
	for i, w := range batch {
		if room -= int64(frame.Size(len(w.frame.Payload))); room < 0 || i == maxGroup {
			return i
		}
	}
	return len(batch)
}

// write is the path to an acknowledgement: frames to the file, file to the disk, owners told,
// waiters woken. The order of the four is the promise of this package.
func (l *Log) write(group []*waiter) {
	s := l.active
	size := l.layout(group)
	n, err := s.file.Writev(s.end, l.vec)
	clear(l.vec)
	if err == nil && n != size {
		err = io.ErrShortWrite
	}
	if err != nil {
		l.refuse(group, l.abandon(fmt.Errorf("write %s: %w", s.path, err)))
		return
	}
	s.end += size
	l.record(group, size)
	taken := l.at
	l.at = stage.Now()
	l.o.Stages.Observe(stage.LogWrite, l.at.Since(taken))
	l.o.Stages.Group(int64(len(group)), size)
	if err := l.secure(group); err != nil {
		l.refuse(group, err)
		return
	}
	for _, w := range group {
		if w.owner != nil {
			w.owner.Logged(w.seq, taken, l.at)
		}
	}
	for _, w := range group {
		w.answer(nil)
	}
}

// layout gives every frame of the group its place and fills l.vec with what is to be written
// at the end of the active segment, padding in front of the header that follows it.
func (l *Log) layout(group []*waiter) (size int64) {
	s := l.active
	l.heads, l.vec = l.heads[:0], l.vec[:0]
	pad := 0
	for _, w := range group {
		w.seq = s.number<<32 | uint64(s.end+size)/frame.Align
		w.frame.Epoch, w.frame.Synced = s.epoch, uint64(s.synced)
		at := len(l.heads)
		l.heads = append(l.heads, zeros[:pad]...)
		l.heads = frame.HeaderSum(l.heads, w.frame, w.sum)
		l.vec = append(l.vec, l.heads[at:], w.frame.Payload)
		length := len(w.frame.Payload)
		pad = frame.Size(length) - frame.HeaderSize - length
		size += int64(frame.Size(length))
	}
	if pad > 0 {
		l.vec = append(l.vec, zeros[:pad])
	}
	return size
}

// record counts a written group and notes the blocks that it names. From here on the segment
// stays until they are released.
func (l *Log) record(group []*waiter, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Groups++
	l.stats.Frames += uint64(len(group))
	l.stats.Bytes += uint64(size)
	l.stats.Unsynced += size
	var last signal.BlockID
	for _, w := range group {
		if id := w.frame.Block; id != last {
			l.active.note(id)
			l.nextBlock = max(l.nextBlock, id.Seq+1)
			last = id
		}
	}
}

// secure makes a written group as durable as the strongest tier in it asks.
func (l *Log) secure(group []*waiter) error {
	for _, w := range group {
		if w.tier != signal.Buffered {
			return l.syncFrames()
		}
	}
	if !l.armed {
		l.armed = true
		l.flush.Reset(l.o.FlushEvery)
	}
	return nil
}

// syncFrames syncs the active segment for the frames in it.
func (l *Log) syncFrames() error {
	began := l.at
	err := l.sync(began)
	l.o.Stages.Observe(stage.LogSync, l.at.Since(began))
	return err
}

// sync syncs the active segment, beginning now. An error poisons the log.
func (l *Log) sync(began stage.Mark) error {
	s := l.active
	err := s.file.Sync()
	l.at = stage.Now()
	took := l.at.Since(began)
	if err != nil {
		return l.fail(fmt.Errorf("sync %s: %w", s.path, err))
	}
	s.synced = s.end
	l.disarm()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Syncs++
	l.stats.SyncTime += took
	l.stats.LastSync = took
	l.stats.Unsynced = 0
	return nil
}

// disarm stops the timer for buffered frames: nothing is unsynced.
func (l *Log) disarm() {
	l.armed = false
	l.flush.Stop()
}

// begin notes that the disk is at work, for whoever looks for a stall.
func (l *Log) begin() {
	now := time.Now()
	l.busy.Store(now.UnixNano())
	l.at = stage.At(now)
}

// refuse answers the frames with err.
func (l *Log) refuse(group []*waiter, err error) {
	l.mu.Lock()
	l.stats.Refused += uint64(len(group))
	l.mu.Unlock()
	for _, w := range group {
		w.answer(err)
	}
}

// fail poisons the log: nothing is acknowledged any more, and whoever waits is told.
func (l *Log) fail(cause error) error {
	l.mu.Lock()
	if l.poison == nil {
		l.poison = fmt.Errorf("%w: %w", ErrPoisoned, cause)
	}
	err := l.poison
	if l.refusal == nil {
		l.refusal = err
	}
	l.mu.Unlock()
	return err
}
