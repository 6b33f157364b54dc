package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// quiet is how many cores may be busy with other things before a figure is one of a shared machine.
const quiet = 0.2

// result is the file that an experiment leaves.
type result struct {
	Experiment string     `json:"experiment"`
	Asks       string     `json:"asks"`
	Seeds      string     `json:"seeds"` // the verdict of the engines before this one
	Date       string     `json:"date"`
	Command    string     `json:"command"`
	Rounds     int        `json:"rounds"`
	Seconds    float64    `json:"seconds"` // of one load
	Short      bool       `json:"short,omitempty"`
	Host       host       `json:"host"`
	Load       []float64  `json:"load_average_before"`
	Others     float64    `json:"others_cores"` // median over all runs
	Shared     bool       `json:"shared"`       // others used enough of the machine to doubt the figures
	Cells      []finished `json:"cells"`
}

// host is what may be told of the machine.
type host struct {
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	FS     string `json:"file_system"` // of the data directories
	Go     string `json:"go"`
	Mira   string `json:"mira"`
	Commit string `json:"commit"`
}

// finished is a cell with its rounds.
type finished struct {
	Name   string     `json:"name"`
	Error  string     `json:"error,omitempty"` // then there are no rows
	Shown  []string   `json:"shown"`           // figures in the order of the table
	Rows   []row      `json:"rows"`
	Rounds [][]sample `json:"rounds"`
}

func (b *bench) newResult(e *experiment) *result {
	rounds := b.rounds
	if e.rounds > 0 {
		rounds = min(rounds, e.rounds)
	}
	return &result{
		Experiment: e.name, Asks: e.asks, Seeds: e.seeds, Date: time.Now().UTC().Format(time.DateOnly),
		Command: fmt.Sprintf("make measure EXPERIMENT=%s ROUNDS=%d FOR=%s", e.name, rounds, b.length), Rounds: rounds,
		Seconds: b.length.Seconds(), Short: b.short, Host: b.host(), Load: loadAverage(),
	}
}

func (b *bench) host() host {
	var u unix.Utsname
	_ = unix.Uname(&u) // never fails
	return host{
		Cores: runtime.NumCPU(), Kernel: unix.ByteSliceToString(u.Release[:]), FS: fileSystem(b.dir), Go: runtime.Version(),
		Mira:   output(filepath.Join(b.bin, "mira"), "--version"),
		Commit: commit(),
	}
}

// commit names what was measured. Results that were just written do not make it another.
func commit() string {
	name := output("git", "rev-parse", "--short", "HEAD")
	if output("git", "status", "--porcelain", "--", ".", ":!scripts/measure/results", ":!MEASUREMENTS.md") != "" {
		name += "-dirty"
	}
	return name
}

// fileSystem names the kind of file system that dir is on.
func fileSystem(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return err.Error()
	}
	names := map[int64]string{0xef53: "ext4", 0x58465342: "xfs", 0x9123683e: "btrfs", 0x01021994: "tmpfs", 0x794c7630: "overlay"}
	if name := names[st.Type]; name != "" {
		return name
	}
	return fmt.Sprintf("%#x", st.Type)
}

func output(name string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	b, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

// add takes the rounds of a cell, or why there are none.
func (r *result) add(c *cell, rounds [][]sample, err error) {
	f := finished{Name: c.name, Rounds: rounds, Shown: c.shown}
	if err == nil {
		f.Rows, err = c.judge(rounds)
	}
	if err != nil {
		f.Error = err.Error()
	}
	r.Cells = append(r.Cells, f)
	r.weigh()
}

// weigh tells how much of the machine others used.
func (r *result) weigh() {
	var others []float64
	for _, f := range r.Cells {
		for _, round := range f.Rounds {
			for _, s := range round {
				others = append(others, s.Others)
			}
		}
	}
	r.Others = median(others)
	r.Shared = r.Others > quiet
}

// keep takes over the cells of an earlier result under the same conditions that were not run again.
func (r *result) keep(old *result) {
	was, is := old.Host, r.Host
	was.Mira, is.Mira = "", "" // its version says dirty where only results were written
	if was != is || old.Rounds != r.Rounds || old.Seconds != r.Seconds {
		return
	}
	for _, f := range old.Cells {
		if !slices.ContainsFunc(r.Cells, func(g finished) bool { return g.Name == f.Name }) {
			r.Cells = append(r.Cells, f)
		}
	}
	r.weigh()
}

// failed reports the cells without numbers. A missed goal is a result, no failure.
func (r *result) failed() error {
	var errs []error
	for _, f := range r.Cells {
		if f.Error != "" {
			errs = append(errs, fmt.Errorf("%s: %s", r.Experiment, f.Error))
		}
	}
	return errors.Join(errs...)
}

func (r *result) write(name string) error {
	if old, err := readResult(name); err == nil {
		r.keep(old)
	}
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, append(b, '\n'), 0o644)
}
