package wal_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"mira/storage/signal"
	"mira/storage/vfs"
	"mira/storage/wal"
)

// fate is what the world outside knows of a frame.
type fate int

const (
	untried fate = iota
	tried        // Append was called
	acked
	refused // with an error that promises that it is gone
	unknown // with ErrPoisoned
)

type entry struct {
	fate  fate
	tier  signal.Tier
	block int
	seq   uint64
}

// world is who sends frames to a log and remembers what was promised.
type world struct {
	mu       sync.Mutex // guards all below
	frames   []entry    // by number
	released map[int]bool
}

func (w *world) send(l *wal.Log, n, length, id int, tier signal.Tier) error {
	w.set(n, entry{fate: tried, tier: tier, block: id})
	seq, err := l.Append(numbered(n, length, block(id)), tier, nil)
	e := entry{fate: acked, tier: tier, block: id, seq: seq}
	switch {
	case errors.Is(err, wal.ErrPoisoned):
		e.fate = unknown
	case err != nil:
		e.fate = refused
	}
	w.set(n, e)
	return err
}

func (w *world) set(n int, e entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.frames) <= n {
		w.frames = append(w.frames, entry{})
	}
	w.frames[n] = e
}

func (w *world) release(l *wal.Log, id int) {
	w.mu.Lock()
	w.released[id] = true
	w.mu.Unlock()
	l.Release(block(id))
}

// judge says what is wrong with a recovery that gave these frames. strict demands buffered
// frames too: the process died, not the machine.
func (w *world) judge(got []int, strict bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	seen := make(map[int]bool)
	last := uint64(0)
	for _, n := range got {
		if seen[n] {
			errs = append(errs, fmt.Errorf("frame %d came back twice", n))
		}
		seen[n] = true
		if n >= len(w.frames) || w.frames[n].fate == untried {
			errs = append(errs, fmt.Errorf("frame %d was never sent", n))
			continue
		}
		e := w.frames[n]
		if e.fate == refused {
			errs = append(errs, fmt.Errorf("frame %d was refused and came back", n))
		}
		if e.seq != 0 && e.seq <= last {
			errs = append(errs, fmt.Errorf("frame %d is out of order", n))
		}
		last = max(last, e.seq)
	}
	for n, e := range w.frames {
		if e.fate == acked && !seen[n] && !w.released[e.block] && (strict || e.tier != signal.Buffered) {
			errs = append(errs, fmt.Errorf("frame %d, %v, was acknowledged and is lost", n, e.tier))
		}
	}
	return errors.Join(errs...)
}

// work is what a log lives through: every tier, large frames, groups, releases, restarts.
func (w *world) work(o wal.Options, lives int) error {
	n := 0
	for range lives {
		l, err := wal.Open(o)
		if err != nil {
			return err
		}
		if err := w.recover(l); err != nil {
			l.Close()
			return err
		}
		for range 14 {
			n++
			length := n * 397 % 1900
			if n%9 == 0 {
				length += 9000
			}
			_ = w.send(l, n, length, n/3, signal.Tier(n%3))
			if n%5 == 0 {
				var wg sync.WaitGroup
				for range 4 {
					n++
					k := n
					wg.Go(func() { _ = w.send(l, k, 300, k/3, signal.Sync) })
				}
				wg.Wait()
			}
			if id := n/3 - 4; id >= 0 {
				w.release(l, id)
			}
		}
		if err := l.Close(); err != nil && !errors.Is(err, wal.ErrPoisoned) {
			return err
		}
	}
	return nil
}

// recover replays and starts l and judges what came back.
func (w *world) recover(l *wal.Log) error {
	got, r, err := replayed(l)
	if err != nil {
		return err
	}
	if err := w.judge(got, true); err != nil {
		return fmt.Errorf("restart: %w; report %+v", err, r)
	}
	return l.Start()
}

// after opens what a crash left, twice, and judges both: the second recovery must find what the
// first decided. A crash leaves a torn tail, never damage.
func (w *world) after(fs vfs.FS, strict bool) error {
	var first []int
	for round := range 2 {
		l, err := wal.Open(small(fs))
		if err != nil {
			return err
		}
		got, r, err := replayed(l)
		if err == nil {
			err = l.Start()
		}
		if err = errors.Join(err, l.Close()); err != nil {
			return err
		}
		if err := w.judge(got, strict); err != nil {
			return fmt.Errorf("recovery %d: %w; report %+v", round+1, err, r)
		}
		if len(r.Damaged) > 0 {
			return fmt.Errorf("recovery %d: a crash was taken for damage: %v", round+1, r.Damage)
		}
		if round > 0 && !slices.Equal(got, first) {
			return fmt.Errorf("recovery 1 gave %v, recovery 2 gave %v", first, got)
		}
		first = got
	}
	return nil
}

