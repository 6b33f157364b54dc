package main

import (
	"math/bits"
	"time"
)

// latencies counts durations in buckets a sixty-fourth of a power of two wide:
// every quantile is right to 1.6 %, from a nanosecond to hours, in 16 KiB that
// never grow and add up across workers. Sorting samples would need either all
// of them, which is memory that grows with the run, or a sample, which loses
// the tail that p99.9 is about.
type latencies struct {
	counts [latencyBuckets]uint64
	total  uint64
	max    time.Duration
	sum    time.Duration
}

const (
	latencyBits    = 6
	latencyBuckets = 42 << latencyBits // the last one starts beyond an hour
)

func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < 1<<latencyBits {
		return int(v)
	}
	shift := bits.Len64(v) - latencyBits - 1
	return min((shift+1)<<latencyBits+int(v>>shift)&(1<<latencyBits-1), latencyBuckets-1)
}

// bucketEnd is the largest duration of a bucket.
func bucketEnd(i int) time.Duration {
	if i < 1<<latencyBits {
		return time.Duration(i)
	}
	shift := i>>latencyBits - 1
	return time.Duration((uint64(1<<latencyBits|i&(1<<latencyBits-1))+1)<<shift - 1)
}

func (l *latencies) add(d time.Duration) {
	l.counts[bucketOf(d)]++
	l.total++
	l.sum += d
	l.max = max(l.max, d)
}

func (l *latencies) merge(o *latencies) {
	for i, n := range o.counts {
		l.counts[i] += n
	}
	l.total += o.total
	l.sum += o.sum
	l.max = max(l.max, o.max)
}

// quantile returns the smallest duration that the share q of all samples does
// not exceed, never more than the largest sample.
func (l *latencies) quantile(q float64) time.Duration {
	if l.total == 0 {
		return 0
	}
	rank := uint64(q * float64(l.total))
	if float64(rank) < q*float64(l.total) || rank == 0 {
		rank++
	}
	seen := uint64(0)
	for i, n := range l.counts {
		if seen += n; seen >= rank {
			return min(bucketEnd(i), l.max)
		}
	}
	return l.max
}
