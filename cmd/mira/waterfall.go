package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxIndent is how many levels below the root are still shown by their indentation.
const maxIndent = 30

// waterfall is a trace as text: the tree of its spans, and a bar for the time of each.
type waterfall struct {
	id          string
	leaves      []leaf
	low, high   uint64 // of the times that are known
	bar         int    // cells
	table       *table
	screen      screen
	errors      int
	serviceList []string
}

func newWaterfall(id string, spans []row, s screen) *waterfall {
	w := &waterfall{id: id, leaves: inTree(spans), low: math.MaxUint64, bar: 40, screen: s}
	if s.width > 0 {
		w.bar = min(max(s.width/3, 10), 60)
	}
	for _, r := range spans {
		if from, to, ok := r.times(); ok {
			w.low, w.high = min(w.low, from), max(w.high, to)
		}
		if r.text("status.code") == "2" {
			w.errors++
		}
		if name := r.service(); !slices.Contains(w.serviceList, name) && name != "" {
			w.serviceList = append(w.serviceList, name)
		}
	}
	return w
}

func (w *waterfall) print(out io.Writer) error {
	if _, err := fmt.Fprintln(out, w.title()); err != nil {
		return err
	}
	w.table = newTable(out, []tableColumn{{"SPAN", 12}, {"SERVICE", 8}, {"TIMELINE", 0}, {"DURATION", 0}, {"STATUS", 5}})
	w.table.screen = w.screen
	orphans := false
	for _, l := range w.leaves {
		if l.orphan && !orphans {
			orphans = true
			w.table.add(cell{})
			w.table.add(cell{"Below a parent that is not stored:", bold})
		}
		w.add(l)
	}
	return w.table.flush()
}

// title says what there is to say of the whole trace.
func (w *waterfall) title() string {
	text := fmt.Sprintf("trace %s: %s, %s", w.id, count(len(w.leaves), "span"), count(len(w.serviceList), "service"))
	if w.errors > 0 {
		text += ", " + w.screen.paint(count(w.errors, "error"), red)
	}
	if w.low <= w.high {
		text += fmt.Sprintf(", %s from %s", time.Duration(w.high-w.low), time.Unix(0, int64(w.low)).UTC().Format(time.RFC3339Nano))
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func (w *waterfall) add(l leaf) {
	name := cell{text: strings.Repeat("  ", min(l.depth, maxIndent)) + l.text("name")}
	if l.text("status.code") == "2" {
		name.colour = red
	}
	colour := serviceColour(l.service())
	w.table.add(name, cell{l.service(), colour}, cell{w.timeline(l.row), colour}, cell{text: l.duration()}, cell{l.status(), l.statusColour()})
}

// timeline draws when a span took place in its trace: one cell at least.
func (w *waterfall) timeline(r row) string {
	from, to, ok := r.times()
	if !ok {
		return ""
	}
	scale := float64(w.bar) / max(float64(w.high-w.low), 1)
	at := min(int(float64(from-w.low)*scale), w.bar-1)
	end := min(max(int(math.Round(float64(to-w.low)*scale)), at+1), w.bar)
	return strings.Repeat(" ", at) + strings.Repeat("█", end-at)
}

// serviceColour is always the same for a service.
func serviceColour(name string) string {
	h := fnv.New32a()
	_, _ = io.WriteString(h, name) // a hash takes everything
	return []string{"34", "35", "36", "94", "95", "96"}[h.Sum32()%6]
}

// times returns the start and the end of a span; false when one is unknown, or they are the wrong
// way round.
func (r row) times() (from, to uint64, ok bool) {
	from, err1 := strconv.ParseUint(r.text("start_time_unix_nano"), 10, 64)
	to, err2 := strconv.ParseUint(r.text("end_time_unix_nano"), 10, 64)
	return from, to, err1 == nil && err2 == nil && from > 0 && to >= from
}

// leaf is a span and how deep it is. An orphan is below a parent that is not there.
type leaf struct {
	row
	depth  int
	orphan bool
}

// inTree orders spans so that each stands behind its parent: first what is below a root, then what
// is below a span whose parent is not here. A circle of parents is cut at its earliest span. A span
// sent twice is shown twice.
func inTree(spans []row) []leaf {
	below := map[string][]row{}
	known := map[string]bool{}
	for _, s := range spans {
		known[s.text("span_id")] = true
	}
	var roots, orphans []row
	for _, s := range spans {
		switch parent := s.text("parent_span_id"); {
		case parent == "":
			roots = append(roots, s)
		case !known[parent] || parent == s.text("span_id"):
			orphans = append(orphans, s)
		default:
			below[parent] = append(below[parent], s)
		}
	}
	var out []leaf
	var walk func(s row, depth int, orphan bool)
	walk = func(s row, depth int, orphan bool) {
		out = append(out, leaf{s, depth, orphan})
		children := below[s.text("span_id")]
		delete(below, s.text("span_id"))
		for _, child := range children {
			walk(child, depth+1, orphan)
		}
	}
	for _, s := range roots {
		walk(s, 0, false)
	}
	for _, s := range orphans {
		walk(s, 0, true)
	}
	for len(below) > 0 { // only circles are left
		walk(cutCircle(below), 0, true)
	}
	return out
}

// cutCircle takes the earliest span out of below.
func cutCircle(below map[string][]row) row {
	var rest []row
	for _, children := range below {
		rest = append(rest, children...)
	}
	first := slices.MinFunc(rest, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.text("time"), b.text("time")), cmp.Compare(a.text("span_id"), b.text("span_id")))
	})
	parent := first.text("parent_span_id")
	below[parent] = slices.DeleteFunc(below[parent], func(r row) bool { return r.text("span_id") == first.text("span_id") })
	if len(below[parent]) == 0 {
		delete(below, parent)
	}
	return first
}
