package wal_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mira/storage/signal"
	"mira/storage/vfs"
	"mira/storage/wal"
)

// timed appends one frame and returns how long it took.
func timed(t *testing.T, l *wal.Log, n int, tier signal.Tier) time.Duration {
	t.Helper()
	began := time.Now()
	if _, err := l.Append(numbered(n, 100, block(1)), tier, nil); err != nil {
		t.Error(err)
	}
	return time.Since(began)
}

func TestSyncFrameIsOnDiskAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		l, _, _ := started(t, small(fs))
		defer l.Close()
		if took := timed(t, l, 1, signal.Sync); took != 0 {
			t.Errorf("took %v, want no wait", took)
		}
		got, _ := look(t, small(fs.CrashClone(vfs.Cut{Mode: vfs.Drop})))
		wantNumbers(t, got, upTo(1))
	})
}

func TestBatchedFrameWaitsItsWindowAndIsOnDiskThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		o := small(fs)
		o.Window = 7 * time.Millisecond
		l, _, _ := started(t, o)
		defer l.Close()
		if took := timed(t, l, 1, signal.Batched); took != o.Window {
			t.Errorf("took %v, want %v", took, o.Window)
		}
		got, _ := look(t, small(fs.CrashClone(vfs.Cut{Mode: vfs.Drop})))
		wantNumbers(t, got, upTo(1))
	})
}

func TestBatchedFramesOfOneWindowShareASync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small(vfs.NewMem())
		o.Window = 10 * time.Millisecond
		l, _, _ := started(t, o)
		defer l.Close()
		before := l.Stats().Syncs
		var wg sync.WaitGroup
		for n := range 5 {
			wg.Go(func() {
				time.Sleep(time.Duration(n) * time.Millisecond)
				if took, want := timed(t, l, n, signal.Batched), o.Window-time.Duration(n)*time.Millisecond; took != want {
					t.Errorf("frame %d took %v, want %v", n, took, want)
				}
			})
		}
		wg.Wait()
		if n := l.Stats().Syncs - before; n != 1 {
			t.Errorf("%d syncs, want 1", n)
		}
	})
}

func TestSyncFrameEndsTheWindowOfBatchedOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small(vfs.NewMem())
		o.Window = time.Hour
		l, _, _ := started(t, o)
		defer l.Close()
		var wg sync.WaitGroup
		wg.Go(func() {
			if took := timed(t, l, 1, signal.Batched); took != time.Minute {
				t.Errorf("batched frame took %v, want until the other came", took)
			}
		})
		time.Sleep(time.Minute)
		if took := timed(t, l, 2, signal.Sync); took != 0 {
			t.Errorf("sync frame took %v", took)
		}
		wg.Wait()
	})
}

func TestWindowEndsWhenTheGroupIsLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := wal.Options{FS: vfs.NewMem(), Dir: "/wal", Window: time.Hour}
		l, _, _ := started(t, o)
		defer l.Close()
		began := time.Now()
		if _, err := l.Append(numbered(1, 2<<20, block(1)), signal.Batched, nil); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("2 MiB waited %v for company", took)
		}
	})
}

func TestCloseEndsTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small(vfs.NewMem())
		o.Window = time.Hour
		l, _, _ := started(t, o)
		go timed(t, l, 1, signal.Batched)
		synctest.Wait()
		began := time.Now()
		closed(t, l)
		if took := time.Since(began); took != 0 {
			t.Errorf("Close took %v", took)
		}
	})
}

func TestBufferedFrameIsOnDiskWithinFlushEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		o := wal.Options{FS: fs, Dir: "/wal"}
		o.FlushEvery = 50 * time.Millisecond
		l, _, _ := started(t, o)
		defer l.Close()
		cut := func() int {
			got, _ := look(t, wal.Options{FS: fs.CrashClone(vfs.Cut{Mode: vfs.Drop}), Dir: "/wal"})
			return len(got)
		}
		for round := range 3 {
			at := round * 10
			for n := range 10 {
				if took := timed(t, l, at+n, signal.Buffered); took != 0 {
					t.Errorf("buffered frame took %v", took)
				}
				time.Sleep(time.Millisecond)
			}
			if n := cut(); n != at {
				t.Errorf("round %d: a power cut left %d frames before the flush, want %d", round, n, at)
			}
			time.Sleep(o.FlushEvery)
			if n := cut(); n != at+10 {
				t.Errorf("round %d: a power cut left %d frames after the flush, want %d", round, n, at+10)
			}
			time.Sleep(time.Hour)
		}
		if s := l.Stats(); s.Syncs != 3 {
			t.Errorf("%d syncs for three rounds of buffered frames", s.Syncs)
		}
	})
}

func TestBufferedFramesAreSyncedBeforeTheNextSegmentCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		l, _, _ := started(t, small(fs))
		defer l.Close()
		for n := 1; n <= 10; n++ { // two to a segment
			if _, err := l.Append(numbered(n, 1500, block(1)), signal.Buffered, nil); err != nil {
				t.Fatal(err)
			}
		}
		got, r := look(t, small(fs.CrashClone(vfs.Cut{Mode: vfs.Drop})))
		wantNumbers(t, got, upTo(8))
		if len(r.Damaged) > 0 {
			t.Errorf("damage: %v", r.Damage)
		}
	})
}

func TestStatsTellSinceWhenTheDiskIsAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &vfs.Faulty{FS: vfs.NewMem(), Before: func(op vfs.Op) error {
			if op.Kind == vfs.OpSync {
				time.Sleep(3 * time.Second)
			}
			return nil
		}}
		l, _, _ := started(t, small(slow))
		defer l.Close()
		if s := l.Stats(); !s.Since.IsZero() {
			t.Errorf("an idle log is at work since %v", s.Since)
		}
		began := time.Now()
		go timed(t, l, 1, signal.Sync)
		time.Sleep(time.Second)
		if s := l.Stats(); !s.Since.Equal(began) {
			t.Errorf("a slow sync began at %v, stats say %v", began, s.Since)
		}
		time.Sleep(3 * time.Second)
		if s := l.Stats(); s.LastSync != 3*time.Second || !s.Since.IsZero() {
			t.Errorf("a sync of 3s is told as %v, at work since %v", s.LastSync, s.Since)
		}
	})
}
