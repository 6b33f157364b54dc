package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// sample is what one run of one arm measured.
type sample struct {
	Arm     string             `json:"arm"`
	At      time.Time          `json:"at"`
	Figures map[string]float64 `json:"figures"`
	Corpus  string             `json:"corpus,omitempty"` // loadgen's fingerprint of all that it sent
	Refused map[string]int64   `json:"refused,omitempty"`
	Others  float64            `json:"others_cores"` // cores that were busy with none of ours
}

// arm is one of the things that a cell compares: a name, and how to run it once.
type arm struct {
	name string
	run  func(*bench) (sample, error)
}

// cell is one comparison under one load. Each round runs every arm once.
type cell struct {
	name  string
	arms  []arm
	base  string   // the arm that the others are divided by; "": the first; best: the one with the best first figure
	shown []string // figures in the order of the table
	goals []goal
}

// best as a cell's base means the arm whose median of the first figure is the highest.
const best = "best"

// goal is a bound that the median of a figure, or of its ratio to the base, has to keep.
type goal struct {
	arm, figure string
	ratio       bool
	least       bool // the bound is a lower one
	bound       float64
}

// order returns the order in which round number i runs n arms: forward, backward, backward,
// forward is what drift of the machine cancels in, so even rounds go forward and odd ones
// backward.
func order(i, n int) []int {
	list := make([]int, n)
	for k := range list {
		list[k] = k
		if i%2 == 1 {
			list[k] = n - 1 - k
		}
	}
	return list
}

// row is one line of a result: a figure of an arm, over all rounds, and against the base.
type row struct {
	Arm    string   `json:"arm"`
	Figure string   `json:"figure"`
	Median float64  `json:"median"`
	Low    float64  `json:"low"`
	High   float64  `json:"high"`
	Ratio  *against `json:"ratio,omitempty"` // nil for the base itself
	Goal   string   `json:"goal,omitempty"`
	Missed bool     `json:"missed,omitempty"`
}

// against is a figure divided by the base's of the same round.
type against struct {
	Base   string  `json:"base"`
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Signs  string  `json:"signs"` // a round each: + above the base, - below, = equal
}

// judge turns the rounds of a cell into rows. It refuses to where a number must not be read: an
// Export was refused, or not every run sent the same bytes.
func (c *cell) judge(rounds [][]sample) ([]row, error) {
	if err := c.admissible(rounds); err != nil {
		return nil, err
	}
	base := c.baseIndex(rounds)
	var rows []row
	for k, a := range c.arms {
		for _, figure := range c.figures(rounds, k) {
			values := series(rounds, k, figure)
			if len(values) == 0 {
				continue
			}
			r := row{Arm: a.name, Figure: figure, Median: median(values), Low: slices.Min(values), High: slices.Max(values)}
			if of := series(rounds, base, figure); k != base && len(of) == len(values) && slices.Min(of) > 0 {
				r.Ratio = compare(c.arms[base].name, values, of)
			}
			c.hold(&r)
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// admissible reports why the numbers of these rounds must not be read, if they must not.
func (c *cell) admissible(rounds [][]sample) error {
	corpora := map[string]string{}
	for i, round := range rounds {
		for _, s := range round {
			for code, n := range s.Refused {
				return fmt.Errorf("round %d, %s: %d Exports refused with %s: no number of this cell counts", i+1, s.Arm, n, code)
			}
			if was, ok := corpora[s.Arm]; ok && was != s.Corpus {
				return fmt.Errorf("round %d, %s: sent corpus %s, and %s before: nothing to compare", i+1, s.Arm, s.Corpus, was)
			}
			corpora[s.Arm] = s.Corpus
		}
	}
	return nil
}

func (c *cell) baseIndex(rounds [][]sample) int {
	if c.base == best {
		at := func(k int) float64 { return median(series(rounds, k, c.shown[0])) }
		top := 0
		for k := range c.arms {
			if at(k) > at(top) {
				top = k
			}
		}
		return top
	}
	return max(0, slices.IndexFunc(c.arms, func(a arm) bool { return a.name == c.base }))
}

// figures lists what arm k measured: the cell's own first, in their order, then the rest by name.
func (c *cell) figures(rounds [][]sample, k int) []string {
	list := slices.Clone(c.shown)
	seen := map[string]bool{}
	for _, round := range rounds {
		for f := range round[k].Figures {
			seen[f] = true
		}
	}
	for _, f := range slices.Sorted(maps.Keys(seen)) {
		if !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return list
}

// hold writes into r which goal it has and whether it is missed.
func (c *cell) hold(r *row) {
	for _, g := range c.goals {
		if g.arm != r.Arm || g.figure != r.Figure || g.ratio && r.Ratio == nil {
			continue
		}
		value, word, sign := r.Median, "", "<="
		if g.ratio {
			value, word = r.Ratio.Median, "ratio "
		}
		if g.least {
			sign = ">="
		}
		r.Goal = fmt.Sprintf("%s%s %.4g", word, sign, g.bound)
		r.Missed = g.least && value < g.bound || !g.least && value > g.bound
	}
}

// series is the figure of arm k, a value for each round that has it.
func series(rounds [][]sample, k int, figure string) (list []float64) {
	for _, round := range rounds {
		if v, ok := round[k].Figures[figure]; ok {
			list = append(list, v)
		}
	}
	return list
}

// compare divides value by value. Both have the same length.
func compare(base string, values, of []float64) *against {
	ratios := make([]float64, len(values))
	var signs strings.Builder
	for i, v := range values {
		ratios[i] = v / of[i]
		signs.WriteByte("-=+"[cmp.Compare(v, of[i])+1])
	}
	return &against{Base: base, Median: median(ratios), Low: slices.Min(ratios), High: slices.Max(ratios), Signs: signs.String()}
}

// median is the middle value, or the mean of the two in the middle; 0 of none.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	if len(v) == 0 {
		return 0
	}
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
