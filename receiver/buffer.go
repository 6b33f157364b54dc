package receiver

import (
	"math/bits"
	"sync"
)

// Buffers come in sizes from 4 KiB to 8 MiB, four to a doubling: senders batch by count, so a
// busy server holds many bodies of one size, and with powers of two alone up to half of that memory
// would be air. A larger one is made to measure and left to the garbage collector: keeping bodies
// near the limit would pin them.
const (
	minBits = 12
	maxBits = 23
)

var pools [4*(maxBits-minBits) + 1]sync.Pool

// classOf returns the pool of the smallest buffers with room for n bytes, and their size; or -1.
func classOf(n int) (class, size int) {
	if n <= 1<<minBits {
		return 0, 1 << minBits
	}
	if n > 1<<maxBits {
		return -1, n
	}
	bit := bits.Len(uint(n-1)) - 1 // n lies in (1<<bit, 2<<bit]
	step := 1 << bit / 4
	steps := (n - 1<<bit + step - 1) / step
	return 4*(bit-minBits) + steps, 1<<bit + steps*step
}

// buffer is a byte slice on loan.
type buffer struct {
	b     []byte
	class int // its pool, or -1
}

// newBuffer returns an empty buffer with room for at least n bytes.
func newBuffer(n int) *buffer {
	class, size := classOf(n)
	if class >= 0 {
		if b, ok := pools[class].Get().(*buffer); ok {
			b.b = b.b[:0]
			return b
		}
	}
	return &buffer{b: make([]byte, 0, size), class: class}
}

// free gives the buffer back. Nobody may hold a slice of it any more.
func (b *buffer) free() {
	if b.class >= 0 {
		pools[b.class].Put(b)
	}
}

// grow returns a buffer with the same bytes and room for n, and frees b.
func (b *buffer) grow(n int) *buffer {
	g := newBuffer(n)
	g.b = append(g.b, b.b...)
	b.free()
	return g
}
