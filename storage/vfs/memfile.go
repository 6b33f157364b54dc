package vfs

import (
	"io"
	"io/fs"
	"maps"
	"slices"
	"syscall"
)

// pageSize is the unit of Mem's memory, and of what a power cut keeps or drops.
const pageSize = 4096

// page is never written to once a disk or a clone has it too.
type page [pageSize]byte

var zeroPage page

// content is what a file holds: what processes read, and what is on the disk.
type content struct {
	pages []*page // nil, or past the end: zeros
	size  int64
	disk  []*page // as pages, after a power cut
	// diskSize is the size after a power cut.
	diskSize int64
	dirty    map[int]bool // pages changed since the last Sync
	own      map[int]bool // pages nobody shares: may be written to in place
	reserved int64        // pages preallocated from the start
	extra    int64        // pages that are not nil behind the reserved ones
}

func pageAt(list []*page, i int) *page {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// setPage grows the list as needed.
func setPage(list []*page, i int, p *page) []*page {
	if i >= len(list) {
		if p == nil {
			return list
		}
		list = append(list, make([]*page, i+1-len(list))...)
	}
	list[i] = p
	return list
}

func pagesFor(size int64) int64 { return (size + pageSize - 1) / pageSize }

// allocated is the space taken, in pages.
func (c *content) allocated() int64 { return c.reserved + c.extra }

// needs reports whether writing page i takes a page of space.
func (c *content) needs(i int) bool { return int64(i) >= c.reserved && pageAt(c.pages, i) == nil }

// touch returns page i to be written to.
func (c *content) touch(i int) *page {
	p := pageAt(c.pages, i)
	if p == nil && c.needs(i) {
		c.extra++
	}
	if p == nil || !c.own[i] {
		fresh := new(page)
		if p != nil {
			*fresh = *p
		}
		p = fresh
		c.pages = setPage(c.pages, i, p)
		c.mark(&c.own, i)
	}
	c.mark(&c.dirty, i)
	return p
}

func (*content) mark(set *map[int]bool, i int) {
	if *set == nil {
		*set = map[int]bool{}
	}
	(*set)[i] = true
}

// write puts b at off. take asks for a page of space; when there is none, the write ends short.
func (c *content) write(b []byte, off int64, take func() bool) (n int, err error) {
	for n < len(b) {
		at := off + int64(n)
		i := int(at / pageSize)
		if c.needs(i) && !take() {
			err = syscall.ENOSPC
			break
		}
		n += copy(c.touch(i)[at%pageSize:], b[n:])
	}
	if n > 0 {
		c.size = max(c.size, off+int64(n))
	}
	return n, err
}

// read fills b from off; at the end it says io.EOF.
func (c *content) read(b []byte, off int64) (n int, err error) {
	if off >= c.size {
		return 0, io.EOF
	}
	if int64(len(b)) > c.size-off {
		b, err = b[:c.size-off], io.EOF
	}
	for n < len(b) {
		at := off + int64(n)
		p := pageAt(c.pages, int(at/pageSize))
		if p == nil {
			p = &zeroPage
		}
		n += copy(b[n:], p[at%pageSize:])
	}
	return n, err
}

// truncate sets the size and returns the pages of space that became free.
func (c *content) truncate(size int64) (freed int64) {
	before, keep := c.allocated(), pagesFor(size)
	for i := keep; i < int64(len(c.pages)); i++ {
		if c.pages[i] != nil {
			if i >= c.reserved {
				c.extra--
			}
			c.pages[i] = nil
			c.mark(&c.dirty, int(i))
			delete(c.own, int(i))
		}
	}
	c.pages = c.pages[:min(keep, int64(len(c.pages)))]
	c.reserved = min(c.reserved, keep)
	if tail := size % pageSize; size < c.size && tail > 0 && pageAt(c.pages, int(keep-1)) != nil {
		clear(c.touch(int(keep - 1))[tail:])
	}
	c.size = size
	return before - c.allocated()
}

// reserveCost is the space that preallocating size bytes takes, in pages.
func (c *content) reserveCost(size int64) int64 {
	cost := max(0, pagesFor(size)-c.reserved)
	for i := c.reserved; i < min(pagesFor(size), int64(len(c.pages))); i++ {
		if c.pages[i] != nil {
			cost--
		}
	}
	return cost
}

func (c *content) reserve(size int64) {
	total := c.allocated() + c.reserveCost(size)
	c.reserved = max(c.reserved, pagesFor(size))
	c.extra = total - c.reserved
	c.size = max(c.size, size)
}

func (c *content) sync() {
	for i := range c.dirty {
		c.disk = setPage(c.disk, i, pageAt(c.pages, i))
	}
	c.diskSize = c.size
	clear(c.dirty)
	clear(c.own)
}

func (c *content) forget() {
	clear(c.dirty)
	clear(c.own)
}

// share returns a copy that has the same pages; neither writes to them in place any more.
func (c *content) share() content {
	clear(c.own)
	d := *c
	d.own = nil
	d.dirty = maps.Clone(c.dirty)
	d.pages, d.disk = slices.Clone(c.pages), slices.Clone(c.disk)
	return d
}

// memFile is an open file of a Mem.
type memFile struct {
	m     *Mem
	n     *node // nil: closed
	name  string
	write bool
}

func (m *Mem) handleLocked(n *node, name string, write bool) *memFile {
	n.handles++
	return &memFile{m: m, n: n, name: name, write: write}
}

// do runs call under the lock, on a file that is open, and for a change also writable.
func (f *memFile) do(op string, change bool, call func(c *content) error) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	err := fs.ErrClosed
	if f.n != nil {
		if err = syscall.EBADF; f.write || !change {
			err = call(&f.n.content)
		}
	}
	if err == nil || err == io.EOF {
		return err
	}
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

// ReadAt implements File.
func (f *memFile) ReadAt(b []byte, off int64) (n int, err error) {
	err = f.do("read", false, func(c *content) error {
		if off < 0 {
			return syscall.EINVAL
		}
		n, err = c.read(b, off)
		return err
	})
	return n, err
}

// WriteAt implements File.
func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	n, err := f.Writev(off, [][]byte{b})
	return int(n), err
}

