package wal_test

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"syscall"
	"testing"

	"mira/storage/signal"
	"mira/storage/vfs"
	"mira/storage/wal"
)

// fault is one way for operations to go wrong.
type fault struct {
	name  string
	err   error
	until int  // how many operations fail from the first on
	done  bool // the operation is done all the same
	half  bool // a write is done by half
}

var faults = []fault{
	{name: "EIO once", err: syscall.EIO, until: 1},
	{name: "EIO for ever", err: syscall.EIO, until: 1 << 30},
	{name: "ENOSPC once", err: syscall.ENOSPC, until: 1},
	{name: "ENOSPC for ten", err: syscall.ENOSPC, until: 10},
	{name: "ENOSPC for ever", err: syscall.ENOSPC, until: 1 << 30},
	{name: "EIO by half", err: syscall.EIO, until: 1, half: true},
	{name: "ENOSPC by half, for three", err: syscall.ENOSPC, until: 3, half: true},
	{name: "EIO though done", err: syscall.EIO, until: 1, done: true},
}

// inject makes operations of mem fail as f says, from the first on.
func (f fault) inject(mem *vfs.Mem, first int) *vfs.Faulty {
	hit := func(op vfs.Op) bool { return op.Kind.Mutates() && op.N >= first && op.N-first < f.until }
	return &vfs.Faulty{
		FS: mem,
		Before: func(op vfs.Op) error {
			if f.done || !hit(op) {
				return nil
			}
			if op.Kind == vfs.OpSync {
				_ = mem.Forget(op.Name) // the next sync will succeed and not cover this
			}
			if f.half {
				return &vfs.Short{N: op.Len / 2, Err: f.err}
			}
			return f.err
		},
		After: func(op vfs.Op, err error) error {
			if f.done && hit(op) {
				return f.err
			}
			return err
		},
	}
}

func TestNoFaultLosesDoublesOrRaisesAFrame(t *testing.T) {
	healthy := &vfs.Faulty{FS: vfs.NewMem()}
	if err := (&world{released: map[int]bool{}}).work(small(healthy), 2); err != nil {
		t.Fatal(err)
	}
	runs := 0
	for _, f := range faults {
		for first := 1; first <= healthy.Count(); first++ {
			mem := vfs.NewMem()
			w := &world{released: map[int]bool{}}
			if err := w.work(small(f.inject(mem, first)), 2); err != nil && !errors.Is(err, f.err) {
				t.Errorf("%s from operation %d: %v", f.name, first, err)
			}
			for _, mode := range []vfs.CrashMode{vfs.Drop, vfs.Keep, modes[2+first%4]} {
				runs++
				err := w.after(mem.CrashClone(vfs.Cut{Mode: mode, Seed: uint64(first)}), mode == vfs.Kill)
				if err != nil {
					t.Errorf("%s from operation %d, then %v: %v", f.name, first, mode, err)
				}
			}
			if t.Failed() {
				return
			}
		}
	}
	t.Logf("%d recoveries", runs)
}

// only makes operations of one kind fail while it is armed.
type only struct {
	kind  vfs.Kind
	err   error
	armed atomic.Bool
}

func (o *only) before(op vfs.Op) error {
	if o.armed.Load() && op.Kind == o.kind {
		return o.err
	}
	return nil
}

func TestSyncErrorPoisonsTheLog(t *testing.T) {
	mem := vfs.NewMem()
	broken := &only{kind: vfs.OpSync, err: syscall.EIO}
	l, _, _ := started(t, small(&vfs.Faulty{FS: mem, Before: broken.before}))
	appendAll(t, l, 1, 1, 10, block(1))
	broken.armed.Store(true)
	var o told
	_, err := l.Append(numbered(2, 10, block(1)), signal.Sync, &o)
	if !errors.Is(err, wal.ErrPoisoned) || !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v, want ErrPoisoned and the cause", err)
	}
	broken.armed.Store(false) // the next sync would «succeed»
	for n, tier := range []signal.Tier{signal.Sync, signal.Batched, signal.Buffered} {
		if _, err := l.Append(numbered(3+n, 10, block(1)), tier, &o); !errors.Is(err, wal.ErrPoisoned) {
			t.Errorf("%v after the failed sync: got %v, want ErrPoisoned", tier, err)
		}
	}
	if len(o.seqs) > 0 {
		t.Errorf("the owner was told of %d frames", len(o.seqs))
	}
	if !errors.Is(l.Err(), wal.ErrPoisoned) || !l.Stats().Poisoned {
		t.Errorf("Err is %v, stats %+v", l.Err(), l.Stats())
	}
	if err := l.Close(); !errors.Is(err, wal.ErrPoisoned) {
		t.Errorf("Close: got %v", err)
	}
	got, _ := look(t, small(mem.CrashClone(vfs.Cut{Mode: vfs.Drop})))
	wantNumbers(t, got, upTo(1))
}

