package wal

import (
	"mira/storage/frame"
	"mira/storage/signal"
	"mira/storage/stage"
)

// Owner learns that its frame is in the log.
type Owner interface {
	// Logged is called by the committer, in log order, once the frame is as durable as its tier
	// asks and before Append returns. All frames wait for it, so it must be quick. taken is when
	// the committer took the frame into its group, safe when the group was as durable as it is.
	Logged(seq uint64, taken, safe stage.Mark)
}

// waiter is a frame in the queue and the goroutine parked behind it.
type waiter struct {
	frame frame.Frame
	sum   uint32
	tier  signal.Tier
	owner Owner
	seq   uint64
	err   error
	done  chan struct{} // holds one
}

func newWaiter() any { return &waiter{done: make(chan struct{}, 1)} }

// tally is what the committer asks of a queue before it takes it.
type tally struct {
	sync, batched int
	bytes         int
}

func (t *tally) add(w *waiter) {
	t.bytes += len(w.frame.Payload)
	switch w.tier {
	case signal.Sync:
		t.sync++
	case signal.Batched:
		t.batched++
	}
}

// Append writes f to the log and returns when it is as durable as tier t asks. The log fills in
// f.Epoch and f.Synced. f.Payload must stay untouched until Append returns. seq is the place of
// the frame in the log: it goes up with every frame and is never given out again.
//
// After an error o.Logged was not called and never will be. o may be nil.
func (l *Log) Append(f frame.Frame, t signal.Tier, o Owner) (seq uint64, err error) {
	if len(f.Payload) > frame.MaxPayload {
		return 0, ErrTooLarge
	}
	w := l.waiters.Get().(*waiter)
	w.frame, w.tier, w.owner = f, t, o
	w.sum = frame.Sum(f.Payload) // here, where many goroutines can: the committer is alone
	if err := l.enqueue(w); err != nil {
		l.free(w)
		return 0, err
	}
	<-w.done
	seq, err = w.seq, w.err
	l.free(w)
	return seq, err
}

func (l *Log) enqueue(w *waiter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusal != nil {
		return l.refusal
	}
	l.queue = append(l.queue, w)
	l.waiting.add(w)
	select {
	case l.wake <- struct{}{}:
	default: // it is awake already
	}
	return nil
}

// free forgets what w refers to and makes it available again.
func (l *Log) free(w *waiter) {
	*w = waiter{done: w.done}
	l.waiters.Put(w)
}

// answer ends the wait of w's goroutine, after which w is no longer the committer's.
func (w *waiter) answer(err error) {
	w.err = err
	w.done <- struct{}{}
}
