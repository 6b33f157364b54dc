package vfs

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Mem is a file system in memory that knows what a power cut would leave of it. The zero
// value is empty, without bound, and has its root directory.
//
// It promises no more than a disk does:
//   - file data and size survive only after Sync of that file;
//   - a name (made, renamed, removed) survives only after SyncDir of its directory, and a
//     directory that did not survive takes with it what is below;
//   - a rename is one step: after a cut either the old name is there or the new one. One that
//     goes from a directory to another survives for certain once both are synced.
//
// CrashClone makes the file system that is found after the cut.
type Mem struct {
	mu       sync.Mutex // guards all below, and every node
	root     *node
	pending  []*change // changes of names, in their order, that are not durable yet
	locked   map[*node]bool
	capacity int64 // bytes; 0: no bound
	used     int64 // bytes
}

var _ FS = (*Mem)(nil)

// NewMem returns an empty file system.
func NewMem() *Mem { return new(Mem) }

// SetCapacity bounds the bytes that files may take; what needs more says ENOSPC. 0 is no bound.
func (m *Mem) SetCapacity(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capacity = bytes
}

// node is a file or a directory. Names point to nodes.
type node struct {
	entries map[string]*node // a directory's, as a process sees them; nil: a file
	durable map[string]*node // as a power cut leaves them
	content content
	linked  bool // has a name
	handles int  // open Files
}

func newDir() *node {
	return &node{entries: map[string]*node{}, durable: map[string]*node{}, linked: true}
}

func (n *node) isDir() bool { return n.entries != nil }

// entry is the place of a name.
type entry struct {
	dir  *node
	name string
}

// change is one step on names: cut takes a name away, put gives one to node, a rename has both.
type change struct {
	cut, put entry
	node     *node
	unsynced []*node // directories whose SyncDir must come before the change is durable
}

func (c *change) touches(e entry) bool {
	return e.dir != nil && (c.cut == e || c.put == e)
}

func (c *change) meets(d *change) bool { return c.touches(d.cut) || c.touches(d.put) }

// apply makes the change in the maps that of returns.
func (c *change) apply(of func(dir *node) map[string]*node) {
	if c.cut.dir != nil {
		delete(of(c.cut.dir), c.cut.name)
	}
	if c.put.dir != nil {
		of(c.put.dir)[c.put.name] = c.node
	}
}

// changeLocked makes a change visible and remembers that it is not durable.
func (m *Mem) changeLocked(c *change) {
	for _, e := range []entry{c.cut, c.put} {
		if e.dir != nil && !slices.Contains(c.unsynced, e.dir) {
			c.unsynced = append(c.unsynced, e.dir)
		}
	}
	c.apply(func(dir *node) map[string]*node { return dir.entries })
	m.pending = append(m.pending, c)
}

// freeLocked gives back the space of a file that has neither a name nor a File. Its content
// stays: a power cut may bring the name back.
func (m *Mem) freeLocked(n *node) {
	if !n.linked && n.handles == 0 {
		m.used -= n.content.allocated() * pageSize
	}
}

func split(name string) []string {
	name = path.Clean("/" + name)
	if name == "/" {
		return nil
	}
	return strings.Split(name[1:], "/")
}

func (m *Mem) walkLocked(parts []string) (*node, error) {
	if m.root == nil {
		m.root, m.locked = newDir(), map[*node]bool{}
	}
	at := m.root
	for _, p := range parts {
		if !at.isDir() {
			return nil, syscall.ENOTDIR
		}
		if at = at.entries[p]; at == nil {
			return nil, syscall.ENOENT
		}
	}
	return at, nil
}

// find returns the directory of a name, its place, and the node there if there is one.
func (m *Mem) findLocked(name string) (entry, *node, error) {
	parts := split(name)
	if len(parts) == 0 {
		return entry{}, nil, syscall.EBUSY
	}
	last := len(parts) - 1
	dir, err := m.walkLocked(parts[:last])
	if err != nil {
		return entry{}, nil, err
	}
	if !dir.isDir() {
		return entry{}, nil, syscall.ENOTDIR
	}
	return entry{dir, parts[last]}, dir.entries[parts[last]], nil
}

// Create implements FS.
func (m *Mem) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.createLocked(name)
	if err == nil && n.isDir() {
		err = syscall.EISDIR
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	m.used -= n.content.truncate(0) * pageSize
	return m.handleLocked(n, name, true), nil
}

func (m *Mem) createLocked(name string) (*node, error) {
	at, n, err := m.findLocked(name)
	if err != nil || n != nil {
		return n, err
	}
	n = &node{linked: true}
	m.changeLocked(&change{put: at, node: n})
	return n, nil
}

// Open implements FS.
func (m *Mem) Open(name string) (File, error) { return m.open(name, false) }

