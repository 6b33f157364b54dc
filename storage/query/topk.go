package query

import (
	"cmp"
	"slices"
)

// ref is one row that belongs to the answer, as far as the scan has come.
type ref struct {
	time  uint64
	part  int32 // index in Scan.parts, which are in the order of compareBlocks
	group int32
	row   int32 // in the block
}

func (r ref) compare(o ref) int {
	return cmp.Or(cmp.Compare(r.time, o.time), cmp.Compare(r.part, o.part), cmp.Compare(r.row, o.row))
}

// topK keeps the first max refs of an order: a heap with the last of them on top.
type topK struct {
	refs      []ref
	max       int
	ascending bool
}

// before reports whether a comes before b in the answer.
func (k *topK) before(a, b ref) bool {
	if k.ascending {
		return a.compare(b) < 0
	}
	return a.compare(b) > 0
}

func (k *topK) full() bool { return len(k.refs) == k.max }

// takes reports whether r would be kept.
func (k *topK) takes(r ref) bool { return !k.full() || k.before(r, k.refs[0]) }

// add keeps r, which takes has accepted.
func (k *topK) add(r ref) {
	if k.full() {
		k.refs[0] = r
		k.sink()
		return
	}
	k.refs = append(k.refs, r)
	for i := len(k.refs) - 1; i > 0; {
		up := (i - 1) / 2
		if !k.before(k.refs[up], k.refs[i]) {
			return
		}
		k.refs[up], k.refs[i] = k.refs[i], k.refs[up]
		i = up
	}
}

func (k *topK) sink() {
	for i := 0; ; {
		last, left := i, 2*i+1
		for _, child := range [...]int{left, left + 1} {
			if child < len(k.refs) && k.before(k.refs[last], k.refs[child]) {
				last = child
			}
		}
		if last == i {
			return
		}
		k.refs[i], k.refs[last] = k.refs[last], k.refs[i]
		i = last
	}
}

// sorted returns the refs in the order of the answer. The heap is gone afterwards.
func (k *topK) sorted() []ref {
	slices.SortFunc(k.refs, func(a, b ref) int {
		if k.ascending {
			return a.compare(b)
		}
		return b.compare(a)
	})
	return k.refs
}
