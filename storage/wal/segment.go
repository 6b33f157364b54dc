package wal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"mira/storage/frame"
	"mira/storage/signal"
	"mira/storage/vfs"
)

const (
	headerBlock = 4096             // frames start here
	headerUsed  = 64               // bytes of it that mean something
	markSize    = frame.HeaderSize // kept free at the end of a segment for its mark
	magic       = "mirawal"
	version     = 1

	liveExt  = ".wal"
	spareExt = ".free"
)

// segment is one file of the log. file, end and synced are the committer's; everything else is
// guarded by the log's mutex once the committer runs.
type segment struct {
	number uint64
	epoch  uint64
	floor  uint64
	path   string
	size   int64 // of the file

	file   vfs.File // open while active
	end    int64    // where the next frame goes
	synced int64    // what a sync has covered

	blocks  map[signal.BlockID]bool // what its frames name; true once released
	open    int                     // blocks not released
	sealed  bool                    // the committer is through with it
	leaving bool                    // somebody is retiring it

	damaged bool  // goes to quarantine, not round again
	cut     int64 // where Start ends the file; 0: it may stay as it is
}

// note records that the segment holds a frame for the block.
func (s *segment) note(id signal.BlockID) {
	if _, known := s.blocks[id]; known {
		return
	}
	if s.blocks == nil {
		s.blocks = make(map[signal.BlockID]bool)
	}
	s.blocks[id] = false
	s.open++
}

// release records that the block is published.
func (s *segment) release(id signal.BlockID) {
	if released, known := s.blocks[id]; known && !released {
		s.blocks[id] = true
		s.open--
	}
}

// fileName returns the name of a segment or spare without its directory.
func fileName(number uint64, ext string) string {
	return fmt.Sprintf("%016x%s", number, ext)
}

// parseName is the inverse of fileName. It accepts only the canonical form.
func parseName(name string) (number uint64, ext string, ok bool) {
	ext = filepath.Ext(name)
	if ext != liveExt && ext != spareExt {
		return 0, "", false
	}
	number, err := strconv.ParseUint(strings.TrimSuffix(name, ext), 16, 64)
	return number, ext, err == nil && number <= maxNumber && fileName(number, ext) == name
}

// newEpoch returns an epoch for the segment: no earlier life of any file had it, and nobody who
// sends Exports can guess it and hide frames of their own making in a payload.
func newEpoch(number uint64) uint64 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return uint64(binary.LittleEndian.Uint32(b[:]))<<32 | number
}

// maxNumber is the highest number of a segment: it makes the upper half of a frame's seq.
const maxNumber = 1<<32 - 1

// appendHeader appends the header block of s.
func appendHeader(dst []byte, s *segment) []byte {
	at := len(dst)
	le := binary.LittleEndian
	dst = append(dst, magic...)
	dst = append(dst, version)
	dst = le.AppendUint64(dst, s.number)
	dst = le.AppendUint64(dst, s.epoch)
	dst = le.AppendUint64(dst, s.floor)
	dst = append(dst, make([]byte, headerUsed-4-(len(dst)-at))...)
	dst = le.AppendUint32(dst, frame.Sum(dst[at:]))
	return append(dst, make([]byte, headerBlock-headerUsed)...)
}

var (
	errNoHeader = errors.New("no segment header")
	errVersion  = errors.New("segment of a newer version")
)

// parseHeader fills number, epoch and floor of s from a header block.
func parseHeader(b []byte, s *segment) error {
	le := binary.LittleEndian
	if len(b) < headerUsed || string(b[:len(magic)]) != magic || frame.Sum(b[:headerUsed-4]) != le.Uint32(b[headerUsed-4:]) {
		return errNoHeader
	}
	if v := b[len(magic)]; v != version {
		return fmt.Errorf("%w: %d, this program writes %d", errVersion, v, version)
	}
	if number := le.Uint64(b[8:]); number > 0 && number <= maxNumber {
		s.number, s.epoch, s.floor = number, le.Uint64(b[16:]), le.Uint64(b[24:])
		return nil
	}
	return errNoHeader
}
