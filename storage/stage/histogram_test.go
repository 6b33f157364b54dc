package stage

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

func TestEveryValueIsInTheBucketThatBoundsIt(t *testing.T) {
	check := func(v uint64) {
		t.Helper()
		i := bucketOf(v)
		if v > upper(i) || i > 0 && v <= upper(i-1) {
			t.Errorf("%d is in bucket %d, which holds (%d, %d]", v, i, upper(max(i-1, 0)), upper(i))
		}
	}
	check(0)
	for e := range most {
		for d := range uint64(3) {
			check(1<<e + d)
			check(1<<e - min(d, 1<<e))
		}
	}
	check(1 << most)
	if got := bucketOf(math.MaxUint64); got != buckets-1 || upper(got) != 1<<most {
		t.Errorf("the largest value is in bucket %d of %d, which ends at %d", got, buckets, upper(got))
	}
}

func TestQuantilesAreWithinAThirtySecond(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var h Histogram
	var all []uint64
	for range 20_000 {
		v := uint64(math.Exp(rng.Float64() * math.Log(1<<40)))
		all = append(all, v)
		h.Observe(int64(v), 1)
	}
	slices.Sort(all)
	var c Counts
	h.Load(&c)
	for _, q := range []float64{0, .001, .01, .1, .25, .5, .75, .9, .99, .999, 1} {
		want := all[max(int(math.Ceil(q*float64(len(all))))-1, 0)]
		if got := c.Quantile(q); math.Abs(float64(got)-float64(want)) > float64(want)/32+1 {
			t.Errorf("quantile %g: got %d, want %d", q, got, want)
		}
	}
	if got, want := c.Max(), all[len(all)-1]; got < want || got > want+want/16+1 {
		t.Errorf("max: got %d, want %d or little more", got, want)
	}
}

func TestEmptyHistogramHasNoQuantiles(t *testing.T) {
	var c Counts
	if c.Quantile(.5) != 0 || c.Max() != 0 || c.Count() != 0 {
		t.Errorf("got %d, %d, %d, want zeros", c.Quantile(.5), c.Max(), c.Count())
	}
}

func TestNothingIsLostWhenManyCount(t *testing.T) {
	const writers, each = 8, 10_000
	var h Histogram
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				h.Observe(int64(i%100*(w+1)), 2)
			}
		})
	}
	wg.Wait()
	var c Counts
	h.Load(&c)
	if got := c.Count(); got != 2*writers*each {
		t.Errorf("count: got %d, want %d", got, 2*writers*each)
	}
	if want := uint64(2 * each / 100 * (99 * 100 / 2) * (writers * (writers + 1) / 2)); c.Sum != want {
		t.Errorf("sum: got %d, want %d", c.Sum, want)
	}
}

func TestDifferenceHoldsWhatCameInBetween(t *testing.T) {
	set := new(Set)
	set.Observe(Rename, 5)
	set.Group(3, 300)
	before := set.Snapshot()
	set.Observe(Rename, 7000)
	set.Observe(Trim, 9)
	set.Group(1, 100)
	between := set.Snapshot()
	between.Sub(before)
	rename, trim := &between.Stages[Rename], &between.Stages[Trim]
	if rename.Count() != 1 || rename.Sum != 7000 || trim.Count() != 1 || trim.Max() != 9 {
		t.Errorf("rename: got %d of %d ns; trim: %d, at most %d", rename.Count(), rename.Sum, trim.Count(), trim.Max())
	}
	if between.GroupFrames.Sum != 1 || between.GroupBytes.Sum != 100 {
		t.Errorf("groups: got %d frames, %d bytes, want 1 and 100", between.GroupFrames.Sum, between.GroupBytes.Sum)
	}
}

func TestBoundsOfTwoToThePowerAreExact(t *testing.T) {
	var h Histogram
	for _, v := range []int64{-1, 0, 1, 2, 3, 4, 1 << 20, 1<<20 + 1} {
		h.Observe(v, 1)
	}
	var c Counts
	h.Load(&c)
	for bound, want := range map[uint64]uint64{1: 3, 2: 4, 4: 6, 1 << 19: 6, 1 << 20: 7, 1 << 21: 8} {
		if got := c.AtMost(bound); got != want {
			t.Errorf("at most %d: got %d values, want %d", bound, got, want)
		}
	}
}
