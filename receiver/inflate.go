package receiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// guessBytes bounds the room a body gets for its first decoding. What does not fit is
// measured before it gets more.
const guessBytes = 8 << 20

// inflate decodes a compressed body. What it may cost is known before it is spent: a first
// try gets the size the body hints at, at most guessBytes; if that was too little, the body
// is decoded to nowhere to learn its size, and then again into room of that size. So a bomb
// costs time, and no more memory than the budget for all of them.
func (r *Receiver) inflate(ctx context.Context, c *coding, src []byte) (*load, error) {
	limit := r.o.MaxRequestBytes
	n := min(max(c.hint(src), 1<<10), 1100*len(src)+64, guessBytes, limit)
	l, err := r.admit(ctx, r.inflating, n, c.memory)
	if err != nil {
		return nil, err
	}
	err = decode(c, l, limit, src)
	if err == nil {
		l.shrink(n)
		return l, nil
	}
	full := errors.Is(err, errFull)
	atLimit := cap(l.b) >= limit
	l.drop()
	switch {
	case full && atLimit:
		return nil, r.tooLarge("inflated body")
	case full:
		return r.inflateMeasured(ctx, c, src)
	default:
		return nil, err
	}
}

func (r *Receiver) inflateMeasured(ctx context.Context, c *coding, src []byte) (*load, error) {
	held, err := r.reserve(ctx, r.inflating, max(c.window, firstBytes))
	if err != nil {
		return nil, err
	}
	n, err := measure(c, src, r.o.MaxRequestBytes)
	r.inflating.release(held)
	if err != nil {
		return nil, err
	}
	if n > r.o.MaxRequestBytes {
		return nil, r.tooLarge("inflated body")
	}
	l, err := r.admit(ctx, r.inflating, n, c.memory)
	if err != nil {
		return nil, err
	}
	if err := decode(c, l, r.o.MaxRequestBytes, src); err != nil {
		l.drop()
		return nil, err
	}
	l.shrink(n)
	return l, nil
}

// decode fills l with the decoded src. A decoder that panics found a bad body.
func decode(c *coding, l *load, limit int, src []byte) (err error) {
	defer catch(&err)
	out, err := c.into(l.b[:0:min(cap(l.b), limit)], src)
	if err != nil {
		return corrupt(err)
	}
	l.b = l.b[:len(out)] // the same memory: no decoder that succeeds has left its room
	return nil
}

// measure returns the decoded size of src, or limit+1 if it is larger.
func measure(c *coding, src []byte, limit int) (n int, err error) {
	defer catch(&err)
	z, done, err := c.open(bytes.NewReader(src))
	if err != nil {
		return 0, corrupt(err)
	}
	got, err := io.Copy(io.Discard, io.LimitReader(z, int64(limit)+1))
	if err != nil {
		return 0, corrupt(err)
	}
	done()
	return int(got), nil
}

func catch(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: decoder gave up: %v", errCorrupt, p)
	}
}

func corrupt(err error) error {
	if err == nil || errors.Is(err, errFull) {
		return err
	}
	return fmt.Errorf("%w: %v", errCorrupt, err) //nolint:errorlint // a decoder's io errors must not look like the connection's
}
