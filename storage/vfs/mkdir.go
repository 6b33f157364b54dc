package vfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"syscall"
)

// unsynced holds the directories that MkdirAll has made and whose entry in their parent is not
// known to be durable yet: another goroutine is at it, or the sync went wrong.
var unsynced sync.Map // of place

type place struct {
	fs  FS
	dir string
}

// MkdirAll makes dir and the parents it lacks, and returns once every entry it made is durable.
// A directory that another call is making at the same time, or whose sync failed before, is
// synced here too: that it can be seen does not mean that it survives a power cut. For one
// that an earlier process left, nobody can tell: who opens a tree syncs its directories once.
func MkdirAll(f FS, dir string) error {
	dir = filepath.Clean(dir)
	switch e, err := f.Stat(dir); {
	case err == nil && !e.Dir:
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	case err == nil:
		if _, doubtful := unsynced.Load(place{f, dir}); doubtful {
			return settle(f, dir)
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := MkdirAll(f, filepath.Dir(dir)); err != nil {
		return err
	}
	unsynced.Store(place{f, dir}, true) // before the name can be seen
	if err := f.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return settle(f, dir)
}

// settle makes the entry of dir durable.
func settle(f FS, dir string) error {
	if err := f.SyncDir(filepath.Dir(dir)); err != nil {
		return err
	}
	unsynced.Delete(place{f, dir})
	return nil
}
