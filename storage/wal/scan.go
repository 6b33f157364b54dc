package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"mira/storage/frame"
	"mira/storage/vfs"
)

const (
	scanChunk = 1 << 20 // bytes read at a time
	pageBytes = 4096    // what an unreadable place of the disk takes with it
)

var (
	errUnreadable = errors.New("unreadable")
	errForeign    = errors.New("frame of another segment")
)

// scanner looks for the frames of one life of a segment's file. It reads forward and holds one
// chunk, or the largest frame met, in memory.
type scanner struct {
	file vfs.File
	size int64 // bytes to look at

	epoch uint64
	mask  uint64 // bits of the epoch that must match

	buf   []byte
	base  int64 // place of buf in the file
	bad   error // why some page could not be read and counts as zeros
	badTo int64 // end of the furthest such page
	reach int64 // end of the furthest frame seen of which at least the header is whole
}

// verdict is what lies at a place.
type verdict int

const (
	foreign verdict = iota // zeros, an earlier life, or nothing that starts like a frame
	broken                 // a frame was here
	whole
)

// at returns the frame at off. next is where to look if it is not whole, or what follows it.
func (s *scanner) at(off int64) (f frame.Frame, next int64, v verdict, err error) {
	f, h, v, err := s.header(off)
	if v != whole {
		return f, off + frame.Align, v, err
	}
	if next = s.own(off, h); next > s.size {
		return f, off + frame.HeaderSize, broken, io.ErrUnexpectedEOF
	}
	f, _, err = frame.Parse(s.view(off, int(next-off)))
	if err != nil {
		return f, next, broken, err
	}
	return f, next, whole, nil
}

// header judges the header at off alone.
func (s *scanner) header(off int64) (frame.Frame, frame.Head, verdict, error) {
	b := s.view(off, frame.HeaderSize)
	f, h, err := frame.ParseHeader(b)
	switch {
	case err == nil && (f.Epoch^s.epoch)&s.mask == 0:
		return f, h, whole, nil
	case err != nil && bytes.HasPrefix(b, []byte(frame.Magic)):
		return f, h, broken, err
	case err == nil:
		err = errForeign
	}
	return f, h, foreign, err
}

// find returns the place of the first whole frame at or behind off, or -1.
func (s *scanner) find(off int64) int64 {
	for off = s.candidate(off); off >= 0; {
		_, next, v, _ := s.at(off)
		if v == whole {
			return off
		}
		off = s.candidate(next)
	}
	return -1
}

// synced returns how many bytes of the segment were on the disk before the last of the frames at
// and behind off was written. Their headers tell; a payload may be torn.
func (s *scanner) synced(off int64) int64 {
	var synced uint64
	for off = s.candidate(off); off >= 0; {
		f, h, v, _ := s.header(off)
		next := off + frame.Align
		if v == whole {
			synced = max(synced, f.Synced)
			if next = s.own(off, h); next > s.size {
				next = off + frame.HeaderSize // a length that lies hides nothing
			}
		}
		off = s.candidate(next)
	}
	return int64(min(synced, uint64(s.size)))
}

// own notes that a frame of this life is, or was, at off, and returns where its header says that
// it ends. One that ends behind the file's end is cut or lies: it reaches no further than itself.
func (s *scanner) own(off int64, h frame.Head) int64 {
	end := off + int64(frame.Size(h.Length))
	if end > s.size {
		s.reach = max(s.reach, off+frame.HeaderSize)
	} else {
		s.reach = max(s.reach, end)
	}
	return end
}

// candidate returns the first aligned place at or behind off that starts like a frame, or -1.
func (s *scanner) candidate(off int64) int64 {
	for off+frame.HeaderSize <= s.size {
		b := s.buffered(off)
		i := bytes.Index(b, []byte(frame.Magic))
		switch {
		case i < 0:
			off += aligned(len(b) - len(frame.Magic) + 1)
		case i%frame.Align != 0:
			off += aligned(i)
		case off+int64(i)+frame.HeaderSize <= s.size:
			return off + int64(i)
		default:
			return -1
		}
	}
	return -1
}

func aligned(n int) int64 { return int64(n+frame.Align-1) &^ (frame.Align - 1) }

// buffered returns what is in memory from off on, at least a header's bytes.
func (s *scanner) buffered(off int64) []byte {
	s.view(off, frame.HeaderSize)
	return s.buf[off-s.base:]
}

// view returns the n bytes at off, fewer where the file ends. They are valid until the next view.
func (s *scanner) view(off int64, n int) []byte {
	n = int(max(0, min(int64(n), s.size-off)))
	if off < s.base || off+int64(n) > s.base+int64(len(s.buf)) {
		s.load(off, n)
	}
	at := int(off - s.base)
	return s.buf[at : at+n : at+n]
}

// load makes buf hold the n bytes at off and, to save calls, a whole chunk. What it holds of them
// already is moved, not read again.
func (s *scanner) load(off int64, n int) {
	want := int(min(int64(max(n, scanChunk)), s.size-off))
	kept := 0
	if have := off - s.base; have >= 0 && have < int64(len(s.buf)) {
		kept = len(s.buf) - int(have)
		copy(s.buf, s.buf[have:])
	}
	if cap(s.buf) < want {
		grown := make([]byte, want)
		copy(grown, s.buf[:kept])
		s.buf = grown
	}
	kept = min(kept, want)
	s.buf, s.base = s.buf[:want], off
	s.read(s.buf[kept:], off+int64(kept))
}

// read fills b from the file. Pages that cannot be read are zeros, and are remembered: one bad
// place of a disk costs what it covers, not the log.
func (s *scanner) read(b []byte, off int64) {
	n, err := s.file.ReadAt(b, off)
	if n == len(b) || err == nil {
		return
	}
	for b = b[n:]; len(b) > 0; b = b[n:] {
		off += int64(n)
		n = int(min(int64(len(b)), pageBytes-off%pageBytes))
		if got, err := s.file.ReadAt(b[:n], off); got < n {
			clear(b[got:n])
			s.bad, s.badTo = fmt.Errorf("%w: %w", errUnreadable, err), off+int64(n)
		}
	}
}
