package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"

	"mira/cmd/internal/corpus"
	"mira/cmd/internal/doctor"
	"mira/storage/vfs"
)

// doctorCommand measures this machine, and asks a server that runs on it.
func doctorCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("mira doctor", flag.ContinueOnError)
	f.SetOutput(stderr)
	dir := f.String("data-dir", "./data", "measure the disk of this `directory`; safe beside a running server")
	addr := f.String("addr", "http://127.0.0.1:4318", "`URL` of a server to ask what bounds it; it must answer if this is given")
	shape := f.String("shape", "lean", "records to predict for: lean (about 140 bytes) or rich (about 500)")
	budget := f.Float64("seconds", 8, "about how `long` to measure")
	asJSON := f.Bool("json", false, "print one JSON document")
	if err := f.Parse(args); err != nil {
		return flagExit(err)
	}
	o := doctor.Options{
		Dir: *dir, FS: vfs.OS{}, Root: os.DirFS("/"), Budget: time.Duration(*budget * float64(time.Second)), Addr: *addr,
		Procs: runtime.NumCPU() + config{}.extraProcs(), Memory: int64(machineMemory()), IngestMemory: int64(defaultMemory()),
	}
	f.Visit(func(g *flag.Flag) { o.Must = o.Must || g.Name == "addr" })
	if err := doctorUsage(f, &o, *shape, *budget); err != nil {
		fmt.Fprintf(stderr, "mira doctor: %v\n", err)
		return exitUsage
	}
	progress := &progress{out: stderr, bar: isTerminal(stderr)}
	if !*asJSON {
		o.Progress = progress.show
	}
	r, err := doctor.Run(ctx, o)
	progress.clear()
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted; nothing is left behind")
	}
	if r != nil {
		err = errors.Join(err, printDoctor(stdout, r, *asJSON))
	}
	return finish("mira doctor", stderr, err)
}

// doctorUsage holds the flags against their bounds.
func doctorUsage(f *flag.FlagSet, o *doctor.Options, shape string, budget float64) error {
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	switch shape {
	case corpus.Lean.String():
	case corpus.Rich.String():
		o.Shape = corpus.Rich
	default:
		return fmt.Errorf("shape: %q, want lean or rich", shape)
	}
	if !(budget > 0 && budget <= 600) {
		return fmt.Errorf("seconds: %v, want more than 0 and at most 600", budget)
	}
	if o.Dir == "" {
		return errors.New("data-dir: want a directory")
	}
	if u, err := url.Parse(o.Addr); err != nil || u.Host == "" {
		return fmt.Errorf("addr: %q, want a URL such as http://localhost:4318", o.Addr)
	}
	return nil
}

func printDoctor(w io.Writer, r *doctor.Report, asJSON bool) error {
	if !asJSON {
		r.Text(w)
		return nil
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// progress tells that something goes on: a bar on a terminal, else a line for each thing begun.
type progress struct {
	out   io.Writer
	bar   bool
	doing string
	tenth int // of a percent, last drawn
}

func (p *progress) show(done float64, doing string) {
	tenth := int(1000 * done)
	if doing == p.doing && (!p.bar || tenth == p.tenth) {
		return
	}
	p.doing, p.tenth = doing, tenth
	if !p.bar {
		fmt.Fprintf(p.out, "measuring: %s\n", doing)
		return
	}
	const cells = 30
	full := min(cells, max(0, int(done*cells)))
	fmt.Fprintf(p.out, "\r[%s%s] %3.0f %%  %-26s", strings.Repeat("#", full), strings.Repeat(".", cells-full), 100*done, doing)
}

// clear takes the bar away.
func (p *progress) clear() {
	if p.bar && p.doing != "" {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
