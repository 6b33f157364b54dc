// Command measure carries out the experiments of MEASUREMENTS.md, each by one contract:
//
//	round 1   A B C    a fresh server for every run: start, warm up until the first block is out,
//	round 2   C B A    load, settle, stop
//	round 3   A B C    ── ratio and sign of every round ── medians ── table, results/<experiment>.json
//
// A cell in which a single Export was refused, or whose runs did not send the same bytes, gives no
// number at all.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// bench is the place and the size of the experiments.
type bench struct {
	bin    string
	dir    string // where data directories are made
	out    string // where results go; "": nowhere
	doc    string // the document that quotes them; "": none
	rounds int
	length time.Duration // of one load
	warm   time.Duration // of one warm-up
	short  bool
	cells  *regexp.Regexp // the cells wanted
	weak   string         // the mira without barriers, where it was built

	a, b, loads string // of the experiment ab
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	b, wanted, err := parse(args)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(b.dir, "mira-measure")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b.dir = dir
	if err := b.build(wanted); err != nil {
		return err
	}
	var errs []error
	var all []*result
	for _, e := range wanted {
		r, err := b.carryOut(e)
		if err != nil {
			errs = append(errs, err)
		}
		if r != nil {
			all = append(all, r)
		}
	}
	errs = append(errs, table(os.Stdout, all))
	return errors.Join(errs...)
}

func parse(args []string) (*bench, []*experiment, error) {
	b := &bench{}
	f := flag.NewFlagSet("measure", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintf(f.Output(), "usage: measure [flags] experiment...|all\n\nexperiments:\n")
		for _, e := range experiments {
			fmt.Fprintf(f.Output(), "  %-16s %s\n", e.name, e.asks)
		}
		fmt.Fprintln(f.Output(), "\nflags:")
		f.PrintDefaults()
	}
	f.StringVar(&b.bin, "bin", "bin", "`directory` of mira, loadgen and the Collector")
	f.StringVar(&b.dir, "dir", "", "make data directories in this `directory` (default: the system's temporary one)")
	f.StringVar(&b.out, "out", "scripts/measure/results", "write results to this `directory`; a short form writes none")
	f.StringVar(&b.doc, "document", "MEASUREMENTS.md", "bring the figures in this `file` up to date with the results")
	f.IntVar(&b.rounds, "rounds", 8, "rounds; every round runs every arm once")
	f.DurationVar(&b.length, "for", 10*time.Second, "length of one load")
	f.DurationVar(&b.warm, "warm", 2*time.Second, "length of a warm-up")
	f.BoolVar(&b.short, "short", false, "a look, not a result: one round of a second, few arms")
	cells := f.String("cells", "", "only the cells whose name this `expression` matches")
	f.StringVar(&b.a, "a", "bin/mira", "first server of ab: [NAME=value]... binary [flags]")
	f.StringVar(&b.b, "b", "bin/mira", "second server of ab")
	f.StringVar(&b.loads, "loads", "--batch 8192 --conns 4", "loads of ab: loadgen's flags, several divided by ;")
	if err := f.Parse(flagsFirst(args)); err != nil {
		return nil, nil, err
	}
	if b.short {
		b.rounds, b.length, b.warm = 1, time.Second, time.Second
	}
	var err error
	if b.cells, err = regexp.Compile(*cells); err != nil {
		return nil, nil, err
	}
	wanted, err := choose(f.Args())
	if err == nil && len(wanted) == 0 {
		f.Usage()
		return nil, nil, errors.New("which experiment?")
	}
	return b, wanted, err
}

// flagsFirst moves a leading experiment behind the flags, so that scripts can add theirs.
func flagsFirst(args []string) []string {
	if len(args) > 1 && !strings.HasPrefix(args[0], "-") {
		return append(args[1:len(args):len(args)], args[0])
	}
	return args
}

func choose(names []string) (list []*experiment, err error) {
	for _, name := range names {
		found := false
		for _, e := range experiments {
			if e.name == name || name == "all" && !e.asked {
				list, found = append(list, e), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no experiment %q; see --help", name)
		}
	}
	return list, nil
}

// carryOut runs one experiment and writes what it found.
func (b *bench) carryOut(e *experiment) (*result, error) {
	cells, err := e.cells(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.name, err)
	}
	r := b.newResult(e)
	for _, c := range cells {
		if !b.cells.MatchString(c.name) {
			continue
		}
		rounds, err := b.repeat(e.name, &c, r.Rounds)
		r.add(&c, rounds, err)
	}
	if b.out == "" || b.short {
		return r, r.failed()
	}
	err = r.write(filepath.Join(b.out, e.name+".json"))
	if err == nil && b.doc != "" {
		err = document(b.doc, b.out)
	}
	return r, errors.Join(r.failed(), err)
}

// repeat runs the rounds of a cell. It stops at the first error: what came before it is no result.
func (b *bench) repeat(name string, c *cell, rounds int) (list [][]sample, err error) {
	for i := range rounds {
		round := make([]sample, len(c.arms))
		for _, k := range order(i, len(c.arms)) {
			fmt.Fprintf(os.Stderr, "%s: %s: round %d of %d: %s\n", name, c.name, i+1, rounds, c.arms[k].name)
			at := time.Now()
			s, err := c.arms[k].run(b)
			if err != nil {
				return list, fmt.Errorf("%s, %s: %w", c.name, c.arms[k].name, err)
			}
			s.Arm, s.At = c.arms[k].name, at.UTC().Truncate(time.Second)
			round[k] = s
		}
		list = append(list, round)
	}
	return list, nil
}