// OpenReadWrite implements FS.
func (m *Mem) OpenReadWrite(name string) (File, error) { return m.open(name, true) }

func (m *Mem) open(name string, write bool) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walkLocked(split(name))
	if err == nil && n.isDir() {
		err = syscall.EISDIR
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return m.handleLocked(n, name, write), nil
}

// Mkdir implements FS.
func (m *Mem) Mkdir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, n, err := m.findLocked(name)
	if err == nil && n != nil {
		err = syscall.EEXIST
	}
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: err}
	}
	m.changeLocked(&change{put: at, node: newDir()})
	return nil
}

// Rename implements FS.
func (m *Mem) Rename(oldname, newname string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.renameLocked(oldname, newname); err != nil {
		return &fs.PathError{Op: "rename", Path: oldname + " -> " + newname, Err: err}
	}
	return nil
}

func (m *Mem) renameLocked(oldname, newname string) error {
	from, n, err := m.findLocked(oldname)
	if err != nil {
		return err
	}
	to, there, err := m.findLocked(newname)
	switch {
	case err != nil:
		return err
	case n == nil:
		return syscall.ENOENT
	case there != nil && there.isDir():
		return syscall.EEXIST
	case n == there:
		return nil
	case there != nil && n.isDir():
		return syscall.ENOTDIR
	case n.isDir() && strings.HasPrefix(path.Clean("/"+newname), path.Clean("/"+oldname)+"/"):
		return syscall.EINVAL
	}
	m.changeLocked(&change{cut: from, put: to, node: n})
	if there != nil {
		there.linked = false
		m.freeLocked(there)
	}
	return nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, n, err := m.findLocked(name)
	switch {
	case err != nil:
	case n == nil:
		err = syscall.ENOENT
	case len(n.entries) > 0:
		err = syscall.ENOTEMPTY
	}
	if err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: err}
	}
	m.changeLocked(&change{cut: at, node: n})
	n.linked = false
	m.freeLocked(n)
	return nil
}

// List implements FS.
func (m *Mem) List(dir string) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walkLocked(split(dir))
	if err == nil && !n.isDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	list := make([]Entry, 0, len(n.entries))
	for name, e := range n.entries {
		list = append(list, Entry{Name: name, Size: e.content.size, Dir: e.isDir()})
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Stat implements FS.
func (m *Mem) Stat(name string) (Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walkLocked(split(name))
	if err != nil {
		return Entry{}, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return Entry{Name: path.Base(path.Clean("/" + name)), Size: n.content.size, Dir: n.isDir()}, nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walkLocked(split(dir))
	if err == nil && !n.isDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return &fs.PathError{Op: "sync", Path: dir, Err: err}
	}
	for _, c := range m.pending {
		c.unsynced = slices.DeleteFunc(c.unsynced, func(d *node) bool { return d == n })
	}
	m.settleLocked()
	return nil
}

// settleLocked makes durable every change whose directories were all synced, and those before it
// that it builds upon.
func (m *Mem) settleLocked() {
	for i := len(m.pending) - 1; i >= 0; i-- {
		if c := m.pending[i]; len(c.unsynced) == 0 {
			for _, earlier := range m.pending[:i] {
				if c.meets(earlier) {
					earlier.unsynced = nil
				}
			}
		}
	}
	m.pending = slices.DeleteFunc(m.pending, func(c *change) bool {
		if len(c.unsynced) > 0 {
			return false
		}
		c.apply(func(dir *node) map[string]*node { return dir.durable })
		return true
	})
}

// Lock implements FS.
func (m *Mem) Lock(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.createLocked(name)
	switch {
	case err != nil:
	case n.isDir():
		err = syscall.EISDIR
	case m.locked[n]:
		err = ErrLocked
	}
	if err != nil {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	m.locked[n] = true
	return &memLock{m, n}, nil
}

type memLock struct {
	m *Mem
	n *node // nil: let go
}

// Close lets the lock go.
func (l *memLock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.n == nil {
		return fs.ErrClosed
	}
	delete(l.m.locked, l.n)
	l.n = nil
	return nil
}

// Free implements FS.
func (m *Mem) Free(string) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.capacity == 0 {
		return math.MaxInt64, nil
	}
	return uint64(max(0, m.capacity-m.used)), nil
}

// Forget makes what is unsynced in a file stay unsynced, as Linux does when writing back has
// failed: processes go on seeing the data, but no later Sync covers them. Sync errors are
// simulated by Forget and an error.
func (m *Mem) Forget(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walkLocked(split(name))
	if err == nil && n.isDir() {
		err = errors.ErrUnsupported
	}
	if err != nil {
		return &fs.PathError{Op: "forget", Path: name, Err: err}
	}
	n.content.forget()
	return nil
}
