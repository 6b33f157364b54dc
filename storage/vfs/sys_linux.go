package vfs

import (
	"io"

	"golang.org/x/sys/unix"
)

// maxVec is IOV_MAX: the kernel takes no more pieces in one call.
const maxVec = 1024

// pwritev writes all of bufs at off, in as many calls as the kernel makes of it: it takes at
// most maxVec pieces and may write less than it was given.
func pwritev(fd int, off int64, bufs [][]byte) (done int64, err error) {
	var vec [][]byte
	for {
		vec, bufs = fillVec(vec, bufs)
		if len(vec) == 0 {
			return done, nil
		}
		n, err := unix.Pwritev(fd, vec, off+done)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return done, err
		}
		if n == 0 {
			return done, io.ErrShortWrite
		}
		done += int64(n)
		vec = skip(vec, n)
	}
}

// fillVec moves pieces with bytes in them from bufs to vec until vec is full.
func fillVec(vec, bufs [][]byte) (full, rest [][]byte) {
	for len(bufs) > 0 && len(vec) < maxVec {
		if len(bufs[0]) > 0 {
			vec = append(vec, bufs[0])
		}
		bufs = bufs[1:]
	}
	return vec, bufs
}

// skip drops the first n bytes of vec, which is ours; the pieces themselves are only resliced.
func skip(vec [][]byte, n int) [][]byte {
	i := 0
	for i < len(vec) && n >= len(vec[i]) {
		n -= len(vec[i])
		i++
	}
	vec = vec[:copy(vec, vec[i:])]
	if n > 0 {
		vec[0] = vec[0][n:]
	}
	return vec
}

func fdatasync(fd int) error { return unix.Fdatasync(fd) }

func fallocate(fd int, size int64) error {
	if size <= 0 {
		return nil
	}
	return unix.Fallocate(fd, 0, 0, size)
}

// blockSize is the unit of the counts in st.
func blockSize(st *unix.Statfs_t) uint64 {
	if st.Frsize > 0 {
		return uint64(st.Frsize)
	}
	return uint64(st.Bsize)
}
