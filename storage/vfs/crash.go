package vfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// CrashMode says what happens to what was not synced.
type CrashMode int

// The crash modes.
const (
	Drop    CrashMode = iota // all of it is gone
	Keep                     // all of it reached the disk
	Random                   // each 4 KiB page, size and change of a name reached the disk or not
	Torn                     // as Random, in pieces of 512 bytes
	Garbage                  // as Torn, and pieces that never were on the disk may hold anything
	Kill                     // only the process died: all is seen, and still not synced
)

// String returns the mode's name.
func (c CrashMode) String() string {
	return [...]string{"drop", "keep", "random", "torn", "garbage", "kill"}[c]
}

// Cut is one way for the power to go. Equal cuts of equal file systems leave equal ones.
type Cut struct {
	Mode CrashMode
	Seed uint64 // chooses for Random, Torn and Garbage
}

// CrashClone returns the file system as it is found after a crash at this moment; m goes on as
// if nothing had been. Locks are free in the clone and it takes the same capacity. Only after
// Kill is anything in it not durable.
func (m *Mem) CrashClone(c Cut) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.walkLocked(nil); err != nil {
		return NewMem()
	}
	x := &crash{
		cut:   c,
		rng:   rand.New(rand.NewPCG(c.Seed, 0x6d697261)),
		names: map[*node]map[string]*node{},
		twins: map[*node]*node{},
		to:    &Mem{capacity: m.capacity, locked: map[*node]bool{}},
	}
	x.chooseNames(m.pending)
	x.to.root = x.clone(m.root)
	if c.Mode == Kill {
		for _, p := range m.pending {
			x.to.pending = append(x.to.pending, x.cloneChange(p))
		}
	}
	return x.to
}

// crash is a clone in the making.
type crash struct {
	cut   Cut
	rng   *rand.Rand
	names map[*node]map[string]*node // directories that differ from their durable names
	twins map[*node]*node            // from the old nodes to the new
	to    *Mem
}

// chooseNames decides which pending changes reached the disk. One that builds on a lost one is
// lost. Half of the random cuts are what a journal leaves: all up to one change, none after it.
func (x *crash) chooseNames(pending []*change) {
	journal := x.rng.IntN(2) == 0
	last := x.rng.IntN(len(pending) + 1)
	var lost []*change
	for i, c := range pending {
		kept := x.cut.Mode == Keep
		if x.cut.Mode >= Random && x.cut.Mode <= Garbage {
			kept = i < last
			if !journal {
				kept = x.rng.IntN(2) == 0
			}
		}
		if !kept || slices.ContainsFunc(lost, c.meets) {
			lost = append(lost, c)
			continue
		}
		c.apply(x.namesOf)
	}
}

// namesOf is the directory's map in the clone, still with the old nodes.
func (x *crash) namesOf(dir *node) map[string]*node {
	if x.names[dir] == nil {
		x.names[dir] = maps.Clone(dir.durable)
	}
	return x.names[dir]
}

// clone returns n's twin.
func (x *crash) clone(n *node) *node {
	if twin := x.twins[n]; twin != nil {
		return twin
	}
	twin := &node{linked: n.linked}
	x.twins[n] = twin
	switch {
	case n.isDir() && x.cut.Mode == Kill:
		twin.entries, twin.durable = x.cloneNames(n.entries), x.cloneNames(n.durable)
	case n.isDir():
		twin.durable = x.cloneNames(x.namesOf(n))
		twin.entries = maps.Clone(twin.durable)
		twin.linked = true
	case x.cut.Mode == Kill:
		twin.content = n.content.share()
	default:
		twin.content = n.content.crash(x.cut.Mode, x.rng)
		twin.linked = true
	}
	if twin.linked {
		x.to.used += twin.content.allocated() * pageSize
	}
	return twin
}

// cloneNames goes by the order of the names: the random choices depend on it.
func (x *crash) cloneNames(names map[string]*node) map[string]*node {
	out := make(map[string]*node, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out[name] = x.clone(names[name])
	}
	return out
}

func (x *crash) cloneChange(c *change) *change {
	place := func(e entry) entry {
		if e.dir == nil {
			return e
		}
		return entry{x.clone(e.dir), e.name}
	}
	d := &change{cut: place(c.cut), put: place(c.put), node: x.clone(c.node)}
	for _, dir := range c.unsynced {
		d.unsynced = append(d.unsynced, x.clone(dir))
	}
	return d
}

// crash returns the content that the disk has after the cut.
func (c *content) crash(mode CrashMode, rng *rand.Rand) content {
	shared := c.share()
	after := content{pages: shared.disk, size: c.diskSize}
	switch mode {
	case Drop:
	case Keep:
		after.pages, after.size = shared.pages, c.size
	default:
		after.size = pickSize(c.diskSize, c.size, rng)
		for _, i := range slices.Sorted(maps.Keys(c.dirty)) {
			old, young := pageAt(c.disk, i), pageAt(c.pages, i)
			if int64(i) >= pagesFor(c.size) && after.size > c.size {
				continue // the file was cut here, and the cut did not reach the disk
			}
			after.pages = setPage(after.pages, i, pickPage(mode, old, young, rng))
		}
	}
	size := after.size
	after.size = max(size, int64(len(after.pages))*pageSize)
	after.extra = countPages(after.pages)
	after.truncate(size) // what is behind the end reads as zeros when the file grows again
	after.sync()
	after.disk = slices.Clone(after.pages)
	return after
}

func countPages(list []*page) (n int64) {
	for _, p := range list {
		if p != nil {
			n++
		}
	}
	return n
}

// pickSize returns the old size, the new one, or one on the way of growth.
func pickSize(old, young int64, rng *rand.Rand) int64 {
	switch rng.IntN(3) {
	case 0:
		return old
	case 1:
		return young
	}
	if young > old {
		return old + rng.Int64N(young-old+1)
	}
	return young
}

const sector = 512

// pickPage mixes two states of a page.
func pickPage(mode CrashMode, old, young *page, rng *rand.Rand) *page {
	whole := rng.IntN(4)
	if mode == Random {
		whole %= 2
	}
	switch whole {
	case 0:
		return old
	case 1:
		return young
	}
	mix := new(page)
	if old != nil {
		*mix = *old
	}
	if young == nil {
		young = &zeroPage
	}
	for at := 0; at < pageSize; at += sector {
		o, y := mix[at:at+sector], young[at:at+sector]
		switch {
		case string(o) == string(y):
		case rng.IntN(2) == 0:
			copy(o, y)
		case mode == Garbage && string(o) == string(zeroPage[:sector]):
			for i := range o {
				o[i] = byte(rng.Uint32())
			}
		}
	}
	return mix
}
