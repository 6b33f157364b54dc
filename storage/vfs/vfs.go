// Package vfs is the seam between mira and the disk: everything that reads, writes, renames,
// removes or syncs a file goes through an FS, so that tests can crash it, fill it and break it.
//
// It is the only place that syncs a directory. OS is the real thing; Mem forgets what was not
// synced when it is crashed; Faulty makes chosen operations of another FS fail.
package vfs

import "io"

// FS is a file system. Names are paths as the operating system takes them. Errors are
// *fs.PathError (or wrap one), so errors.Is works with fs.ErrNotExist, syscall.ENOSPC and so on.
// An FS is safe for concurrent use.
type FS interface {
	// Create makes an empty file, or empties the one that is there, open for reading and writing.
	Create(name string) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	// OpenReadWrite opens a file that exists for reading and writing.
	OpenReadWrite(name string) (File, error)
	// Mkdir makes one directory; it is an error (fs.ErrExist) if the name is taken. Use MkdirAll.
	Mkdir(name string) error
	// Rename moves a file, replacing what bears the new name. Durable after SyncDir of both directories.
	Rename(oldname, newname string) error
	// Remove unlinks a file or an empty directory. Durable after SyncDir.
	Remove(name string) error
	// List returns the entries of a directory in the order of their names.
	List(dir string) ([]Entry, error)
	// Stat tells about one name.
	Stat(name string) (Entry, error)
	// SyncDir makes the directory's entries durable: what was created, renamed or removed in it.
	SyncDir(dir string) error
	// Lock takes an exclusive lock on the named file, created when missing, until Close or the
	// process's end. ErrLocked when another holder has it.
	Lock(name string) (io.Closer, error)
	// Free returns the bytes that an unprivileged writer may still allocate in dir's volume.
	Free(dir string) (uint64, error)
}

// Entry is a name in a directory.
type Entry struct {
	Name string // base name
	Size int64  // bytes; 0 for a directory
	Dir  bool
}

// File is an open file. Close without Sync promises nothing about the disk.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Writev writes bufs one after the other at off, in as few system calls as possible.
	// n counts the bytes written, also when err != nil. bufs is not kept and not changed.
	Writev(off int64, bufs [][]byte) (n int64, err error)
	// Sync makes the file's data, and the size needed to read it, durable (fdatasync).
	Sync() error
	// Truncate sets the size.
	Truncate(size int64) error
	// Size returns the size.
	Size() (int64, error)
	// Preallocate reserves space for size bytes from the start, growing the file to size:
	// later writes below it do not fail for lack of space.
	Preallocate(size int64) error
}
