package receiver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	firstBytes = 2 << 20   // how much room a body gets on its word alone
	chunked    = 64 << 10  // the same for a body of unknown length
	step       = 256 << 10 // how much is read between two looks at the clock
)

// load is a body in memory, and the bytes of a budget it stands on.
type load struct {
	*buffer
	from *budget
	n    int
}

// release gives the budget back; the bytes stay.
func (l *load) release() {
	l.from.release(l.n)
	l.n = 0
}

// drop gives back the budget and the bytes.
func (l *load) drop() {
	l.free()
	l.release()
}

// extend makes room for n bytes, if the budget has it.
func (l *load) extend(n int) error {
	more := n - l.n
	if !l.from.try(more) {
		return errMemory
	}
	l.n += more
	l.buffer = l.grow(n)
	return nil
}

// adopt makes b the content of l, which may have outgrown the buffer it was begun in.
func (l *load) adopt(b []byte) {
	if cap(b) <= cap(l.b) {
		l.b = l.b[:len(b)]
		return
	}
	l.free()
	l.from.force(cap(b) - l.n)
	l.buffer, l.n = &buffer{b: b, class: -1}, cap(b)
}

// admit waits a bounded time for n bytes of from.
func (r *Receiver) admit(ctx context.Context, from *budget, n int) (*load, error) {
	wait, cancel := context.WithTimeoutCause(ctx, r.o.AdmitWait, errMemory)
	defer cancel()
	got, err := from.acquire(wait, n)
	if err != nil {
		return nil, context.Cause(wait)
	}
	return &load{newBuffer(n), from, got}, nil
}

// receive reads a body of size bytes, or of unknown size if that is negative. Memory follows
// the bytes that have arrived, not those that are announced. pace is told of the progress.
func (r *Receiver) receive(ctx context.Context, src io.Reader, size int64, pace func(received int)) (*load, error) {
	want, first := int(size), min(int(size), firstBytes)
	if size < 0 {
		want, first = r.o.MaxRequestBytes+1, min(r.o.MaxRequestBytes+1, chunked)
	}
	l, err := r.admit(ctx, r.receiving, first)
	if err != nil {
		return nil, err
	}
	if err := fill(l, src, want, pace); err != nil {
		l.drop()
		return nil, err
	}
	if size >= 0 && len(l.b) < want {
		l.drop()
		return nil, fmt.Errorf("%w: %d bytes of %d", errTruncated, len(l.b), size)
	}
	if len(l.b) > r.o.MaxRequestBytes {
		l.drop()
		return nil, r.tooLarge("body")
	}
	return l, nil
}

// fill reads up to want bytes.
func fill(l *load, src io.Reader, want int, pace func(int)) error {
	next := step
	for len(l.b) < want {
		if len(l.b) == cap(l.b) {
			if err := l.extend(min(2*cap(l.b), want)); err != nil {
				return err
			}
		}
		n, err := src.Read(l.b[len(l.b):min(cap(l.b), len(l.b)+step, want)])
		l.b = l.b[:len(l.b)+n]
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(l.b) >= next {
			next = len(l.b) + step
			pace(len(l.b))
		}
	}
	return nil
}

// allowed is how long a body may take, from its beginning, once received bytes of it are here.
// It is an absolute bound: a byte more buys a byte's worth of time, not a new grace.
func (r *Receiver) allowed(received int) time.Duration {
	return r.o.BodyGrace + time.Duration(received)*time.Second/time.Duration(r.o.MinRate)
}
