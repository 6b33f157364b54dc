package pipeline

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"mira/storage/signal"
	"mira/storage/stage"
)

// slotOverhead is what a reservation costs beside its payload, in bytes: the bookkeeping of an
// Export and of its records' row ends.
const slotOverhead = 512

var (
	errDraining = errors.New("the server is shutting down")
	errNoRoom   = errors.New("no room in the ingest memory before the wait ended")
)

// gate admits Exports: it owns the budget and knows which shard has room. Its lock is held for a
// few comparisons only, never across a wait or a write.
type gate struct {
	budget int64         // bytes that may be admitted and not yet published
	block  int64         // bytes of one block
	wait   time.Duration // how long an Export may be parked

	mu     sync.Mutex // guards everything below, and the admission fields of every shard
	shards [len(signal.All) + 1][]*shard
	parked []*waiter // in the order of arrival
	used   int64
	queued int64 // bytes parked
	rate   float64
	stuck  error // why blocks are not published, which ends the waits for room; nil when they are
	closed bool
	idle   chan struct{} // closed when closed and nothing is admitted any more
}

// waiter is one parked Export.
type waiter struct {
	sig   signal.Signal
	bytes int64
	since time.Time
	slot  chan *slot // capacity 1; closed instead when there is no use in waiting
	err   error      // why; read after slot was closed
}

// reserve finds room for an Export of n payload bytes: at once, or by waiting in line until the
// gate's wait or ctx ends. All refusing happens here.
func (g *gate) reserve(ctx context.Context, sig signal.Signal, n int) (*slot, error) {
	bytes := int64(n) + slotOverhead
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil, refuse(ErrUnavailable, time.Second, "%w", errDraining)
	}
	if !g.ahead(sig) {
		if s := g.take(sig, bytes); s != nil {
			g.mu.Unlock()
			return s, nil
		}
	}
	if g.stuck != nil {
		defer g.mu.Unlock()
		return nil, g.noRoom()
	}
	w := &waiter{sig: sig, bytes: bytes, since: time.Now(), slot: make(chan *slot, 1)}
	g.parked = append(g.parked, w)
	g.queued += bytes
	g.mu.Unlock()
	return g.await(ctx, w)
}

// await waits for w's turn.
func (g *gate) await(ctx context.Context, w *waiter) (*slot, error) {
	timer := time.NewTimer(g.wait)
	defer timer.Stop()
	var err error
	select {
	case s, ok := <-w.slot:
		if !ok {
			return nil, w.err
		}
		return s, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := slices.Index(g.parked, w); at >= 0 {
		g.parked = slices.Delete(g.parked, at, at+1)
		g.queued -= w.bytes
		g.admit() // whoever stood behind w may fit
	} else if s, ok := <-w.slot; ok { // the turn came while w was giving up
		if err == nil {
			return s, nil
		}
		g.cancelLocked(s)
	}
	if err != nil {
		return nil, err
	}
	return nil, g.noRoom()
}

// noRoom is the answer to an Export that found no room.
func (g *gate) noRoom() error {
	if g.stuck != nil {
		return refuse(ErrUnavailable, 5*time.Second, "no room in the ingest memory while blocks cannot be written: %w", g.stuck)
	}
	return refuse(ErrBusy, g.delay(), "%w", errNoRoom)
}

// fail notes that a block was not published: room comes when the disk is mended, not before, so
// nobody waits for it.
func (g *gate) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stuck = err
	g.turnAway(g.noRoom())
}

// turnAway refuses everybody in line.
func (g *gate) turnAway(err error) {
	for _, w := range g.parked {
		w.err = err
		close(w.slot)
	}
	g.parked, g.queued = nil, 0
}

// ahead reports whether an Export of sig must queue behind another.
func (g *gate) ahead(sig signal.Signal) bool {
	return slices.ContainsFunc(g.parked, func(w *waiter) bool { return w.sig == sig })
}

// take reserves in the first shard with room, or returns nil. A shard too full for these bytes is
// closed on the way, so that it seals.
func (g *gate) take(sig signal.Signal, bytes int64) *slot {
	if !g.affords(bytes) {
		g.closeFullest()
		return nil
	}
	for _, s := range g.shards[sig] {
		if s.full {
			continue
		}
		if s.bytes > 0 && s.bytes+bytes > g.block {
			g.closeShard(s)
			continue
		}
		g.used += bytes
		s.bytes += bytes
		s.slots++
		return newSlot(s, bytes)
	}
	return nil
}