func TestFailedFlushOfBufferedFramesPoisonsTheLog(t *testing.T) {
	broken := &only{kind: vfs.OpSync, err: syscall.EIO}
	o := small(&vfs.Faulty{FS: vfs.NewMem(), Before: broken.before})
	o.FlushEvery = 1 // at once
	l, _, _ := started(t, o)
	broken.armed.Store(true)
	if _, err := l.Append(numbered(1, 10, block(1)), signal.Buffered, nil); err != nil {
		t.Fatal(err)
	}
	_, err := l.Append(numbered(2, 10, block(1)), signal.Sync, nil)
	if !errors.Is(err, wal.ErrPoisoned) {
		t.Errorf("got %v, want ErrPoisoned", err)
	}
}

func TestFullDiskRefusesAndServiceResumes(t *testing.T) {
	for _, cut := range []int64{0, 10, 64, 100} { // bytes of the failing write that reach the file
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			mem := vfs.NewMem()
			var broken atomic.Bool
			f := &vfs.Faulty{FS: mem, Before: func(op vfs.Op) error {
				if broken.Load() && op.Kind == vfs.OpWrite {
					return &vfs.Short{N: cut, Err: syscall.ENOSPC}
				}
				return nil
			}}
			l, _, _ := started(t, small(f))
			appendAll(t, l, 1, 1, 10, block(1))
			broken.Store(true)
			for n := 2; n <= 4; n++ {
				_, err := l.Append(numbered(n, 10, block(1)), signal.Sync, nil)
				if !errors.Is(err, wal.ErrFull) || !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("frame %d: got %v, want ErrFull and the cause", n, err)
				}
			}
			broken.Store(false)
			appendAll(t, l, 5, 6, 10, block(1))
			if err := l.Err(); err != nil {
				t.Errorf("a full disk poisoned the log: %v", err)
			}
			for _, mode := range modes {
				got, r := look(t, small(mem.CrashClone(vfs.Cut{Mode: mode, Seed: 1})))
				wantNumbers(t, got, []int{1, 5, 6})
				if len(r.Damaged) > 0 {
					t.Errorf("%v: damage %v", mode, r.Damage)
				}
			}
			if s := l.Stats(); s.Refused != 3 {
				t.Errorf("stats: %+v", s)
			}
		})
	}
}

func TestLogStartsOnAFullDisk(t *testing.T) {
	mem := vfs.NewMem()
	l, _, _ := started(t, small(mem))
	appendAll(t, l, 1, 3, 1500, block(1))
	closed(t, l)
	mem.SetCapacity(1)
	l, got, _ := started(t, small(mem))
	wantNumbers(t, got, upTo(3))
	if _, err := l.Append(numbered(4, 10, block(1)), signal.Sync, nil); !errors.Is(err, wal.ErrFull) {
		t.Errorf("got %v, want ErrFull", err)
	}
	mem.SetCapacity(0)
	appendAll(t, l, 5, 5, 10, block(1))
	closed(t, l)
	got, r := look(t, small(mem))
	wantNumbers(t, got, []int{1, 2, 3, 5})
	if len(r.Damaged) > 0 {
		t.Errorf("damage: %v", r.Damage)
	}
}

func TestLargeFrameThatFindsNoRoomLetsSmallOnesPass(t *testing.T) {
	mem := vfs.NewMem()
	l, _, _ := started(t, small(mem))
	mem.SetCapacity(16384)
	if _, err := l.Append(numbered(1, 100_000, block(1)), signal.Sync, nil); !errors.Is(err, wal.ErrFull) {
		t.Errorf("got %v, want ErrFull", err)
	}
	appendAll(t, l, 2, 2, 10, block(1))
}

