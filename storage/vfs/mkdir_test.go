package vfs

import (
	"errors"
	"syscall"
	"testing"
)

func TestMkdirAllSyncsAgainAfterAFailedSync(t *testing.T) {
	m := NewMem()
	broken := true
	f := &Faulty{FS: m, Before: func(op Op) error {
		if op.Kind == OpSyncDir && broken {
			return syscall.EIO
		}
		return nil
	}}
	if err := MkdirAll(f, "/a/b"); !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v, want EIO", err)
	}
	broken = false
	if err := MkdirAll(f, "/a/b"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.CrashClone(Cut{}).Stat("/a/b"); err != nil {
		t.Errorf("after a power cut: %v", err)
	}
}

// A directory that another call has made and not yet synced is not relied upon.
func TestMkdirAllDoesNotTrustADirectoryInTheMaking(t *testing.T) {
	m := NewMem()
	var f *Faulty
	checked := false
	f = &Faulty{FS: m, Before: func(op Op) error {
		if op.Kind == OpSyncDir && !checked {
			checked = true
			if err := MkdirAll(f, "/a"); err != nil {
				t.Error(err)
			}
			if _, err := m.CrashClone(Cut{}).Stat("/a"); err != nil {
				t.Errorf("the second call returned before the name was durable: %v", err)
			}
		}
		return nil
	}}
	if err := MkdirAll(f, "/a"); err != nil || !checked {
		t.Fatal(err, checked)
	}
}
