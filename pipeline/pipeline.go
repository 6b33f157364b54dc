package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"mira/storage"
	"mira/storage/block"
	"mira/storage/column"
	"mira/storage/frame"
	"mira/storage/signal"
	"mira/storage/stage"
)

// Options say how a Pipeline works. Only Store is needed.
type Options struct {
	Store      *storage.Store
	Logger     zerolog.Logger
	BlockBytes int64         // OTLP bytes of one block; 0: 32 MiB
	BlockAge   time.Duration // how long a record may stay in an open block; 0: 60 s
	Memory     int64         // bytes of Exports admitted and not yet published; 0: 1 GiB
	AdmitWait  time.Duration // how long an Export may wait for room; 0: 5 s
	Shards     int           // builders per signal; 0: two, and one more for every two CPUs beyond two
	MaxColumns int           // see column.Options
	Stages     *stage.Set    // counts how long blocks wait to be written; nil: nobody looks
}

func (o Options) withDefaults() Options {
	set := func(v *int64, to int64) {
		if *v == 0 {
			*v = to
		}
	}
	set(&o.BlockBytes, 32<<20)
	set((*int64)(&o.BlockAge), int64(time.Minute))
	set(&o.Memory, 1<<30)
	set((*int64)(&o.AdmitWait), int64(5*time.Second))
	if o.Shards == 0 {
		o.Shards = max(2, 1+runtime.NumCPU()/2)
	}
	return o
}

// Validate names the first field that makes no sense.
func (o Options) Validate() error {
	switch {
	case o.Store == nil:
		return errors.New("pipeline: Store is missing")
	case o.BlockBytes < 0 || o.BlockBytes > 1<<30:
		return fmt.Errorf("pipeline: BlockBytes is %d, want 1 to %d", o.BlockBytes, 1<<30)
	case o.BlockAge < 0:
		return fmt.Errorf("pipeline: BlockAge is %s", o.BlockAge)
	case o.Memory < 0:
		return fmt.Errorf("pipeline: Memory is %d", o.Memory)
	case o.AdmitWait < 0:
		return fmt.Errorf("pipeline: AdmitWait is %s", o.AdmitWait)
	case o.Shards < 0 || o.Shards > 1<<10:
		return fmt.Errorf("pipeline: Shards is %d, want 1 to %d", o.Shards, 1<<10)
	}
	return nil
}

const (
	// MaxRecords is the most records of one Export. A row costs memory in every column of its block,
	// however few bytes its record came in.
	MaxRecords = 1 << 20
	// rowBytes is what a record counts for at least, in bytes, so that a block has a bounded number of rows.
	rowBytes = 64
	// minMemory is the least memory, in bytes, at which columns are sealed for their size.
	minMemory = 16 << 20
)

// Pipeline moves Exports from the receivers to disk. It is safe for concurrent use.
type Pipeline struct {
	store     *storage.Store
	logger    zerolog.Logger
	columns   column.Options
	age       time.Duration
	memory    int // bytes of columns at which a block is sealed, whatever came in
	gate      *gate
	counts    counts
	feeds     [len(signal.All) + 1]*feed
	stages    *stage.Set
	perSignal int // shards
	stop      chan struct{}
	done      sync.WaitGroup
	closing   sync.Once
}

// Open replays the log and returns a Pipeline that takes Exports. What the log held becomes
// blocks: exactly those that the crash prevented.
func Open(o Options) (*Pipeline, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	p := &Pipeline{
		store: o.Store, logger: o.Logger, age: o.BlockAge, memory: int(max(min(4*o.BlockBytes, o.Memory/2), minMemory)), columns: column.Options{MaxColumns: o.MaxColumns},
		gate:   &gate{budget: o.Memory, block: o.BlockBytes, wait: o.AdmitWait, idle: make(chan struct{})},
		stages: o.Stages, perSignal: o.Shards, stop: make(chan struct{}),
	}
	p.feeds = newFeeds(p.columns)
	left, err := p.replay()
	if err != nil {
		return nil, err
	}
	p.build(o.Shards, left)
	p.store.Attach(p.open)
	if err := p.store.Start(); err != nil {
		return nil, err
	}
	for _, s := range p.shards() {
		p.done.Go(func() { s.run(p.stop) })
	}
	return p, nil
}