func TestWriteErrorIsToldAndTheLogGoesOn(t *testing.T) {
	mem := vfs.NewMem()
	broken := &only{kind: vfs.OpWrite, err: syscall.EIO}
	l, _, _ := started(t, small(&vfs.Faulty{FS: mem, Before: broken.before}))
	broken.armed.Store(true)
	_, err := l.Append(numbered(1, 10, block(1)), signal.Sync, nil)
	if !errors.Is(err, syscall.EIO) || errors.Is(err, wal.ErrFull) || errors.Is(err, wal.ErrPoisoned) {
		t.Errorf("got %v, want the cause alone", err)
	}
	broken.armed.Store(false)
	appendAll(t, l, 2, 2, 10, block(1))
	closed(t, l)
	got, _ := look(t, small(mem))
	wantNumbers(t, got, []int{2})
}

// curt writes half of what it is given and says nothing.
type curt struct {
	vfs.FS
	armed atomic.Bool
}

type curtFile struct {
	vfs.File
	fs *curt
}

func (c *curt) Create(name string) (vfs.File, error) {
	f, err := c.FS.Create(name)
	return curtFile{f, c}, err
}

func (f curtFile) Writev(off int64, bufs [][]byte) (int64, error) {
	if f.fs.armed.Load() {
		bufs = bufs[:1]
	}
	return f.File.Writev(off, bufs)
}

func TestShortWriteIsAnError(t *testing.T) {
	mem := vfs.NewMem()
	fs := &curt{FS: mem}
	l, _, _ := started(t, small(fs))
	fs.armed.Store(true)
	if _, err := l.Append(numbered(1, 10, block(1)), signal.Sync, nil); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v, want ErrShortWrite", err)
	}
	fs.armed.Store(false)
	appendAll(t, l, 2, 2, 10, block(1))
	closed(t, l)
	got, _ := look(t, small(mem))
	wantNumbers(t, got, []int{2})
}

func TestFailedRepairPoisonsTheLog(t *testing.T) {
	mem := vfs.NewMem()
	var broken atomic.Bool
	l, _, _ := started(t, small(&vfs.Faulty{FS: mem, Before: func(op vfs.Op) error {
		if broken.Load() && (op.Kind == vfs.OpWrite || op.Kind == vfs.OpTruncate) {
			return syscall.ENOSPC
		}
		return nil
	}}))
	broken.Store(true)
	if _, err := l.Append(numbered(1, 10, block(1)), signal.Sync, nil); !errors.Is(err, wal.ErrPoisoned) {
		t.Errorf("got %v, want ErrPoisoned", err)
	}
}

func TestWhatCannotBeReadOrSyncedAtOpenIsAnError(t *testing.T) {
	for _, kind := range []vfs.Kind{vfs.OpMkdir, vfs.OpSyncDir, vfs.OpList, vfs.OpOpen} {
		mem := vfs.NewMem()
		if kind != vfs.OpMkdir {
			l, _, _ := started(t, small(mem))
			appendAll(t, l, 1, 1, 10, block(1))
			closed(t, l)
		}
		broken := &only{kind: kind, err: syscall.EMFILE}
		broken.armed.Store(true)
		o := small(&vfs.Faulty{FS: mem, Before: broken.before})
		if _, err := wal.Open(o); !errors.Is(err, syscall.EMFILE) {
			t.Errorf("%v fails: got %v", kind, err)
		}
	}
}

func TestSegmentThatCannotBeOpenedStopsTheStart(t *testing.T) {
	mem := killed(t)
	broken := &only{kind: vfs.OpOpen, err: syscall.EMFILE}
	l, err := wal.Open(small(&vfs.Faulty{FS: mem, Before: broken.before}))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	broken.armed.Store(true)
	if _, _, err := replayed(l); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("Replay: got %v", err)
	}
	broken.armed.Store(false)
	got, _, err := replayed(l)
	if err != nil {
		t.Fatal(err)
	}
	wantNumbers(t, got, upTo(10))
	broken.armed.Store(true)
	if err := l.Start(); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("Start: got %v", err)
	}
}
