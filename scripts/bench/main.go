// Command bench measures the built server with loadgen beside it and holds the result against
// the goals in ARCHITECTURE.md. Run it by `make bench`, on a machine that does nothing else.
//
// Every figure is a median over interleaved rounds; a run with a refusal does not count, it fails.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
)

var (
	bin    = flag.String("bin", "bin", "directory of mira and loadgen")
	rounds = flag.Int("rounds", 3, "interleaved rounds")
	length = flag.Duration("for", 8*time.Second, "length of one ingest run")
	work   = flag.String("dir", "", "where the data directories go; empty: a temporary directory")
)

// goal is what a figure has to reach.
type goal struct {
	least bool // the bound is a lower one
	bound float64
}

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	dir := *work
	if dir == "" {
		tmp, err := os.MkdirTemp("", "mira-bench")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		dir = tmp
	}
	b := &bench{dir: dir, seen: map[string][]float64{}}
	for i := range *rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", i+1, *rounds)
		for _, step := range []func() error{b.ingest, b.latency, b.replay} {
			if err := step(); err != nil {
				return err
			}
		}
	}
	return b.print()
}

// bench collects what each round found, by name.
type bench struct {
	dir  string
	n    int // data directories made
	seen map[string][]float64
}

func (b *bench) note(name string, v float64) { b.seen[name] = append(b.seen[name], v) }

func (b *bench) fresh() string {
	b.n++
	return filepath.Join(b.dir, fmt.Sprintf("data%d", b.n))
}

// ingest loads a fresh server at several numbers of connections, in both shapes.
func (b *bench) ingest() error {
	for _, shape := range []string{"lean", "rich"} {
		for _, conns := range []int{4, 32, 96} {
			r, err := b.load(fmt.Sprint(conns), shape)
			if err != nil {
				return err
			}
			at := fmt.Sprintf("%s, %d connections", shape, conns)
			b.note("records per server CPU-second, "+at, r.Server.RecordsPerCPUSecond)
			b.note("records per second, "+at, r.RecordsPerSecond)
			b.note("ack p50 ms, "+at, r.Ack.P50/1000)
			b.note("ack p99 ms, "+at, r.Ack.P99/1000)
			b.note("peak RSS MiB, "+at, float64(r.Server.PeakRSS)/(1<<20))
		}
	}
	return nil
}

func (b *bench) load(conns, shape string) (report, error) {
	dir := b.fresh()
	defer os.RemoveAll(dir)
	s, err := start(dir)
	if err != nil {
		return report{}, err
	}
	defer s.stop()
	return s.load("grpc", "--for", length.String(), "--batch", "8192", "--conns", conns, "--shape", shape, "--data-dir", dir)
}

// latency compares the acknowledgement of one record on one connection with writing and syncing
// the same bytes to a file on the same disk, in the same minute.
func (b *bench) latency() error {
	dir := b.fresh()
	defer os.RemoveAll(dir)
	s, err := start(dir)
	if err != nil {
		return err
	}
	defer s.stop()
	bare, err := bareSync(dir, frameBytes)
	if err != nil {
		return err
	}
	b.note("bare write+fdatasync p50 us", float64(bare.Microseconds()))
	for _, protocol := range []string{"grpc", "http"} {
		r, err := s.load(protocol, "--for", "3s", "--batch", "1", "--conns", "1")
		if err != nil {
			return err
		}
		again, err := bareSync(dir, frameBytes)
		if err != nil {
			return err
		}
		at := ", 1 connection, batch 1, " + protocol
		b.note("ack p50 us"+at, r.Ack.P50)
		b.note("ack p50 over bare write+fdatasync"+at, r.Ack.P50/float64((bare+again).Microseconds()/2))
		bare = again
	}
	return nil
}

// replay kills a server whose blocks are open and times the next start.
func (b *bench) replay() error {
	dir := b.fresh()
	defer os.RemoveAll(dir)
	s, err := start(dir, "--block-bytes", "256MiB", "--ingest-memory", "4GiB", "--block-age", "1h")
	if err != nil {
		return err
	}
	if _, err := s.load("grpc", "--records", "1900000", "--batch", "8192", "--conns", "6", "--signals", "logs,traces,metrics"); err != nil {
		s.stop()
		return err
	}
	s.kill()
	again, err := start(dir)
	if err != nil {
		return err
	}
	defer again.stop()
	bytes, took, err := again.replayed()
	if err != nil {
		return err
	}
	b.note("replay MB/s of log", float64(bytes)/1e6/took.Seconds())
	return nil
}

func (b *bench) median(name string) float64 {
	v := slices.Sorted(slices.Values(b.seen[name]))
	if len(v) == 0 {
		return 0
	}
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// print writes the table; it fails when a goal is missed.
func (b *bench) print() error {
	goals := map[string]goal{
		"records per server CPU-second, lean, 4 connections":             {least: true, bound: 700_000},
		"ack p50 over bare write+fdatasync, 1 connection, batch 1, grpc": {bound: 3},
		"ack p50 over bare write+fdatasync, 1 connection, batch 1, http": {bound: 3},
		"peak RSS MiB, lean, 96 connections":                             {bound: 1024},
		"peak RSS MiB, rich, 96 connections":                             {bound: 1024},
		"replay MB/s of log":                                             {least: true, bound: 300},
		ratio96:                                                          {least: true, bound: 0.8},
	}
	four, many := "records per server CPU-second, lean, 4 connections", "records per server CPU-second, lean, 96 connections"
	for i, v := range b.seen[many] {
		b.note(ratio96, v/b.seen[four][i])
	}
	names := make([]string, 0, len(b.seen))
	for name := range b.seen {
		names = append(names, name)
	}
	slices.SortFunc(names, cmp.Compare)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "figure\tmedian\tlowest\thighest\tgoal\n")
	missed := 0
	for _, name := range names {
		m := b.median(name)
		fmt.Fprintf(w, "%s\t%.4g\t%.4g\t%.4g\t", name, m, slices.Min(b.seen[name]), slices.Max(b.seen[name]))
		g, judged := goals[name]
		verdict := "reached"
		if judged && (g.least && m < g.bound || !g.least && m > g.bound) {
			verdict = "MISSED"
			missed++
		}
		switch {
		case judged && g.least:
			fmt.Fprintf(w, ">= %.4g, %s", g.bound, verdict)
		case judged:
			fmt.Fprintf(w, "<= %.4g, %s", g.bound, verdict)
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if missed > 0 {
		return fmt.Errorf("%d goals missed", missed)
	}
	return nil
}

const ratio96 = "records per server CPU-second, lean, 96 over 4 connections"
