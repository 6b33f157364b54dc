package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"

	"mira/storage/block"
	"mira/storage/column"
	"mira/storage/frame"
	"mira/storage/signal"
	"mira/storage/stage"
	"mira/storage/vfs"
	"mira/storage/wal"
)

const (
	blocksDir     = "blocks"
	walDir        = "wal"
	quarantineDir = "quarantine"
)

// Options say how to open a data directory. Only Dir is needed.
type Options struct {
	Dir          string
	FS           vfs.FS         // nil: vfs.OS
	Logger       zerolog.Logger // the zero Logger is silent
	SegmentBytes int64          // see wal.Options
	GroupRows    int            // see block.Options
	MustExist    bool           // refuse a directory that is no data directory yet, instead of making it one
	Stages       *stage.Set     // counts what the log and the blocks wait for; nil: nobody looks
}

// OpenRows returns the rows that are in the log but in no published block yet, as one View per
// block: everything acknowledged before the call is among them or published.
type OpenRows func(context.Context, signal.Signal) ([]block.View, error)

// Store is an open data directory. It is safe for concurrent use.
type Store struct {
	fs      vfs.FS
	dir     string
	node    uint32
	logger  zerolog.Logger
	options block.Options
	stages  *stage.Set
	lock    io.Closer
	log     *wal.Log
	next    atomic.Uint64 // the next block number
	damaged atomic.Int64  // files moved to quarantine since the start
	aside   atomic.Int64  // files in quarantine
	health  health

	mu      sync.RWMutex // guards everything below
	started bool
	release []signal.BlockID // published before the start: the log is told when it has started
	blocks  map[signal.BlockID]block.Info
	sorted  [len(signal.All) + 1][]block.Info // per signal, by Min; replaced, never changed
	open    OpenRows
}

// Open locks and opens a data directory, making it when it is missing. It reads names, not
// blocks; the log is open but not yet replayed: call Replay, then Start. Errors that concern the
// directory as such are *UnsafeError.
func Open(o Options) (*Store, error) {
	s := &Store{
		fs: o.FS, dir: o.Dir, logger: o.Logger, options: block.Options{GroupRows: o.GroupRows, Stages: o.Stages},
		stages: o.Stages,
		blocks: map[signal.BlockID]block.Info{},
	}
	if s.fs == nil {
		s.fs = vfs.OS{}
	}
	if err := s.prepare(o.MustExist); err != nil {
		return nil, err
	}
	if err := s.load(o.SegmentBytes); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}

// prepare makes sure that the directory is there and ours, and leaves it locked.
func (s *Store) prepare(mustExist bool) error {
	if s.dir == "" {
		return errors.New("no data directory given")
	}
	if err := s.recognize(mustExist); err != nil {
		return err
	}
	if err := vfs.MkdirAll(s.fs, s.dir); err != nil {
		return &UnsafeError{Dir: s.dir, Reason: "it is not there and cannot be made", Err: err}
	}
	if err := s.checkVolume(); err != nil {
		return err
	}
	lock, err := s.fs.Lock(filepath.Join(s.dir, "LOCK"))
	if err != nil {
		return unsafeLock(s.dir, err)
	}
	s.lock = lock
	return nil
}

// load reads what the directory holds.
func (s *Store) load(segmentBytes int64) error {
	if err := s.loadFormat(); err != nil {
		return err
	}
	if err := s.probe(); err != nil {
		return err
	}
	if err := s.loadBlocks(); err != nil {
		return err
	}
	log, err := wal.Open(wal.Options{
		FS: s.fs, Dir: filepath.Join(s.dir, walDir), Quarantine: filepath.Join(s.dir, quarantineDir, walDir),
		SegmentBytes: segmentBytes, Floor: s.next.Load, Stages: s.stages,
	})
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	s.log = log
	return nil
}

// probe finds out whether the directory takes a durable write: a server that starts and then
// refuses every Export would be worse than one that does not start. A full disk is no reason
// not to start, since reading goes on and space returns.
func (s *Store) probe() error {
	for _, dir := range []string{blocksDir, walDir, quarantineDir} {
		if err := vfs.MkdirAll(s.fs, filepath.Join(s.dir, dir)); err != nil && !noSpace(err) {
			return &UnsafeError{Dir: s.dir, Reason: "it is not writable", Err: err}
		}
	}
	if err := s.settle(); err != nil {
		return err
	}
	err := writeFile(s.fs, s.dir, "probe", []byte("mira\n"))
	if err == nil {
		err = s.fs.Remove(filepath.Join(s.dir, "probe"))
	}
	if err != nil && !noSpace(err) {
		return &UnsafeError{Dir: s.dir, Reason: "it is not writable", Err: err}
	}
	return nil
}

