package doctor

import (
	"io/fs"
	"strconv"
	"strings"
)

// ticks is CPU time since the machine started, in the kernel's units.
type ticks struct{ all, busy, own uint64 }

// readTicks reads what all CPUs did, and what this process did of it; zeros where that is not told.
func readTicks(root fs.FS) ticks {
	var t ticks
	first, _, _ := strings.Cut(read(root, "proc/stat"), "\n")
	f := strings.Fields(first)
	if len(f) < 9 || f[0] != "cpu" {
		return t
	}
	for i, text := range f[1:9] { // user nice system idle iowait irq softirq steal
		n, _ := strconv.ParseUint(text, 10, 64) // what is no number counts nothing
		t.all += n
		if i != 3 && i != 4 {
			t.busy += n
		}
	}
	text := read(root, "proc/self/stat")
	f = strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // a name may hold blanks
	if len(f) > 12 {
		user, _ := strconv.ParseUint(f[11], 10, 64)
		system, _ := strconv.ParseUint(f[12], 10, 64)
		t.own = user + system
	}
	return t
}

// othersSince is how many of the cores other programs (and other guests of the host) used since t.
func (t ticks) othersSince(now ticks, cores int) float64 {
	all, busy, own := now.all-t.all, now.busy-t.busy, now.own-t.own
	if all == 0 || own > busy || busy > all {
		return 0
	}
	return float64(busy-own) / float64(all) * float64(cores)
}
