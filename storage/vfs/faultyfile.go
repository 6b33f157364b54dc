package vfs

import "errors"

// faultyFile is an open file of a Faulty.
type faultyFile struct {
	f    *Faulty
	file File
	name string
}

// ReadAt implements File.
func (f *faultyFile) ReadAt(b []byte, off int64) (n int, err error) {
	op := Op{Kind: OpRead, Name: f.name, Off: off, Len: int64(len(b))}
	err = f.f.do(op, func() error {
		n, err = f.file.ReadAt(b, off)
		return err
	})
	return n, err
}

// WriteAt implements File.
func (f *faultyFile) WriteAt(b []byte, off int64) (int, error) {
	n, err := f.Writev(off, [][]byte{b})
	return int(n), err
}

// Writev implements File.
func (f *faultyFile) Writev(off int64, bufs [][]byte) (n int64, err error) {
	op := Op{Kind: OpWrite, Name: f.name, Off: off}
	for _, b := range bufs {
		op.Len += int64(len(b))
	}
	err = f.f.write(op, func() error {
		n, err = f.file.Writev(off, bufs)
		return err
	}, func(part int64) error {
		n, err = f.file.Writev(off, head(bufs, part))
		return err
	})
	return n, err
}

// head returns the first n bytes of bufs.
func head(bufs [][]byte, n int64) [][]byte {
	var out [][]byte
	for _, b := range bufs {
		b = b[:min(n, int64(len(b)))]
		n -= int64(len(b))
		out = append(out, b)
	}
	return out
}

// Sync implements File.
func (f *faultyFile) Sync() error {
	return f.f.do(Op{Kind: OpSync, Name: f.name}, f.file.Sync)
}

// Truncate implements File.
func (f *faultyFile) Truncate(size int64) error {
	op := Op{Kind: OpTruncate, Name: f.name, Len: size}
	return f.f.do(op, func() error { return f.file.Truncate(size) })
}

// Size implements File.
func (f *faultyFile) Size() (size int64, err error) {
	err = f.f.do(Op{Kind: OpStat, Name: f.name}, func() error {
		size, err = f.file.Size()
		return err
	})
	return size, err
}

// Preallocate implements File.
func (f *faultyFile) Preallocate(size int64) error {
	op := Op{Kind: OpPreallocate, Name: f.name, Len: size}
	return f.f.do(op, func() error { return f.file.Preallocate(size) })
}

// Close implements File. The file is closed even when a hook says that this failed.
func (f *faultyFile) Close() error {
	closed := false
	err := f.f.do(Op{Kind: OpClose, Name: f.name}, func() error {
		closed = true
		return f.file.Close()
	})
	if !closed {
		return errors.Join(err, f.file.Close())
	}
	return err
}
