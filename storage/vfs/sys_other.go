//go:build !linux

package vfs

import (
	"errors"

	"golang.org/x/sys/unix"
)

// The other systems are for development: correct, not fast.

func pwritev(fd int, off int64, bufs [][]byte) (done int64, err error) {
	for _, b := range bufs {
		for len(b) > 0 {
			n, err := unix.Pwrite(fd, b, off+done)
			if err == unix.EINTR {
				continue
			}
			if err != nil {
				return done, err
			}
			done += int64(n)
			b = b[n:]
		}
	}
	return done, nil
}

func fdatasync(fd int) error { return unix.Fsync(fd) }

func fallocate(int, int64) error { return errors.ErrUnsupported }

func blockSize(st *unix.Statfs_t) uint64 { return uint64(st.Bsize) }
