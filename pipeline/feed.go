package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"mira/storage/column"
	"mira/storage/signal"
)

const (
	// maxFollowers bounds those who follow, all signals together.
	maxFollowers = 64
	// feedBytes and feedExports bound what a feed keeps for those who are behind.
	feedBytes   = 16 << 20
	feedExports = 1024
	// feedTake is how many Exports a Follower gets at a time, so that it hears of a loss soon.
	feedTake = 16
)

// feed hands the Exports of one signal on to its Followers. There is one ring for all of them: a
// shard puts a copy of the payload at its end and never waits, whoever is overtaken by the ring's
// beginning has missed rows. So a shard pays for one copy however many follow, and for one look at
// an atomic when nobody does; a Follower makes the columns, and the first of them makes them for all.
type feed struct {
	sig     signal.Signal
	columns column.Options
	counts  *feedCounts
	present atomic.Int32 // followers

	mu      sync.Mutex // guards all below
	ring    []*arrival
	first   uint64 // the number of ring[0]
	bytes   int    // of payloads in ring
	records uint64 // that were ever handed on
	changed chan struct{}
	shut    bool
}

// feedCounts counts over all signals.
type feedCounts struct {
	followers atomic.Int32
	missed    atomic.Int64
}

// arrival is one Export in a feed.
type arrival struct {
	before   uint64 // records handed on before it
	records  int
	received int64
	bytes    int

	once    sync.Once
	payload []byte // nil: too large to be kept
	table   *column.Table
}

// newFeeds makes the feed of each signal.
func newFeeds(o column.Options) (list [len(signal.All) + 1]*feed) {
	counts := &feedCounts{}
	for _, sig := range signal.All {
		list[sig] = &feed{sig: sig, columns: o, counts: counts, changed: make(chan struct{})}
	}
	return list
}

// offer hands a stored Export on. The payload is copied, because it goes back to its owner.
func (f *feed) offer(e *Export) {
	if f.present.Load() == 0 {
		return
	}
	a := &arrival{records: e.Records, received: e.Received.UnixNano()}
	if len(e.Payload) <= feedBytes {
		a.payload, a.bytes = bytes.Clone(e.Payload), len(e.Payload)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.present.Load() == 0 {
		return
	}
	a.before = f.records
	f.records += uint64(a.records)
	f.ring, f.bytes = append(f.ring, a), f.bytes+a.bytes
	for len(f.ring) > feedExports || f.bytes > feedBytes {
		f.bytes -= f.ring[0].bytes
		f.ring[0] = nil
		f.ring, f.first = f.ring[1:], f.first+1
	}
	f.wakeLocked()
}

func (f *feed) wakeLocked() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// close ends every Follower once it has taken what is there.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.shut {
		f.shut = true
		f.wakeLocked()
	}
}

// Follower receives every Export of a signal that is stored from now on. One goroutine may use it.
type Follower struct {
	feed   *feed
	next   uint64 // number of the arrival that it has not had
	seen   uint64 // records handed on before that one
	closed bool
}

// Follow returns a Follower of sig. It fails with ErrBusy when there are too many, and with
// ErrUnavailable when the pipeline is being shut. The caller closes it.
func (p *Pipeline) Follow(sig signal.Signal) (*Follower, error) {
	f := p.feeds[sig]
	if n := f.counts.followers.Add(1); n > maxFollowers {
		f.counts.followers.Add(-1)
		return nil, fmt.Errorf("%w: %d follow already", ErrBusy, maxFollowers)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shut {
		f.counts.followers.Add(-1)
		return nil, fmt.Errorf("%w: the server is shutting down", ErrUnavailable)
	}
	f.present.Add(1)
	return &Follower{feed: f, next: f.first + uint64(len(f.ring)), seen: f.records}, nil
}

// StopFollowing ends all Followers, and lets nobody follow any more.
func (p *Pipeline) StopFollowing() {
	for _, sig := range signal.All {
		p.feeds[sig].close()
	}
}

// Close takes the Follower out. When the last one goes the feed keeps nothing.
func (f *Follower) Close() {
	if f.closed {
		return
	}
	f.closed = true
	f.feed.counts.followers.Add(-1)
	f.feed.mu.Lock()
	defer f.feed.mu.Unlock()
	if f.feed.present.Add(-1) == 0 {
		f.feed.first += uint64(len(f.feed.ring))
		f.feed.ring, f.feed.bytes = nil, 0
	}
}

// Next waits for Exports and returns their rows, one table for each, and how many rows were lost
// before them because the Follower was too slow. Its error is ctx's, or io.EOF when no more will come.
func (f *Follower) Next(ctx context.Context) (tables []*column.Table, missed int, err error) {
	for {
		list, lost, changed, shut := f.take()
		for _, a := range list {
			if t := a.rows(f.feed); t != nil {
				tables = append(tables, t)
			} else {
				lost += a.records
			}
		}
		switch {
		case len(list) > 0 || lost > 0:
			f.feed.counts.missed.Add(int64(lost))
			return tables, lost, nil
		case shut:
			return nil, 0, io.EOF
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}

// take returns what has come, and a channel that closes when more does.
func (f *Follower) take() (list []*arrival, missed int, changed <-chan struct{}, shut bool) {
	d := f.feed
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.next < d.first {
		oldest := d.records
		if len(d.ring) > 0 {
			oldest = d.ring[0].before
		}
		missed = int(oldest - f.seen)
		f.next, f.seen = d.first, oldest
	}
	list = d.ring[f.next-d.first:]
	list = append([]*arrival(nil), list[:min(len(list), feedTake)]...)
	for _, a := range list {
		f.next++
		f.seen += uint64(a.records)
	}
	return list, missed, d.changed, d.shut
}

// rows returns the Export's rows; nil: it was too large to be kept.
func (a *arrival) rows(f *feed) *column.Table {
	a.once.Do(func() {
		if a.payload == nil {
			return
		}
		b := column.NewBuilder(f.sig, f.columns)
		b.Append(a.payload, a.received)
		a.table, a.payload = b.Table(), nil
	})
	return a.table
}
