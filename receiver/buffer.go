package receiver

import (
	"math/bits"
	"sync"
)

// Buffers come in powers of two from minClass to maxClass bytes. A larger one is made to
// measure and left to the garbage collector: keeping bodies near the limit would pin them.
const (
	minClass = 12 // 4 KiB
	maxClass = 23 // 8 MiB
)

var pools [maxClass - minClass + 1]sync.Pool

// buffer is a byte slice on loan.
type buffer struct {
	b     []byte
	class int // its pool, or -1
}

// newBuffer returns an empty buffer with room for at least n bytes.
func newBuffer(n int) *buffer {
	class := max(bits.Len(uint(max(n, 1)-1)), minClass)
	if class > maxClass {
		return &buffer{b: make([]byte, 0, n), class: -1}
	}
	if b, ok := pools[class-minClass].Get().(*buffer); ok {
		b.b = b.b[:0]
		return b
	}
	return &buffer{b: make([]byte, 0, 1<<class), class: class}
}

// free gives the buffer back. Nobody may hold a slice of it any more.
func (b *buffer) free() {
	if b.class >= 0 {
		pools[b.class-minClass].Put(b)
	}
}

// grow returns a buffer with the same bytes and room for n, and frees b.
func (b *buffer) grow(n int) *buffer {
	g := newBuffer(n)
	g.b = append(g.b, b.b...)
	b.free()
	return g
}