// settle makes the directories durable that an earlier process made: it may have ended between
// making one and syncing its parent, and new blocks will rely on it.
func (s *Store) settle() error {
	dirs := []string{filepath.Dir(s.dir), s.dir, filepath.Join(s.dir, blocksDir)}
	for _, sig := range signal.All {
		dirs = append(dirs, filepath.Join(s.dir, blocksDir, sig.String()))
	}
	for _, dir := range dirs {
		if err := s.fs.SyncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &UnsafeError{Dir: s.dir, Reason: "its directories cannot be synced, so nothing in it would be safe", Err: err}
		}
	}
	return nil
}

// Node returns the store's own number.
func (s *Store) Node() uint32 { return s.node }

// Dir returns the data directory.
func (s *Store) Dir() string { return s.dir }

// NextBlock gives out the identity of a block to be filled.
func (s *Store) NextBlock(sig signal.Signal, shard uint16) signal.BlockID {
	return signal.BlockID{Signal: sig, Shard: shard, Node: s.node, Seq: s.next.Add(1) - 1}
}

// Start makes the log take Exports. Call it once, after Replay, when every replayed block is
// published or held by the caller until it is.
func (s *Store) Start() error {
	if err := s.log.Start(); err != nil {
		return fmt.Errorf("start log: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = true
	s.log.Release(s.release...)
	s.release = nil
	return nil
}

// Append writes one Export to the log and returns when it is as durable as the tier asks.
// See wal.Log.Append for the errors and for what o is told.
func (s *Store) Append(f frame.Frame, t signal.Tier, o wal.Owner) (uint64, error) {
	seq, err := s.log.Append(f, t, o)
	s.health.wrote(err)
	return seq, err
}

// Err returns why the log has stopped for good, or nil.
func (s *Store) Err() error { return s.log.Err() }

// Publish makes the rows of a block a file that queries see. After an error nothing has changed
// and Publish may be called again.
func (s *Store) Publish(id signal.BlockID, t *column.Table) error {
	info, err := block.Write(s.fs, filepath.Join(s.dir, blocksDir), id, t, s.options) // 1. bytes on disk, 2. name on disk
	s.health.wrote(err)
	if err != nil {
		return fmt.Errorf("publish block %s: %w", id, err)
	}
	began := stage.Now()
	s.insert(info) // 3. queries see it
	s.stages.Observe(stage.Catalog, stage.Now().Since(began))
	s.forget(id) // 4. the log forgets it
	return nil
}

// forget lets the log drop the frames of a published block. During replay the log is being read,
// so it is told at the start.
func (s *Store) forget(id signal.BlockID) {
	s.mu.Lock()
	started := s.started
	if !started {
		s.release = append(s.release, id)
	}
	s.mu.Unlock()
	if started {
		s.log.Release(id)
	}
}

func (s *Store) insert(info block.Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks[info.ID] = info
	old := s.sorted[info.ID.Signal]
	at, _ := slices.BinarySearchFunc(old, info, byMin)
	s.sorted[info.ID.Signal] = slices.Insert(slices.Clone(old), at, info)
}

func byMin(a, b block.Info) int {
	switch {
	case a.Min < b.Min:
		return -1
	case a.Min > b.Min:
		return 1
	case a.ID.Seq < b.ID.Seq:
		return -1
	case a.ID.Seq > b.ID.Seq:
		return 1
	}
	return 0
}

// Attach names the source of the open rows. Call it before the first Snapshot.
func (s *Store) Attach(open OpenRows) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = open
}

// Close closes the log and gives the lock back. Nothing else may use the store any more.
func (s *Store) Close() error {
	err := s.log.Close()
	if err != nil {
		err = fmt.Errorf("close log: %w", err)
	}
	return errors.Join(err, s.lock.Close())
}

// LogStats returns the counts of the log alone, which costs next to nothing.
func (s *Store) LogStats() wal.Stats { return s.log.Stats() }

// Stats is a count of what the store holds and did.
type Stats struct {
	Blocks  map[signal.Signal]int
	Bytes   map[signal.Signal]int64
	Damaged int64 // files found damaged since the start
	Aside   int64 // files in quarantine, of all times
	Free    uint64
	Log     wal.Stats
}

// Stats returns the counts of now.
func (s *Store) Stats() Stats {
	st := Stats{Blocks: map[signal.Signal]int{}, Bytes: map[signal.Signal]int64{}, Damaged: s.damaged.Load(), Aside: s.aside.Load(), Log: s.log.Stats()}
	st.Free, _ = s.fs.Free(s.dir) // unknown reads as 0
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, sig := range signal.All {
		st.Blocks[sig] = len(s.sorted[sig])
		for _, b := range s.sorted[sig] {
			st.Bytes[sig] += b.Bytes
		}
	}
	return st
}
