package vfs

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"
	"testing"
)

// workload publishes one file the way blocks are published.
func workload(f FS) error {
	if err := MkdirAll(f, "/d"); err != nil {
		return err
	}
	file, err := f.Create("/d/a.tmp")
	if err != nil {
		return err
	}
	_, err = file.Writev(0, [][]byte{[]byte("hello, "), []byte("world")})
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := f.Rename("/d/a.tmp", "/d/a"); err != nil {
		return err
	}
	return f.SyncDir("/d")
}

func TestFaultyNumbersMutatingOperations(t *testing.T) {
	var got []string
	f := &Faulty{FS: NewMem(), Before: func(op Op) error {
		if op.N > 0 {
			got = append(got, op.String())
		}
		return nil
	}}
	if err := workload(f); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"1 mkdir /d", "2 syncdir /", "3 create /d/a.tmp", "4 write /d/a.tmp", "5 sync /d/a.tmp",
		"6 rename /d/a.tmp -> /d/a", "7 syncdir /d",
	}
	if !slices.Equal(got, want) || f.Count() != len(want) {
		t.Errorf("got %d: %q, want %q", f.Count(), got, want)
	}
}

func TestFaultyBreaksTheNthOperation(t *testing.T) {
	for n := 1; n <= 7; n++ {
		f := &Faulty{FS: NewMem(), Before: func(op Op) error {
			if op.N == n {
				return syscall.ENOSPC
			}
			return nil
		}}
		err := workload(f)
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("operation %d: got %v, want ENOSPC", n, err)
		}
		if _, ok := errors.AsType[*fs.PathError](err); !ok {
			t.Errorf("operation %d: got %T, want a *fs.PathError in it", n, err)
		}
	}
}

// Around every operation of a publish, after every kind of cut, the name holds all or is not there.
func TestPublishIsAtomicAtEveryOperation(t *testing.T) {
	m := NewMem()
	clones := 0
	check := func(op Op) {
		for mode := Drop; mode <= Kill; mode++ {
			for seed := range uint64(20) {
				clones++
				c := m.CrashClone(Cut{mode, seed})
				if e, err := c.Stat("/d/a"); err == nil && e.Size != 12 {
					t.Errorf("%v, %v %d: size %d", op, mode, seed, e.Size)
				}
			}
		}
	}
	f := &Faulty{
		FS:     m,
		Before: func(op Op) error { check(op); return nil },
		After:  func(op Op, err error) error { check(op); return err },
	}
	if err := workload(f); err != nil {
		t.Fatal(err)
	}
	if _, err := m.CrashClone(Cut{}).Stat("/d/a"); err != nil || clones == 0 {
		t.Errorf("published, and gone after a power cut: %v", err)
	}
}

func TestFaultyCutsWritesShort(t *testing.T) {
	m := NewMem()
	f := &Faulty{FS: m, Before: func(op Op) error {
		if op.Kind == OpWrite {
			return &Short{N: 8, Err: syscall.ENOSPC}
		}
		return nil
	}}
	file, err := f.Create("/a")
	if err != nil {
		t.Fatal(err)
	}
	n, err := file.Writev(0, [][]byte{[]byte("hello, "), []byte("world")})
	if e, _ := m.Stat("/a"); n != 8 || e.Size != 8 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("wrote %d, size %d, %v; want 8, 8, ENOSPC", n, e.Size, err)
	}
}

func TestAfterChangesTheOutcomeOfWhatWasDone(t *testing.T) {
	m := NewMem()
	f := &Faulty{FS: m, After: func(op Op, err error) error {
		if op.Kind.Mutates() {
			return syscall.EIO
		}
		return err
	}}
	if _, err := f.Create("/a"); !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v, want EIO", err)
	}
	if _, err := m.Stat("/a"); err != nil {
		t.Errorf("the file was not made: %v", err)
	}
	if _, err := f.Lock("/a"); !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v, want EIO", err)
	}
	if _, err := m.Lock("/a"); err != nil {
		t.Errorf("the lock was not let go: %v", err)
	}
}