// build makes the shards. A block that replay made goes to the shard that its name gives, which
// publishes it before anything else.
func (p *Pipeline) build(shards int, left []*rebuilt) {
	for _, sig := range signal.All {
		for n := range shards {
			p.gate.shards[sig] = append(p.gate.shards[sig], newShard(p, sig, uint16(n)))
		}
	}
	for _, r := range left {
		list := p.gate.shards[r.id.Signal]
		var s *shard
		if n := int(r.id.Shard); n < len(list) && list[n].sealed == nil {
			s = list[n]
		} else {
			s = newShard(p, r.id.Signal, r.id.Shard)
			s.retired = true
			p.gate.shards[r.id.Signal] = append(list, s)
		}
		s.block, s.sealed, s.full, s.bytes = r.id, &block.View{ID: r.id, Table: r.builder.Table()}, true, r.bytes
		s.closed = stage.Now()
		p.gate.used += r.bytes
	}
}

func (p *Pipeline) shards() []*shard {
	var all []*shard
	for _, list := range p.gate.shards {
		all = append(all, list...)
	}
	return all
}

// Submit stores one Export and returns when it is as durable as its tier asks. The context
// bounds the wait for room; once the Export is in the log's hands the answer is the disk's.
func (p *Pipeline) Submit(ctx context.Context, e Export) (Receipt, error) {
	if err := p.store.Err(); err != nil {
		e.free()
		return Receipt{}, p.refused(e.Signal, refuse(ErrUnavailable, 5*time.Second, "%w", err))
	}
	if e.Records > MaxRecords {
		e.free()
		return Receipt{}, p.refused(e.Signal, refuse(ErrUnstorable, 0,
			"%d records in one Export, %d are the most: send it in parts", e.Records, MaxRecords))
	}
	slot, err := p.gate.reserve(ctx, e.Signal, max(len(e.Payload), e.Records*rowBytes))
	if err != nil {
		e.free()
		return Receipt{}, p.refused(e.Signal, err)
	}
	e.Trip.Lap(stage.AdmitWait)
	// From Logged on the slot belongs to its shard, which may recycle it before Append returns.
	id := slot.id
	slot.export = e
	seq, err := p.store.Append(frame.Frame{
		Block: id, Received: e.Received.UnixNano(), Records: uint32(e.Records), Payload: e.Payload,
	}, e.Tier, slot)
	if err != nil {
		p.gate.cancel(slot)
		slot.recycle()
		e.free()
		return Receipt{}, p.refused(e.Signal, refuse(ErrUnavailable, 5*time.Second, "%w", err))
	}
	e.Trip.Lap(stage.Ack)
	p.counts.stored(e.Signal, e.Records, len(e.Payload))
	return Receipt{Block: id, Seq: seq, Tier: e.Tier}, nil
}

func (p *Pipeline) refused(sig signal.Signal, err error) error {
	p.counts.refused(sig)
	return err
}

// Pressure reports whether another Export would most likely be refused, and when to come back:
// a receiver may then refuse before it reads a body.
func (p *Pipeline) Pressure() (time.Duration, bool) {
	if p.store.Err() != nil {
		return 5 * time.Second, true
	}
	return p.gate.pressure()
}

// open is the store's source of open rows.
func (p *Pipeline) open(_ context.Context, sig signal.Signal) ([]block.View, error) {
	p.gate.mu.Lock()
	shards := p.gate.shards[sig]
	p.gate.mu.Unlock()
	var views []block.View
	for _, s := range shards {
		if v, ok := s.view(); ok {
			views = append(views, v)
		}
	}
	return views, nil
}

// published takes the shard whose block is now in the store to its next block.
func (p *Pipeline) published(s *shard, took time.Duration) {
	p.counts.published(s.sig)
	id := p.store.NextBlock(s.sig, s.n)
	s.next(id)
	p.gate.reopen(s, id, took)
}

// Drain refuses all new Exports, answers those in flight, and publishes every open block. It
// returns early with ctx's error; what is not published by then is in the log.
func (p *Pipeline) Drain(ctx context.Context) error {
	p.gate.shut()
	select {
	case <-p.gate.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("publish open blocks: %w", ctx.Err())
	}
}

// Close ends the pipeline's goroutines and waits for them. Call Drain first to leave no log behind.
func (p *Pipeline) Close() {
	p.gate.shut()
	p.StopFollowing()
	p.closing.Do(func() { close(p.stop) })
	p.done.Wait()
}
