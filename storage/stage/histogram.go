package stage

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// A power of two is cut into 1<<fine buckets of equal width, so a value is known to 1/32 of itself.
const (
	fine    = 4
	steps   = 1 << fine
	most    = 42 // values above 1<<most share the last bucket: 73 minutes, or 4 TiB
	buckets = (most-fine-1)<<fine + 2*steps
)

// Histogram counts values: nanoseconds, bytes, frames. The zero value is ready, and every method
// may be called from any goroutine.
type Histogram struct {
	sum     atomic.Uint64
	buckets [buckets]atomic.Uint64
}

// Observe counts v as often as weight says. What is below 0, as a clock might have it, is 0.
func (h *Histogram) Observe(v int64, weight uint64) {
	u := uint64(max(v, 0))
	h.buckets[bucketOf(u)].Add(weight)
	h.sum.Add(u * weight)
}

// bucketOf returns the bucket of v. Its upper bound belongs to a bucket, as in Prometheus, which
// is why 0 shares the first one with 1.
func bucketOf(v uint64) int {
	if v > 0 {
		v--
	}
	if v < steps {
		return int(v)
	}
	if v >= 1<<most {
		return buckets - 1
	}
	e := bits.Len64(v) - 1 - fine
	return e<<fine + int(v>>e)
}

// upper returns the largest value of bucket i.
func upper(i int) uint64 {
	if i < steps {
		return uint64(i) + 1
	}
	e := i>>fine - 1
	return uint64(i&(steps-1)+steps+1) << e
}

// Counts is what a Histogram had counted at some time, or between two times.
type Counts struct {
	Sum     uint64
	buckets [buckets]uint64
}

// Load copies what h has counted. It may be a few values behind in one place and not in another.
func (h *Histogram) Load(to *Counts) {
	to.Sum = h.sum.Load()
	for i := range h.buckets {
		to.buckets[i] = h.buckets[i].Load()
	}
}

// Sub takes away what had been counted earlier.
func (c *Counts) Sub(earlier *Counts) {
	c.Sum -= earlier.Sum
	for i, n := range earlier.buckets {
		c.buckets[i] -= n
	}
}

// Count returns how many values there are.
func (c *Counts) Count() (n uint64) {
	for _, b := range c.buckets {
		n += b
	}
	return n
}

// Quantile returns the value that a share q of all values does not exceed, to 1/32 of itself; 0
// when there are none.
func (c *Counts) Quantile(q float64) uint64 {
	rank := uint64(math.Ceil(q * float64(c.Count())))
	seen := uint64(0)
	for i, b := range c.buckets {
		if seen += b; b > 0 && seen >= rank {
			return middle(i)
		}
	}
	return 0
}

// middle returns the value that stands for bucket i.
func middle(i int) uint64 {
	if i < steps {
		return upper(i)
	}
	return (upper(i-1) + upper(i)) / 2
}

// Max returns the upper bound of the largest value, and never more than the sum.
func (c *Counts) Max() uint64 {
	for i := buckets - 1; i >= 0; i-- {
		if c.buckets[i] > 0 {
			return min(upper(i), c.Sum)
		}
	}
	return 0
}

// AtMost returns how many values are not above bound. That is exact for powers of two; else it
// leaves out those in bound's own bucket.
func (c *Counts) AtMost(bound uint64) (n uint64) {
	for i, b := range c.buckets {
		if upper(i) > bound {
			break
		}
		n += b
	}
	return n
}