var modes = []vfs.CrashMode{vfs.Drop, vfs.Keep, vfs.Random, vfs.Torn, vfs.Garbage, vfs.Kill}

// sweep runs the work on a file system that change has wrapped, and crashes it before and after
// every mutating operation in every mode. It returns how many crashes there were and the first
// complaints. deep crashes the recoveries likewise.
func sweep(change func(*vfs.Mem) vfs.FS, deep bool) (crashes int, complaints []error) {
	mem := vfs.NewMem()
	w := &world{released: map[int]bool{}}
	var mu sync.Mutex
	cut := func(op vfs.Op, when string) {
		mu.Lock()
		defer mu.Unlock()
		for _, mode := range modes {
			if !op.Kind.Mutates() || len(complaints) > 3 {
				return
			}
			c := vfs.Cut{Mode: mode, Seed: uint64(op.N)}
			crashes++
			err := w.after(mem.CrashClone(c), mode == vfs.Kill)
			if err == nil && deep && crashes%61 == 0 {
				var n int
				n, err = w.crashRecovery(mem.CrashClone(c), mode == vfs.Kill)
				crashes += n
			}
			if err != nil {
				complaints = append(complaints, fmt.Errorf("%s %v, mode %v, seed %d: %w", when, op, c.Mode, c.Seed, err))
			}
		}
	}
	f := &vfs.Faulty{
		FS:     change(mem),
		Before: func(op vfs.Op) error { cut(op, "before"); return nil },
		After:  func(op vfs.Op, err error) error { cut(op, "after"); return err },
	}
	if err := w.work(small(f), 3); err != nil {
		complaints = append(complaints, err)
	}
	return crashes, complaints
}

// crashRecovery crashes a recovery after each of its mutating operations.
func (w *world) crashRecovery(mem *vfs.Mem, strict bool) (crashes int, err error) {
	f := &vfs.Faulty{FS: mem, After: func(op vfs.Op, result error) error {
		if !op.Kind.Mutates() || err != nil {
			return result
		}
		for _, mode := range modes {
			crashes++
			c := vfs.Cut{Mode: mode, Seed: uint64(op.N)}
			if bad := w.after(mem.CrashClone(c), strict && mode == vfs.Kill); bad != nil && err == nil {
				err = fmt.Errorf("in recovery, after %v, mode %v: %w", op, mode, bad)
			}
		}
		return result
	}}
	l, openErr := wal.Open(small(f))
	if openErr != nil {
		return crashes, openErr
	}
	_, _, replayErr := replayed(l)
	return crashes, errors.Join(err, replayErr, l.Start(), l.Close(), err)
}

func TestNoCrashLosesDoublesOrRaisesAFrame(t *testing.T) {
	crashes, complaints := sweep(func(m *vfs.Mem) vfs.FS { return m }, !testing.Short())
	for _, err := range complaints {
		t.Error(err)
	}
	if crashes < 2000 {
		t.Errorf("only %d crashes", crashes)
	}
	t.Logf("%d crashes", crashes)
}

// forgetful leaves out syncs: the sweep above must notice.
type forgetful struct {
	vfs.FS
	dirs bool // leave out those of directories, not of files
}

type forgetfulFile struct{ vfs.File }

func (f forgetful) SyncDir(dir string) error {
	if f.dirs {
		return nil
	}
	return f.FS.SyncDir(dir)
}

func (f forgetful) Create(name string) (vfs.File, error) { return f.wrap(f.FS.Create(name)) }

func (f forgetful) OpenReadWrite(name string) (vfs.File, error) {
	return f.wrap(f.FS.OpenReadWrite(name))
}

func (f forgetful) wrap(file vfs.File, err error) (vfs.File, error) {
	if err != nil || f.dirs {
		return file, err
	}
	return forgetfulFile{file}, nil
}

func (forgetfulFile) Sync() error { return nil }

func TestASyncLeftOutIsCaughtByTheCrashes(t *testing.T) {
	for _, dirs := range []bool{false, true} {
		_, complaints := sweep(func(m *vfs.Mem) vfs.FS { return forgetful{m, dirs} }, false)
		if len(complaints) == 0 {
			t.Errorf("without the syncs (of directories: %v) no crash lost anything: the sweep proves nothing", dirs)
		} else {
			t.Logf("caught: %.200v", complaints[0])
		}
	}
}
