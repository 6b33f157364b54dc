package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrLocked is what Lock says when another holder has the file.
var ErrLocked = errors.New("locked by another process")

// OS is the operating system's file system. Files are made 0600 and directories 0700:
// telemetry holds secrets more often than anybody means it to.
type OS struct{}

var _ FS = OS{}

// Create implements FS.
func (OS) Create(name string) (File, error) {
	return open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

// Open implements FS.
func (OS) Open(name string) (File, error) { return open(name, os.O_RDONLY) }

// OpenReadWrite implements FS.
func (OS) OpenReadWrite(name string) (File, error) { return open(name, os.O_RDWR) }

func open(name string, flag int) (File, error) {
	f, err := os.OpenFile(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &osFile{File: f, conn: conn}, nil
}

// Mkdir implements FS.
func (OS) Mkdir(name string) error { return os.Mkdir(name, 0o700) }

// Rename implements FS.
func (OS) Rename(oldname, newname string) error {
	err := os.Rename(oldname, newname)
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: "rename", Path: oldname + " -> " + newname, Err: link.Err}
	}
	return err
}

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// List implements FS. A name that goes away meanwhile is left out.
func (OS) List(dir string) ([]Entry, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	list := make([]Entry, 0, len(names))
	for _, n := range names {
		info, err := n.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, entryOf(info))
	}
	return list, nil
}

// Stat implements FS.
func (OS) Stat(name string) (Entry, error) {
	info, err := os.Stat(name)
	if err != nil {
		return Entry{}, err
	}
	return entryOf(info), nil
}

func entryOf(info fs.FileInfo) Entry {
	if info.IsDir() {
		return Entry{Name: info.Name(), Dir: true}
	}
	return Entry{Name: info.Name(), Size: info.Size()}
}

// SyncDir implements FS.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Lock implements FS with flock, which the kernel lets go when the process ends, however it ends.
func (OS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	// Fd is safe here: nobody else has f yet, so nobody can close it meanwhile.
	err = eintr(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	if err == nil {
		return f, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrLocked
	}
	return nil, errors.Join(&fs.PathError{Op: "lock", Path: name, Err: err}, f.Close())
}

// Free implements FS.
func (OS) Free(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := eintr(func() error { return unix.Statfs(dir, &st) }); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return st.Bavail * blockSize(&st), nil
}

// osFile adds to os.File what it lacks: vectored writes, fdatasync and preallocation.
type osFile struct {
	*os.File
	conn syscall.RawConn // keeps the descriptor open during a call, whoever closes the file
}

// Writev implements File.
func (f *osFile) Writev(off int64, bufs [][]byte) (n int64, err error) {
	err = f.control("pwritev", func(fd int) error {
		n, err = pwritev(fd, off, bufs)
		return err
	})
	return n, err
}

// Sync implements File.
func (f *osFile) Sync() error {
	return f.control("fdatasync", func(fd int) error {
		return eintr(func() error { return fdatasync(fd) })
	})
}

// Size implements File.
func (f *osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Preallocate implements File. What it could not finish it gives back.
func (f *osFile) Preallocate(size int64) error {
	before, err := f.Size()
	if err != nil {
		return err
	}
	err = f.control("fallocate", func(fd int) error {
		return eintr(func() error { return fallocate(fd, size) })
	})
	if errors.Is(err, errors.ErrUnsupported) {
		err = f.fill(before, size)
	}
	if err != nil {
		return errors.Join(err, f.Truncate(before))
	}
	return nil
}

// fill writes zeros from old to size, for file systems that cannot reserve.
func (f *osFile) fill(old, size int64) error {
	zeros := make([]byte, min(1<<20, max(0, size-old)))
	for at := old; at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}

func (f *osFile) control(op string, call func(fd int) error) error {
	var err error
	if closed := f.conn.Control(func(fd uintptr) { err = call(int(fd)) }); closed != nil {
		err = fs.ErrClosed
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: f.Name(), Err: err}
	}
	return nil
}

// eintr repeats a call that a signal cut short.
func eintr(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
