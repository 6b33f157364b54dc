package wal

import (
	"errors"
	"fmt"
	"io"

	"mira/storage/frame"
)

// Report is what Replay found.
type Report struct {
	Segments     int             // read
	Frames       int             // whole Exports handed out
	Bytes        int64           // that their frames take
	Torn         int             // torn tails, which are ordinary after a crash: 0 or 1
	TornBytes    int64           // cut off with them
	Gaps         int             // places where numbers are missing between two segments; ordinary, they were retired
	Damaged      []string        // paths of the segments that hold damage; the log moves them to the quarantine once it can
	DamagedBytes int64           // bytes of all damaged ranges
	Damage       []*CorruptError // these ranges, the first maxDamage of them
}

const maxDamage = 64

// Replay calls fn with every whole frame, in the order of the log. The payload is valid only
// during the call. It holds one frame in memory at a time, however long the log is. An error of
// fn ends it. What is damaged or torn is in the Report; the error is fn's, or that a segment
// could not be opened.
func (l *Log) Replay(fn func(frame.Frame) error) (Report, error) {
	r := &reader{l: l, fn: fn}
	epochs := make(map[uint64]bool)
	for i, s := range l.live {
		if i > 0 && s.number > l.live[i-1].number+1 {
			r.report.Gaps++
		}
		if s.epoch != 0 && epochs[s.epoch] {
			s.damaged = true
			r.damage(s, 0, s.size, errors.New("copy of another segment"))
			continue
		}
		if err := r.read(s, i == len(l.live)-1); err != nil {
			return r.report, err
		}
		epochs[s.epoch] = true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replayed = true
	return r.report, nil
}

// reader is one Replay.
type reader struct {
	l      *Log
	fn     func(frame.Frame) error
	report Report
	scan   scanner
}

// read replays one segment.
func (r *reader) read(s *segment, last bool) error {
	f, err := r.l.o.FS.Open(s.path)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	r.report.Segments++
	r.scan = scanner{file: f, size: s.size, epoch: s.epoch, mask: ^uint64(0), buf: r.scan.buf[:0]}
	if s.epoch == 0 && !r.adopt(s) {
		return nil
	}
	return r.frames(s, last)
}

// adopt finds the epoch of a segment whose header is lost: that of the first frame that fits the
// number in the file's name, which no earlier life had.
func (r *reader) adopt(s *segment) bool {
	r.scan.epoch, r.scan.mask = s.number, maxNumber
	at := r.scan.find(headerBlock)
	lost := s.size
	if at >= 0 {
		f, _, _, _ := r.scan.at(at)
		s.epoch, r.scan.epoch, r.scan.mask = f.Epoch, f.Epoch, ^uint64(0)
		lost = min(lost, headerUsed)
	}
	r.damage(s, 0, lost, errNoHeader)
	return at >= 0
}

// frames hands out the frames of a segment and judges what lies between and behind them.
//
// In a segment that is not the last, all up to its mark or the file's end was on the disk: what
// is no frame there is damage. In the last one it is damage only if a later frame says that the
// place was synced, else it is where the crash tore the log, and nothing behind it counts.
func (r *reader) frames(s *segment, last bool) error {
	off, marked := int64(headerBlock), false
	synced := s.size
	if last {
		synced = unknown
	}
	for off < s.size {
		f, next, v, cause := r.scan.at(off)
		if v == whole {
			marked = f.Mark()
			if err := r.hand(s, f, next-off); err != nil {
				return err
			}
			off = next
			continue
		}
		if synced == unknown {
			synced = r.scan.synced(off)
		}
		if off >= synced && r.scan.bad == nil {
			r.end(s, off, v, marked)
			return nil
		}
		to := r.scan.find(next)
		if to < 0 {
			r.tail(s, off, marked, cause)
			return nil
		}
		r.damage(s, off, to-off, cause)
		off = to
	}
	if off > s.size {
		r.damage(s, 0, s.size, io.ErrUnexpectedEOF)
	}
	return nil
}

const unknown = -1

// hand counts f and passes it on.
func (r *reader) hand(s *segment, f frame.Frame, size int64) error {
	if f.Mark() {
		return nil
	}
	r.report.Frames++
	r.report.Bytes += size
	r.l.mu.Lock()
	s.note(f.Block)
	r.l.nextBlock = max(r.l.nextBlock, f.Block.Seq+1)
	r.l.mu.Unlock()
	return r.fn(f)
}

// end decides where the last segment ends. Whatever was begun there is cut off by Start, and so
// is an earlier life, unless a mark says that the end is meant.
func (r *reader) end(s *segment, off int64, v verdict, marked bool) {
	torn := r.scan.reach > off
	if marked && !torn {
		return
	}
	s.cut = off
	if torn || v == broken {
		r.report.Torn++
		r.report.TornBytes += max(r.scan.reach, min(off+frame.HeaderSize, s.size)) - off
	}
}

// tail judges bytes that no whole frame follows, where all that was written was synced.
func (r *reader) tail(s *segment, off int64, marked bool, cause error) {
	unreadable := r.scan.badTo > off
	if marked && r.scan.reach <= off && !unreadable {
		return // an earlier life
	}
	if unreadable {
		cause = r.scan.bad
	}
	r.damage(s, off, s.size-off, cause)
}

// damage reports a range and marks its segment for the quarantine.
func (r *reader) damage(s *segment, off, n int64, cause error) {
	s.damaged = true
	list := &r.report.Damaged
	if k := len(*list); k == 0 || (*list)[k-1] != s.path {
		*list = append(*list, s.path)
	}
	r.report.DamagedBytes += n
	if len(r.report.Damage) < maxDamage {
		r.report.Damage = append(r.report.Damage, &CorruptError{File: s.path, Offset: off, Bytes: n, Err: cause})
	}
}
