package wal_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"mira/storage/vfs"
	"mira/storage/wal"
)

// spans fills segments: frame n of 1500 bytes for block n/2, so that two frames, of one block or of
// two neighbours, share a segment.
func spans(t *testing.T, l *wal.Log, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		appendAll(t, l, n, n, 1500, block(n/2))
	}
}

func TestReleasedSegmentsAreNotReplayed(t *testing.T) {
	mem := vfs.NewMem()
	l, _, _ := started(t, small(mem))
	spans(t, l, 1, 20) // segments hold 1 2, 3 4, …; blocks are 1 | 2 3, 4 5, …
	l.Release(block(3), block(4))
	got, r := look(t, small(mem.CrashClone(vfs.Cut{Mode: vfs.Drop})))
	wantNumbers(t, got, append(upTo(6), between(9, 20)...))
	if r.Gaps != 1 || len(r.Damaged) > 0 {
		t.Errorf("report %+v, want one gap and no damage", r)
	}
	f := func(seq int, want bool) {
		t.Helper()
		if l.Names(block(seq)) != want {
			t.Errorf("names block %d: %v, want %v", seq, !want, want)
		}
	}
	f(2, true)
	f(3, true) // 5 6 and 7 8 hold frames for it, and 5 6 is live for block 2
	f(10, true)
	f(99, false)
	l.Release(block(2))
	f(2, true) // with block 1, unreleased
	f(3, false)
}

func TestSegmentsGoRound(t *testing.T) {
	mem := vfs.NewMem()
	created := 0
	f := &vfs.Faulty{FS: mem, Before: func(op vfs.Op) error {
		if op.Kind == vfs.OpCreate {
			created++
		}
		return nil
	}}
	l, _, _ := started(t, small(f))
	for n := 1; n <= 400; n++ {
		appendAll(t, l, n, n, 1500, block(n))
		l.Release(block(n - 4))
	}
	if created > 8 {
		t.Errorf("200 segments made %d files", created)
	}
	for _, mode := range []vfs.CrashMode{vfs.Drop, vfs.Keep, vfs.Kill} {
		got, r := look(t, small(mem.CrashClone(vfs.Cut{Mode: mode})))
		if want := between(395, 400); !slices.Equal(got, want) && !slices.Equal(got, want[1:]) && !slices.Equal(got, want[2:]) {
			t.Errorf("%v: came back %v, want about %v", mode, got, want)
		}
		if len(r.Damaged) > 0 {
			t.Errorf("%v: a file's earlier life was taken for damage: %v", mode, r.Damage)
		}
	}
}

func TestSparesAreBoundedAndOddSizesRemoved(t *testing.T) {
	mem := vfs.NewMem()
	o := small(mem)
	o.Spares = 2
	l, _, _ := started(t, o)
	spans(t, l, 1, 20)
	appendAll(t, l, 21, 21, 30_000, block(21))
	appendAll(t, l, 22, 22, 10, block(22))
	for n := range 22 {
		l.Release(block(n))
	}
	if s := l.Stats(); s.Segments != 1 || s.Spares != 2 || s.LiveBytes != 8192 {
		t.Errorf("stats %+v, want 1 segment of 8192 bytes and 2 spares", s)
	}
	if names := files(t, mem, o.Dir); len(names) != 3 {
		t.Errorf("the directory holds %v", names)
	}
	closed(t, l)
	o.SegmentBytes = 16384 // what is left is of the wrong size now
	l, got, _ := started(t, o)
	wantNumbers(t, got, []int{22})
	if s := l.Stats(); s.Spares != 0 {
		t.Errorf("spares of another size were kept: %+v", s)
	}
}

func TestFramesOfPublishedBlocksAreTrimmedAfterARestart(t *testing.T) {
	mem := vfs.NewMem()
	l, _, _ := started(t, small(mem))
	spans(t, l, 1, 20)
	closed(t, l)
	l, got, _ := started(t, small(mem))
	wantNumbers(t, got, upTo(20))
	for n := range 11 {
		l.Release(block(n))
	}
	if s := l.Stats(); s.Segments != 1 {
		t.Errorf("%d segments live after all was released, want the new one", s.Segments)
	}
	if l.Names(block(3)) {
		t.Error("a trimmed block is named")
	}
}

func TestFailedTrimKeepsTheSegmentNamed(t *testing.T) {
	for _, kind := range []vfs.Kind{vfs.OpRename, vfs.OpSyncDir} {
		broken := false
		f := &vfs.Faulty{FS: vfs.NewMem(), Before: func(op vfs.Op) error {
			if broken && op.Kind == kind {
				return syscall.EIO
			}
			return nil
		}}
		l, _, _ := started(t, small(f))
		spans(t, l, 1, 5)
		broken = true
		l.Release(block(0), block(1), block(2))
		if !l.Names(block(1)) || l.Stats().TrimErrors == 0 {
			t.Errorf("%v failed: block named %v, stats %+v", kind, l.Names(block(1)), l.Stats())
		}
		broken = false
		l.Release()
		// A rename can be tried again. After a failed sync nobody knows, so the name stays.
		if want := kind == vfs.OpSyncDir; l.Names(block(1)) != want {
			t.Errorf("%v works again: block named %v, want %v", kind, !want, want)
		}
	}
}

func TestNumbersAreNeverReused(t *testing.T) {
	mem := vfs.NewMem()
	o := small(mem)
	number := func() (highest string) {
		for _, name := range files(t, mem, o.Dir) {
			highest = max(highest, strings.TrimSuffix(strings.TrimSuffix(name, ".wal"), ".free"))
		}
		return highest
	}
	last := ""
	for round := range 6 {
		l, _, _ := started(t, o)
		if n := number(); n <= last {
			t.Errorf("round %d: the new segment is %s, after %s", round, n, last)
		}
		spans(t, l, 1, 6)
		for n := range 4 {
			l.Release(block(n))
		}
		closed(t, l)
		last = number()
		if round == 3 { // somebody puts the last segment aside
			if err := vfs.MkdirAll(mem, "/data/quarantine"); err != nil {
				t.Fatal(err)
			}
			if err := mem.Rename(o.Dir+"/"+last+".wal", "/data/quarantine/"+last+".wal"); err != nil {
				t.Fatal(err)
			}
		}
		if names := files(t, mem, o.Dir); len(names) > 4 {
			t.Errorf("round %d leaves %v", round, names)
		}
	}
}
