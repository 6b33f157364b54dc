package main

import (
	"fmt"
	"strconv"
	"strings"

	"mira/storage/signal"
)

// bytesize is a size given as "64MiB", "1GiB", "10MB" or a plain number.
type bytesize int64

var units = []struct {
	name string
	n    int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}}

// Set implements flag.Value.
func (b *bytesize) Set(text string) error {
	number, unit := text, int64(1)
	for _, u := range units {
		if cut, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = strings.TrimSpace(cut), u.n
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return fmt.Errorf("%q is not a size such as 64MiB", text)
	}
	*b = bytesize(n * unit)
	return nil
}

// String implements flag.Value.
func (b bytesize) String() string {
	for _, u := range []int{3, 2, 1, 0} {
		if n := units[u].n; int64(b) >= n && int64(b)%n == 0 {
			return strconv.FormatInt(int64(b)/n, 10) + units[u].name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// tier is a signal.Tier as a flag.
type tier signal.Tier

// Set implements flag.Value.
func (t *tier) Set(text string) error {
	v, err := signal.ParseTier(text)
	*t = tier(v)
	return err
}

// String implements flag.Value.
func (t tier) String() string { return signal.Tier(t).String() }

// list is comma-separated values as a flag.
type list []string

// Set implements flag.Value.
func (l *list) Set(text string) error {
	*l = nil
	for v := range strings.SplitSeq(text, ",") {
		if v = strings.TrimSpace(v); v != "" {
			*l = append(*l, v)
		}
	}
	return nil
}

// String implements flag.Value.
func (l list) String() string { return strings.Join(l, ",") }
