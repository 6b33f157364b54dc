package pipeline

import (
	"sync"
	"time"

	"mira/storage/block"
	"mira/storage/column"
	"mira/storage/signal"
	"mira/storage/stage"
)

// slot is a place reserved in a shard's open block. It is also the log's owner of the frame.
type slot struct {
	shard  *shard
	id     signal.BlockID
	bytes  int64
	export Export
	trip   stage.Trip // the shard's part of the way
}

var slots = sync.Pool{New: func() any { return new(slot) }}

// newSlot is called with the gate's lock held: it reads the shard's id.
func newSlot(s *shard, bytes int64) *slot {
	t := slots.Get().(*slot)
	*t = slot{shard: s, id: s.id, bytes: bytes}
	return t
}

func (t *slot) recycle() {
	*t = slot{}
	slots.Put(t)
}

// Logged takes the Export into its shard's queue. The log calls it in log order, before the
// Export is acknowledged, so whoever looks after the acknowledgement finds the records.
func (t *slot) Logged(_ uint64, taken, safe stage.Mark) {
	t.export.Trip.LapAt(stage.LogQueue, taken)
	t.export.Trip.Skip(safe)
	t.trip = t.export.Trip.Fork()
	s := t.shard
	s.queueMu.Lock()
	s.queue = append(s.queue, t)
	s.queueMu.Unlock()
	s.nudge()
}

// shard fills one block at a time and publishes it.
type shard struct {
	p   *Pipeline
	sig signal.Signal
	n   uint16

	// Admission, guarded by the gate's lock.
	id      signal.BlockID // the block being filled
	bytes   int64          // reserved in it
	slots   int            // reservations not yet in the columns
	full    bool           // takes no reservation until the block is published
	closed  stage.Mark     // since when it is full
	retired bool           // only here to publish what a run with more shards left behind

	wake    chan struct{} // capacity 1: there is something to look at
	queueMu sync.Mutex    // guards queue
	queue   []*slot       // logged, not yet in the columns

	mu      sync.Mutex // guards everything below; held while columns are filled, never while they are written
	spare   []*slot    // the other half of queue's double buffer
	block   signal.BlockID
	builder *column.Builder
	born    time.Time   // when the first record came; zero when there is none
	shared  bool        // a Table of the builder was given away: its memory is not ours to reuse
	sealed  *block.View // being published
}

func newShard(p *Pipeline, sig signal.Signal, n uint16) *shard {
	s := &shard{p: p, sig: sig, n: n, wake: make(chan struct{}, 1)}
	s.id = p.store.NextBlock(sig, n)
	s.block = s.id
	s.builder = column.NewBuilder(sig, p.columns)
	return s
}

// nudge makes the shard look at its queue and state.
func (s *shard) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run is the shard's goroutine: it ends when stop closes.
func (s *shard) run(stop <-chan struct{}) {
	age := time.NewTimer(s.p.age)
	age.Stop()
	defer age.Stop()
	if s.sealed != nil { // left over from recovery
		s.publish(stop)
	}
	armed := false
	for {
		select {
		case <-stop:
			return
		case <-s.wake:
		case <-age.C:
			s.p.gate.expire(s)
		}
		if s.fill() {
			s.seal()
			s.publish(stop)
			age.Stop()
			armed = false
		}
		if born := s.since(); !armed && !born.IsZero() {
			age.Reset(s.p.age - time.Since(born))
			armed = true
		}
	}
}

// since returns when the open block got its first record.
func (s *shard) since() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.born
}

// fill moves the queue into the columns, and reports whether the block is complete.
func (s *shard) fill() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fillLocked()
}

func (s *shard) fillLocked() bool {
	s.queueMu.Lock()
	batch := s.queue
	s.queue, s.spare = s.spare[:0], nil
	s.queueMu.Unlock()
	for i, t := range batch {
		if s.born.IsZero() {
			s.born = time.Now()
		}
		t.trip.Lap(stage.ShardQueue)
		s.builder.Append(t.export.Payload, t.export.Received.UnixNano())
		t.trip.Lap(stage.Columns)
		s.p.feeds[s.sig].offer(&t.export)
		t.export.free()
		t.recycle()
		batch[i] = nil
		if s.builder.FullColumns() || s.builder.MemBytes() > s.p.memory {
			s.p.gate.expire(s)
		}
	}
	s.spare = batch
	return s.p.gate.settled(s, len(batch))
}

// seal ends the open block: its rows are final.
func (s *shard) seal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = &block.View{ID: s.block, Table: s.builder.Table()}
}

// publish writes the sealed block, trying again for as long as the disk refuses it: its Exports
// are acknowledged, so the only ways out are success and the end of the process.
func (s *shard) publish(stop <-chan struct{}) {
	start := time.Now()
	s.p.stages.Observe(stage.SealWait, stage.At(start).Since(s.closed)) // nobody writes closed while it is full
	const first, last = 100 * time.Millisecond, 5 * time.Second
	for pause := first; ; pause = min(2*pause, last) {
		err := s.p.store.Publish(s.sealed.ID, s.sealed.Table)
		if err == nil {
			break
		}
		s.p.gate.fail(err)
		s.p.logger.Error().Err(err).Dur("retry_in_ms", pause).Msg("block not published")
		select {
		case <-stop:
			return
		case <-time.After(pause):
		}
	}
	s.p.published(s, time.Since(start))
}

// next makes the shard ready for the block id.
func (s *shard) next(id signal.BlockID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared {
		s.builder = column.NewBuilder(s.sig, s.p.columns)
	} else {
		s.builder.Reset()
	}
	s.block, s.born, s.shared, s.sealed = id, time.Time{}, false, nil
}

// view returns the shard's unpublished rows: everything acknowledged before the call.
func (s *shard) view() (block.View, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed != nil {
		s.shared = true
		return *s.sealed, true
	}
	if s.fillLocked() {
		s.nudge() // complete: the goroutine seals it
	}
	if s.builder.Rows() == 0 {
		return block.View{}, false
	}
	s.shared = true
	return block.View{ID: s.block, Table: s.builder.Table()}, true
}