// affords reports whether the budget has room. An Export larger than all of it is admitted alone.
func (g *gate) affords(bytes int64) bool { return g.used == 0 || g.used+bytes <= g.budget }

// closeFullest makes the fullest open shard seal, since the budget comes back no other way.
func (g *gate) closeFullest() {
	var fullest *shard
	for _, list := range g.shards {
		for _, s := range list {
			if s.full && s.bytes > 0 {
				return // one is on its way already
			}
			if s.bytes > 0 && (fullest == nil || s.bytes > fullest.bytes) {
				fullest = s
			}
		}
	}
	if fullest != nil {
		g.closeShard(fullest)
	}
}

// closeShard ends admission to s until its block is published.
func (g *gate) closeShard(s *shard) {
	if !s.full {
		s.full, s.closed = true, stage.Now()
	}
	s.nudge()
}

// admit gives freed room to those in line, in order. One who lacks budget stops the line, so that
// small Exports cannot keep a large one waiting for ever; one who lacks only a shard of its
// signal lets other signals pass.
func (g *gate) admit() {
	var stuck [len(signal.All) + 1]bool
	kept := g.parked[:0]
	for i, w := range g.parked {
		if stuck[w.sig] {
			kept = append(kept, w)
			continue
		}
		s := g.take(w.sig, w.bytes)
		if s == nil {
			kept = append(kept, w)
			stuck[w.sig] = true
			if !g.affords(w.bytes) {
				kept = append(kept, g.parked[i+1:]...)
				break
			}
			continue
		}
		g.queued -= w.bytes
		w.slot <- s
	}
	clear(g.parked[len(kept):])
	g.parked = kept
}

// expire closes s if it holds anything: its time, or its room for columns, is over.
func (g *gate) expire(s *shard) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.bytes > 0 && !s.full {
		g.closeShard(s)
	}
}

// cancel gives an unused reservation back.
func (g *gate) cancel(s *slot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cancelLocked(s)
}

func (g *gate) cancelLocked(s *slot) {
	sh := s.shard
	sh.slots--
	sh.bytes -= s.bytes
	g.used -= s.bytes
	if sh.full {
		sh.nudge()
	}
	g.freed()
}

// settled notes that n reservations of s are in its columns, and reports whether the block is
// complete: closed, and nothing more to come.
func (g *gate) settled(s *shard, n int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.slots -= n
	if s.full && s.slots == 0 && s.bytes == 0 { // every reservation was given back
		s.full = s.retired
		g.freed()
		return false
	}
	return s.full && s.slots == 0
}

// reopen notes that the block of s was published after took, gives its budget back and opens s
// for the block next.
func (g *gate) reopen(s *shard, next signal.BlockID, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	const weight = 0.3 // of the newest block in the moving average
	rate := float64(s.bytes) / max(took, time.Millisecond).Seconds()
	if g.rate == 0 {
		g.rate = rate
	}
	g.rate += weight * (rate - g.rate)
	g.stuck = nil
	g.used -= s.bytes
	s.id, s.bytes, s.full = next, 0, s.retired
	g.freed()
}

// freed passes on room that was given back.
func (g *gate) freed() {
	g.admit()
	if g.closed && g.used == 0 {
		g.settle()
	}
}

// settle tells whoever waits for the end that it is there.
func (g *gate) settle() {
	select {
	case <-g.idle:
	default:
		close(g.idle)
	}
}

// delay estimates, from the measured drain rate, when a refused Export would find room.
func (g *gate) delay() time.Duration {
	const least, most = time.Second, 30 * time.Second
	if g.rate == 0 {
		return least
	}
	return min(max(time.Duration(float64(g.queued)/g.rate*float64(time.Second)), least), most)
}

// pressure reports whether the line is so long that reading another body would be in vain.
func (g *gate) pressure() (time.Duration, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return time.Second, true
	}
	if len(g.parked) == 0 {
		return 0, false
	}
	late := time.Since(g.parked[0].since) > g.wait/2
	return g.delay(), late || g.queued > g.budget
}

// shut refuses everybody in line and all who come later, and closes every shard that holds
// anything.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.turnAway(refuse(ErrUnavailable, time.Second, "%w", errDraining))
	for _, list := range g.shards {
		for _, s := range list {
			if s.bytes > 0 {
				g.closeShard(s)
			}
		}
	}
	if g.used == 0 {
		g.settle()
	}
}
