package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mira/storage/signal"
	"mira/storage/stage"
	"mira/storage/vfs"
)

// Options say where and how a log is kept. FS and Dir must be set; every zero below means the default.
type Options struct {
	FS           vfs.FS
	Dir          string        // of the segments
	Quarantine   string        // where damaged segments go; "": beside Dir, named quarantine
	SegmentBytes int64         // 0: 64 MiB; a frame that is larger gets a segment of its own size
	Spares       int           // used files kept for reuse; 0: 4
	Window       time.Duration // how long a group of batched frames may wait for company; 0: 2 ms
	FlushEvery   time.Duration // how long a buffered frame may stay unsynced; 0: 250 ms
	Floor        func() uint64 // the next block number; goes into every segment's header; nil: what the frames say. The committer calls it: it must not wait
	Stages       *stage.Set    // counts writes, syncs, groups and trims; nil: nobody looks
}

func (o Options) withDefaults() Options {
	if o.Quarantine == "" {
		o.Quarantine = filepath.Join(filepath.Dir(filepath.Clean(o.Dir)), "quarantine")
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 64 << 20
	}
	o.SegmentBytes = max(o.SegmentBytes, 2*headerBlock)
	if o.Spares == 0 {
		o.Spares = 4
	}
	if o.Window == 0 {
		o.Window = 2 * time.Millisecond
	}
	if o.FlushEvery == 0 {
		o.FlushEvery = 250 * time.Millisecond
	}
	if o.Floor == nil {
		o.Floor = func() uint64 { return 0 }
	}
	return o
}

// Log is an opened log. Open, Replay and Start come first, once each and in that order; all
// other methods may be called from any goroutine.
type Log struct {
	o Options

	wake    chan struct{} // the queue is not empty; holds one
	closing chan struct{} // closed when Close begins
	done    chan struct{} // closed when the committer has ended
	waiters sync.Pool     // of *waiter; each log has its own, so that a log in a synctest bubble uses no channel from outside
	busy    atomic.Int64  // Unix nanoseconds since when the committer is at work on the disk; 0: it waits for work

	mu        sync.Mutex // guards all fields down to the next comment
	queue     []*waiter
	waiting   tally // over queue
	refusal   error // why Append takes nothing
	poison    error // what poisoned the log
	live      []*segment
	spares    []*segment
	nextBlock uint64
	stats     Stats
	replayed  bool
	started   bool

	// The committer's own; before Start the opener's.
	number  uint64 // highest segment number ever seen
	active  *segment
	batch   []*waiter  // the array that swaps with queue
	heads   []byte     // frame headers of one group
	vec     [][]byte   // headers and payloads of one group
	at      stage.Mark // when the step before this one ended
	company *time.Timer
	flush   *time.Timer
	armed   bool // flush is running

	closeErr error // written before done is closed
}

// Open reads the names and headers of the segments in o.Dir, which it makes when there is none.
// It appends nothing and removes nothing.
func Open(o Options) (*Log, error) {
	l := &Log{
		o:       o.withDefaults(),
		wake:    make(chan struct{}, 1),
		closing: make(chan struct{}),
		done:    make(chan struct{}),
		waiters: sync.Pool{New: newWaiter},
		refusal: errNotStarted,
	}
	if err := vfs.MkdirAll(o.FS, o.Dir); err != nil {
		return nil, fmt.Errorf("make log directory: %w", err)
	}
	// What a killed process renamed may be in memory alone: make it so before relying on it.
	if err := o.FS.SyncDir(o.Dir); err != nil {
		return nil, fmt.Errorf("sync log directory: %w", err)
	}
	if err := l.load(); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return l, nil
}

// load finds the segments and spares, and the highest number of all.
func (l *Log) load() error {
	entries, err := l.o.FS.List(l.o.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		number, ext, ok := parseName(e.Name)
		if !ok || e.Dir {
			continue
		}
		s := &segment{number: number, path: filepath.Join(l.o.Dir, e.Name), size: e.Size, sealed: true}
		if err := l.readHeader(s); err != nil {
			return err
		}
		l.number = max(l.number, number, s.number)
		l.nextBlock = max(l.nextBlock, s.floor)
		if ext == liveExt {
			l.live = append(l.live, s)
		} else {
			l.spares = append(l.spares, s)
		}
	}
	slices.SortStableFunc(l.live, func(a, b *segment) int {
		return cmp.Compare(a.number, b.number)
	})
	return l.skipQuarantined()
}

// readHeader reads the header of s. A segment without one is damaged; its frames may still tell
// which life they belong to. Only a version from the future is an error: it is not ours to touch.
func (l *Log) readHeader(s *segment) error {
	f, err := l.o.FS.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	b := make([]byte, headerUsed)
	n, _ := f.ReadAt(b, 0) // an unreadable header is a missing one
	err = parseHeader(b[:n], s)
	if errors.Is(err, errVersion) {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	s.damaged = err != nil
	return nil
}

// skipQuarantined makes sure that no number in the quarantine is given out again.
func (l *Log) skipQuarantined() error {
	entries, err := l.o.FS.List(l.o.Quarantine)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if number, _, ok := parseName(e.Name); ok {
			l.number = max(l.number, number)
		}
	}
	return err
}

// NextBlock returns a block number above that of every frame and every header seen. It is valid
// after Replay.
func (l *Log) NextBlock() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nextBlock
}

// Names reports whether a live segment still holds a frame for the block: as long as one does,
// a restart would bring the block back, so it must not be dropped.
func (l *Log) Names(id signal.BlockID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.live {
		if _, ok := s.blocks[id]; ok {
			return true
		}
	}
	return false
}

// Err returns what poisoned the log, joined with ErrPoisoned, or nil.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.poison
}

// Stats are counters since Open and the present state.
type Stats struct {
	Frames, Groups, Bytes uint64        // written; bytes with headers and padding
	Refused               uint64        // frames whose Append returned an error of the disk
	Syncs                 uint64        // of segments, for frames
	SyncTime, LastSync    time.Duration // all syncs, and the last one
	Unsynced              int64         // bytes written since the last one
	TrimErrors            uint64        // renames and directory syncs of retiring segments that failed
	Segments, Spares      int           // live, and kept for reuse
	LiveBytes             int64         // size of the live segments' files
	Since                 time.Time     // when the work on the disk that is under way began; zero: none is. An old one is a stalled disk
	Waiting               int           // frames in the queue
	Poisoned, Closed      bool
}

// Stats returns the counters. It is cheap.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Waiting = len(l.queue)
	s.Segments, s.Spares = len(l.live), len(l.spares)
	s.Poisoned, s.Closed = l.poison != nil, errors.Is(l.refusal, ErrClosed)
	for _, seg := range l.live {
		s.LiveBytes += seg.size
	}
	if ns := l.busy.Load(); ns != 0 {
		s.Since = time.Unix(0, ns)
	}
	return s
}