// Writev implements File.
func (f *memFile) Writev(off int64, bufs [][]byte) (n int64, err error) {
	err = f.do("write", true, func(c *content) error {
		if off < 0 {
			return syscall.EINVAL
		}
		for _, b := range bufs {
			k, err := c.write(b, off+n, f.m.takeLocked)
			n += int64(k)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// takeLocked takes a page of space, if there is one.
func (m *Mem) takeLocked() bool {
	if m.capacity > 0 && m.used+pageSize > m.capacity {
		return false
	}
	m.used += pageSize
	return true
}

// Sync implements File.
func (f *memFile) Sync() error {
	return f.do("sync", false, func(c *content) error {
		c.sync()
		return nil
	})
}

// Truncate implements File.
func (f *memFile) Truncate(size int64) error {
	return f.do("truncate", true, func(c *content) error {
		if size < 0 {
			return syscall.EINVAL
		}
		f.m.used -= c.truncate(size) * pageSize
		return nil
	})
}

// Size implements File.
func (f *memFile) Size() (size int64, err error) {
	err = f.do("stat", false, func(c *content) error {
		size = c.size
		return nil
	})
	return size, err
}

// Preallocate implements File.
func (f *memFile) Preallocate(size int64) error {
	return f.do("fallocate", true, func(c *content) error {
		cost := c.reserveCost(size) * pageSize
		if f.m.capacity > 0 && f.m.used+cost > f.m.capacity {
			return syscall.ENOSPC
		}
		f.m.used += cost
		c.reserve(size)
		return nil
	})
}

// Close implements File.
func (f *memFile) Close() error {
	return f.do("close", false, func(*content) error {
		f.n.handles--
		f.m.freeLocked(f.n)
		f.n = nil
		return nil
	})
}
