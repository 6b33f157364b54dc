package receiver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// step is how much is read between two looks at the clock. At the default MinRate that is
	// two seconds, well within BodyGrace.
	step = 64 << 10

	// A body earns its memory: it gets a place in the budget, of at most placeBytes, once an
	// eighth of that, within these bounds, has come. So clients that announce much and send
	// little hold up nobody.
	firstBytes = 64 << 10
	proofBytes = 1 << 20
	placeBytes = 8 << 20
	// guestBytes is the place of a body of unknown length.
	guestBytes = 2 << 20
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

// shrink gives back what is held beyond n bytes.
func (l *load) shrink(n int) {
	if l.n > n {
		l.from.release(l.n - n)
		l.n = n
	}
}

// drop gives back the budget and the bytes.
func (l *load) drop() {
	l.free()
	l.release()
}

// extend moves b, the buffer of l, to room for n bytes, if the budget has it.
func (l *load) extend(b *buffer, n int) (*buffer, error) {
	if !l.from.try(n - l.n) {
		return b, errMemory
	}
	l.n = n
	return b.grow(n), nil
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

// reserve waits a bounded time for n bytes of from.
func (r *Receiver) reserve(ctx context.Context, from *budget, n int) (held int, err error) {
	wait, cancel := context.WithTimeoutCause(ctx, r.o.AdmitWait, errMemory)
	defer cancel()
	if held, err = from.acquire(wait, n); err != nil {
		return 0, context.Cause(wait)
	}
	return held, nil
}

// admit is reserve with a buffer of n bytes; more is what their making costs beside them.
func (r *Receiver) admit(ctx context.Context, from *budget, n, more int) (*load, error) {
	held, err := r.reserve(ctx, from, n+more)
	if err != nil {
		return nil, err
	}
	return &load{newBuffer(n), from, held}, nil
}

// receive reads a body of size bytes, or of unknown size if that is negative. Memory follows
// the bytes that have arrived, not those that are announced. pace is told of the progress.
func (r *Receiver) receive(ctx context.Context, src io.Reader, size int64, pace func(received int)) (*load, error) {
	want, place, proof := r.plan(size)
	in := &intake{src: src, pace: pace, next: step}
	first := newBuffer(min(proof, firstBytes))
	first, err := in.fill(first, proof, func(b *buffer, n int) (*buffer, error) { return b.grow(n), nil })
	if err != nil {
		first.free()
		return nil, err
	}
	if in.ended || len(first.b) == want {
		place = cap(first.b)
	}
	l, err := r.place(ctx, first, place)
	if err != nil {
		return nil, err
	}
	l.buffer, err = in.fill(l.buffer, want, l.extend)
	if err == nil {
		err = r.whole(l, size)
	}
	if err != nil {
		l.drop()
		return nil, err
	}
	return l, nil
}

// plan says how many bytes to read, how large a place to ask for, and after how many bytes.
func (r *Receiver) plan(size int64) (want, place, proof int) {
	if size < 0 {
		want = r.o.MaxRequestBytes + 1
		return want, min(want, guestBytes), min(want, firstBytes)
	}
	want = int(size)
	place = min(want, placeBytes)
	return want, place, min(want, max(place/8, firstBytes), proofBytes)
}

// place moves what has come of a body to a place of n bytes in the budget.
func (r *Receiver) place(ctx context.Context, first *buffer, n int) (*load, error) {
	held, err := r.reserve(ctx, r.receiving, n)
	if err != nil {
		first.free()
		return nil, err
	}
	if n > cap(first.b) {
		first = first.grow(n)
	}
	return &load{first, r.receiving, held}, nil
}

// whole checks a body that has come to its end.
func (r *Receiver) whole(l *load, size int64) error {
	if int64(len(l.b)) < size {
		return fmt.Errorf("%w: %d bytes of %d", errTruncated, len(l.b), size)
	}
	if len(l.b) > r.o.MaxRequestBytes {
		return r.tooLarge("body")
	}
	return nil
}

// intake is a body that is arriving.
type intake struct {
	src   io.Reader
	pace  func(received int)
	next  int  // when pace is told again
	ended bool // src is at its end
}

// fill reads on until b holds want bytes or the body ends. grow makes room.
func (in *intake) fill(b *buffer, want int, grow func(*buffer, int) (*buffer, error)) (*buffer, error) {
	for len(b.b) < want && !in.ended {
		if len(b.b) == cap(b.b) {
			g, err := grow(b, min(2*cap(b.b), want))
			if err != nil {
				return b, err
			}
			b = g
		}
		n, err := in.src.Read(b.b[len(b.b):min(cap(b.b), len(b.b)+step, want)])
		b.b = b.b[:len(b.b)+n]
		in.ended = errors.Is(err, io.EOF)
		if err != nil && !in.ended {
			return b, err
		}
		if len(b.b) >= in.next {
			in.next = len(b.b) + step
			in.pace(len(b.b))
		}
	}
	return b, nil
}

// allowed is how long a body may take, from its beginning, once received bytes of it are here.
// It is an absolute bound: a byte more buys a byte's worth of time, not a new grace.
func (r *Receiver) allowed(received int) time.Duration {
	return r.o.BodyGrace + time.Duration(received)*time.Second/time.Duration(r.o.MinRate)
}
