package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"mira/cmd/internal/corpus"
)

// tickets hands out the Exports of a run, in order, to whichever worker is free.
type tickets struct {
	begin    time.Time
	interval time.Duration // between intended send times; 0: as fast as it goes
	batch    int
	total    int64 // records; 0: no end
	next     atomic.Int64
}

// ticket is one Export to make.
type ticket struct {
	n       int64
	records int
	due     time.Time // intended send time; zero in the closed loop
}

func newTickets(c *config, begin time.Time) *tickets {
	t := &tickets{begin: begin, batch: c.batch, total: c.records}
	if c.rate > 0 {
		t.interval = time.Duration(float64(c.batch) / c.rate * float64(time.Second))
	}
	return t
}

// take waits until the next Export is due. A worker that comes late does not
// move the due time: the wait counts as latency, or the generator would be
// polite exactly when the server is slow.
func (t *tickets) take(ctx context.Context) (ticket, bool) {
	if ctx.Err() != nil {
		return ticket{}, false
	}
	k := ticket{n: t.next.Add(1) - 1, records: t.batch}
	if t.total > 0 {
		left := t.total - k.n*int64(t.batch)
		if left <= 0 {
			return k, false
		}
		k.records = int(min(left, int64(t.batch)))
	}
	if t.interval > 0 {
		k.due = t.begin.Add(time.Duration(k.n) * t.interval)
		return k, pause(ctx, time.Until(k.due))
	}
	return k, true
}

// pause waits, and says whether ctx let it.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// worker is one connection and the loop that feeds it.
type worker struct {
	id      int
	run     string
	salt    uint64
	config  *config
	corpus  *corpus.Corpus
	tickets *tickets
	shelf   shelf
	out     sender
	ledger  *ledger
	last    uint64 // the first nanosecond that no Export has used yet

	tally  tally
	claims []claim // kept only for --verify
}

// tally is what a worker counted.
type tally struct {
	latency    latencies
	acked      int64 // records
	acks       int64 // Exports
	refused    int64 // records given up, certainly not stored
	unknown    int64 // records of Exports whose end nobody saw
	wire       int64 // bytes of acknowledged requests
	plain      int64 // the same before compression
	retries    int64
	refusals   map[string]int64 // attempts by code
	tiers      map[string]int64 // acks by the tier the server says it reached
	lastDetail string
}

// loop sends until the tickets or the time run out. What is in flight when ctx
// ends is waited for; a retry is not begun any more.
func (w *worker) loop(ctx context.Context) error {
	for {
		k, ok := w.tickets.take(ctx)
		if !ok {
			return nil
		}
		if err := w.export(ctx, k); err != nil {
			return err
		}
	}
}

// export sends one request until it is acknowledged or given up.
func (w *worker) export(ctx context.Context, k ticket) error {
	start := k.due
	if start.IsZero() {
		start = time.Now()
	}
	s := w.config.signals[k.n%int64(len(w.config.signals))]
	t := w.corpus.Template(s, k.n/int64(len(w.config.signals)), k.records)
	c := claim{stream: stream{w.run, s, w.id}, base: w.reserve(t.Records()), records: t.Records()}
	for attempt := 1; ; attempt++ {
		if err := w.ledger.sent(c, attempt); err != nil {
			return err
		}
		a := w.attempt(s, t, c.base)
		if a.acked() {
			c.min, c.max = 1, c.max+1
			w.tally.ack(&a, t, time.Since(start))
			return w.settle(c)
		}
		w.tally.refuse(&a)
		if !a.certain || a.rejected > 0 {
			c.max++
		}
		if !a.retry || attempt > w.config.retries || !pause(ctx, delay(a.after, attempt)) {
			w.tally.giveUp(&c)
			return w.settle(c)
		}
		w.tally.retries++
	}
}

// reserve returns the base time of an Export: now, or just behind the last one.
func (w *worker) reserve(records int) uint64 {
	base := max(uint64(time.Now().UnixNano()), w.last)
	w.last = base + uint64(records)*corpus.Slot
	return base
}

// attempt stamps a copy of the template and sends it. It is not bound to the
// run's end: cutting an Export short would leave its fate unknown for nothing.
func (w *worker) attempt(s signal, t *corpus.Template, base uint64) answer {
	body := w.shelf.Get(t.Len())
	t.Fill(*body, w.id, base, w.salt)
	ctx, cancel := context.WithTimeout(context.Background(), w.config.timeout)
	defer cancel()
	return w.out.send(ctx, s, body)
}

func (w *worker) settle(c claim) error {
	if w.config.verify {
		w.claims = append(w.claims, c)
	}
	return w.ledger.settled(c)
}

// delay is how long to wait before another attempt: what the server asked
// for, else 50 ms doubling up to 5 s, give or take a quarter.
func delay(asked time.Duration, attempt int) time.Duration {
	if asked > 0 {
		return min(asked, 30*time.Second)
	}
	d := min(50*time.Millisecond<<min(attempt-1, 10), 5*time.Second)
	return d*3/4 + rand.N(d/2)
}

func (t *tally) ack(a *answer, p *corpus.Template, took time.Duration) {
	t.latency.add(took)
	t.acks++
	t.acked += int64(p.Records())
	t.wire += a.wire
	t.plain += int64(p.Len())
	if a.tier != "" {
		count(&t.tiers, a.tier, 1)
	}
}

func (t *tally) refuse(a *answer) {
	count(&t.refusals, a.code, 1)
	t.lastDetail = a.code + ": " + a.detail
}

func (t *tally) giveUp(c *claim) {
	if c.max == 0 {
		t.refused += int64(c.records)
	} else {
		t.unknown += int64(c.records)
	}
}

func (t *tally) merge(o *tally) {
	t.latency.merge(&o.latency)
	t.acked += o.acked
	t.acks += o.acks
	t.refused += o.refused
	t.unknown += o.unknown
	t.wire += o.wire
	t.plain += o.plain
	t.retries += o.retries
	for code, n := range o.refusals {
		count(&t.refusals, code, n)
	}
	for tier, n := range o.tiers {
		count(&t.tiers, tier, n)
	}
	if o.lastDetail != "" {
		t.lastDetail = o.lastDetail
	}
}

func count(m *map[string]int64, key string, n int64) {
	if *m == nil {
		*m = map[string]int64{}
	}
	(*m)[key] += n
}

// work runs all workers to their end and returns the first error of any; a
// worker that cannot go on stops the others.
func work(ctx context.Context, workers []*worker) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	errs := make([]error, len(workers))
	for i, w := range workers {
		all.Go(func() {
			if errs[i] = w.loop(ctx); errs[i] != nil {
				stop()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
