package receiver

import (
	"container/list"
	"context"
	"sync"
)

// budget hands out bytes of memory. Who holds nothing may wait for them, first come first
// served; who holds some may only try for more. So nobody waits for somebody who waits.
type budget struct {
	size int64

	mu      sync.Mutex // guards free, waiting
	free    int64
	waiting list.List // of *claim, oldest first
}

type claim struct {
	n     int64
	ready chan struct{}
}

func newBudget(size int) *budget {
	return &budget{size: int64(size), free: int64(size)}
}

// acquire waits for n bytes, or for the whole budget when n is more than that. It returns how
// many to release.
func (b *budget) acquire(ctx context.Context, n int) (int, error) {
	need := min(int64(n), b.size)
	b.mu.Lock()
	if b.waiting.Len() == 0 && b.free >= need {
		b.free -= need
		b.mu.Unlock()
		return int(need), nil
	}
	c := &claim{need, make(chan struct{})}
	place := b.waiting.PushBack(c)
	b.mu.Unlock()

	select {
	case <-c.ready:
		return int(need), nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-c.ready: // granted while we gave up: take it
		return int(need), nil
	default:
	}
	b.waiting.Remove(place)
	b.grantLocked() // we may have been first and in the way
	return 0, ctx.Err()
}

// try takes n bytes if they are free.
func (b *budget) try(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free < int64(n) {
		return false
	}
	b.free -= int64(n)
	return true
}

// force takes n bytes that are already in use, free or not.
func (b *budget) force(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free -= int64(n)
}

func (b *budget) release(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += int64(n)
	b.grantLocked()
}

func (b *budget) grantLocked() {
	for e := b.waiting.Front(); e != nil; e = b.waiting.Front() {
		c := e.Value.(*claim)
		if b.free < c.n {
			return
		}
		b.free -= c.n
		b.waiting.Remove(e)
		close(c.ready)
	}
}

// used returns how many bytes are handed out.
func (b *budget) used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size - b.free
}
