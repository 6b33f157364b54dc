package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"
)

// Kind is what an operation does.
type Kind int

// The kinds. Those up to OpPreallocate change the file system; the others only look.
const (
	OpCreate Kind = iota
	OpMkdir
	OpRename
	OpRemove
	OpSyncDir
	OpLock
	OpWrite // WriteAt and Writev
	OpSync
	OpTruncate
	OpPreallocate
	OpOpen
	OpList
	OpStat // Stat and Size
	OpRead
	OpClose
	OpFree
)

var kinds = [...]string{
	"create", "mkdir", "rename", "remove", "syncdir", "lock", "write", "sync", "truncate", "preallocate",
	"open", "list", "stat", "read", "close", "free",
}

// String returns the name of k.
func (k Kind) String() string { return kinds[k] }

// Mutates reports whether operations of this kind change what is on the disk, now or after a crash.
func (k Kind) Mutates() bool { return k <= OpPreallocate }

// Op is one call of a method of FS or File.
type Op struct {
	Kind    Kind
	Name    string // the path the file was opened by; the old name of a rename
	NewName string // of a rename
	Off     int64  // of a read or write
	Len     int64  // of a read or write; the size of a truncate or preallocate
	N       int    // counts the mutating operations of this Faulty from 1; 0 for any other
}

// String returns "12 rename a -> b" and the like.
func (o Op) String() string {
	s := fmt.Sprintf("%d %s %s", o.N, o.Kind, o.Name)
	if o.NewName != "" {
		s += " -> " + o.NewName
	}
	return s
}

// Short is the error for a Before that wants a write to end after N bytes with Err.
type Short struct {
	N   int64
	Err error
}

// Error implements error.
func (s *Short) Error() string { return fmt.Sprintf("%v after %d bytes", s.Err, s.N) }

// Unwrap returns Err.
func (s *Short) Unwrap() error { return s.Err }

// Faulty makes operations of another file system fail. Its hooks are called by the goroutine
// that operates, maybe several at a time, and may use FS but not the Faulty.
type Faulty struct {
	FS FS
	// Before is called before each operation. If it returns an error the operation is not done
	// and says that error.
	Before func(Op) error
	// After is called when an operation was done, with its outcome, and returns the outcome
	// that the caller sees.
	After func(Op, error) error

	count atomic.Int64
}

var _ FS = (*Faulty)(nil)

// Count returns how many mutating operations were begun.
func (f *Faulty) Count() int { return int(f.count.Load()) }

// do runs call between the hooks.
func (f *Faulty) do(op Op, call func() error) error {
	return f.write(op, call, nil)
}

// write is do for an operation that can be cut short by part.
func (f *Faulty) write(op Op, call func() error, part func(n int64) error) error {
	if op.Kind.Mutates() {
		op.N = int(f.count.Add(1))
	}
	if f.Before != nil {
		if err := f.Before(op); err != nil {
			if short, ok := errors.AsType[*Short](err); ok && part != nil {
				err = errors.Join(part(short.N), short.Err)
			}
			return &fs.PathError{Op: op.Kind.String(), Path: op.Name, Err: err}
		}
	}
	err := call()
	if f.After != nil {
		err = f.After(op, err)
	}
	return err
}

// file runs open between the hooks and wraps the file it returns.
func (f *Faulty) file(op Op, open func(string) (File, error)) (File, error) {
	var opened File
	err := f.do(op, func() (err error) {
		opened, err = open(op.Name)
		return err
	})
	if err != nil {
		if opened != nil {
			err = errors.Join(err, opened.Close())
		}
		return nil, err
	}
	return &faultyFile{f: f, file: opened, name: op.Name}, nil
}

// Create implements FS.
func (f *Faulty) Create(name string) (File, error) {
	return f.file(Op{Kind: OpCreate, Name: name}, f.FS.Create)
}

// Open implements FS.
func (f *Faulty) Open(name string) (File, error) {
	return f.file(Op{Kind: OpOpen, Name: name}, f.FS.Open)
}

// OpenReadWrite implements FS.
func (f *Faulty) OpenReadWrite(name string) (File, error) {
	return f.file(Op{Kind: OpOpen, Name: name}, f.FS.OpenReadWrite)
}

// Mkdir implements FS.
func (f *Faulty) Mkdir(name string) error {
	return f.do(Op{Kind: OpMkdir, Name: name}, func() error { return f.FS.Mkdir(name) })
}

// Rename implements FS.
func (f *Faulty) Rename(oldname, newname string) error {
	op := Op{Kind: OpRename, Name: oldname, NewName: newname}
	return f.do(op, func() error { return f.FS.Rename(oldname, newname) })
}

// Remove implements FS.
func (f *Faulty) Remove(name string) error {
	return f.do(Op{Kind: OpRemove, Name: name}, func() error { return f.FS.Remove(name) })
}

// List implements FS.
func (f *Faulty) List(dir string) (list []Entry, err error) {
	err = f.do(Op{Kind: OpList, Name: dir}, func() error {
		list, err = f.FS.List(dir)
		return err
	})
	return list, err
}

// Stat implements FS.
func (f *Faulty) Stat(name string) (e Entry, err error) {
	err = f.do(Op{Kind: OpStat, Name: name}, func() error {
		e, err = f.FS.Stat(name)
		return err
	})
	return e, err
}

// SyncDir implements FS.
func (f *Faulty) SyncDir(dir string) error {
	return f.do(Op{Kind: OpSyncDir, Name: dir}, func() error { return f.FS.SyncDir(dir) })
}

// Lock implements FS.
func (f *Faulty) Lock(name string) (lock io.Closer, err error) {
	err = f.do(Op{Kind: OpLock, Name: name}, func() error {
		lock, err = f.FS.Lock(name)
		return err
	})
	if err != nil && lock != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, err
}

// Free implements FS.
func (f *Faulty) Free(dir string) (n uint64, err error) {
	err = f.do(Op{Kind: OpFree, Name: dir}, func() error {
		n, err = f.FS.Free(dir)
		return err
	})
	return n, err
}
