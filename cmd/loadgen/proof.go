package main

import (
	"fmt"
	"sort"

	"mira/cmd/internal/corpus"
)

// proof holds what was claimed against what is stored. It keeps two bits a
// record, whatever a record weighs.
type proof struct {
	streams map[stream]*exports
	runs    map[string]bool
	verdict verdict
}

// exports are one stream's claims, in order of their base times.
type exports struct {
	list   []held
	sorted bool
}

// held is a claim and how often each of its records was seen: two bits each,
// never counting past 3.
type held struct {
	claim
	seen []uint64
}

// verdict is the result, and part of the report.
type verdict struct {
	OK        bool     `json:"ok"`
	Acked     int64    `json:"acked"`     // records that must be stored once
	Stored    int64    `json:"stored"`    // rows read that belong to these runs
	Lost      int64    `json:"lost"`      // acknowledged, not stored
	Doubled   int64    `json:"doubled"`   // stored more often than they can have been sent
	Forbidden int64    `json:"forbidden"` // refused, and stored all the same
	Strangers int64    `json:"strangers"` // of these runs, but never sent
	Unsettled int64    `json:"unsettled"` // stored, from Exports whose end nobody saw: allowed
	Rows      int64    `json:"rows_read"` // of all runs
	Examples  []string `json:"examples,omitempty"`
}

const maxExamples = 10

func newProof() *proof {
	return &proof{streams: map[stream]*exports{}, runs: map[string]bool{}}
}

func (p *proof) claim(c claim) {
	e := p.streams[c.stream]
	if e == nil {
		e = &exports{}
		p.streams[c.stream] = e
		p.runs[c.run] = true
	}
	e.list = append(e.list, held{claim: c, seen: make([]uint64, (c.records+31)/32)})
	e.sorted = false
}

// row counts one stored record.
func (p *proof) row(s stream, at uint64) {
	p.verdict.Stored++
	e := p.streams[s]
	if e == nil || !e.count(at) {
		p.verdict.Strangers++
		p.example("stranger", s, at)
	}
}

// count finds the record that carries this time and counts it.
func (e *exports) count(at uint64) bool {
	if !e.sorted {
		sort.Slice(e.list, func(i, j int) bool { return e.list[i].base < e.list[j].base })
		e.sorted = true
	}
	k := sort.Search(len(e.list), func(k int) bool { return e.list[k].base > at }) - 1
	if k < 0 {
		return false
	}
	h := &e.list[k]
	i := int(min((at-h.base)/corpus.Slot, maxBatch))
	if i >= h.records || h.base+uint64(corpus.Offset(i)) != at {
		return false
	}
	if h.times(i) < 3 {
		h.seen[i/32] += 1 << (i % 32 * 2)
	}
	return true
}

func (h *held) times(i int) int { return int(h.seen[i/32] >> (i % 32 * 2) & 3) }

// judge goes through all claims, once everything has been read.
func (p *proof) judge() *verdict {
	for _, s := range p.order() {
		for i := range p.streams[s].list {
			p.judgeExport(&p.streams[s].list[i])
		}
	}
	v := &p.verdict
	v.OK = v.Lost == 0 && v.Doubled == 0 && v.Forbidden == 0 && v.Strangers == 0
	return v
}

func (p *proof) judgeExport(h *held) {
	v := &p.verdict
	for i := range h.records {
		n := h.times(i)
		at := h.base + uint64(corpus.Offset(i))
		if h.min > 0 {
			v.Acked++
		}
		switch {
		case n < h.min:
			v.Lost++
			p.example("lost", h.stream, at)
		case n > 0 && h.max == 0:
			v.Forbidden++
			p.example("refused but stored", h.stream, at)
		case n > min(h.max, 3):
			v.Doubled++
			p.example(fmt.Sprintf("stored %d times", n), h.stream, at)
		case n > h.min:
			v.Unsettled += int64(n - h.min)
		}
	}
}

func (p *proof) example(what string, s stream, at uint64) {
	if len(p.verdict.Examples) < maxExamples {
		p.verdict.Examples = append(p.verdict.Examples,
			fmt.Sprintf("%s: run %s, %s, worker %d, time %d", what, s.run, s.signal, s.worker, at))
	}
}

// order lists the streams in an order that does not change from run to run.
func (p *proof) order() []stream {
	out := make([]stream, 0, len(p.streams))
	for s := range p.streams {
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.run != b.run {
			return a.run < b.run
		}
		if a.signal != b.signal {
			return a.signal < b.signal
		}
		return a.worker < b.worker
	})
	return out
}

// signals lists the signals that any claim is about.
func (p *proof) signals() []signal {
	var out []signal
	for s := range faces {
		for k := range p.streams {
			if k.signal == signal(s) {
				out = append(out, signal(s))
				break
			}
		}
	}
	return out
}
