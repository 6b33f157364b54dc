package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
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
	Rows   []row      `json:"rows"`
	Rounds [][]sample `json:"rounds"`

	shown []string
}

func (b *bench) newResult(e *experiment) *result {
	return &result{
		Experiment: e.name, Asks: e.asks, Seeds: e.seeds, Date: time.Now().UTC().Format(time.DateOnly),
		Command: fmt.Sprintf("make measure EXPERIMENT=%s ROUNDS=%d", e.name, b.rounds), Rounds: b.rounds,
		Seconds: b.length.Seconds(), Short: b.short, Host: b.host(), Load: loadAverage(),
	}
}

func (b *bench) host() host {
	var u unix.Utsname
	_ = unix.Uname(&u) // never fails
	return host{
		Cores: runtime.NumCPU(), Kernel: unix.ByteSliceToString(u.Release[:]), FS: fileSystem(b.dir), Go: runtime.Version(),
		Mira:   output(filepath.Join(b.bin, "mira"), "--version"),
		Commit: output("git", "describe", "--always", "--dirty"),
	}
}

// fileSystem names the kind of file system that dir is on.
func fileSystem(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return err.Error()
	}
	names := map[int64]string{0xef53: "ext4", 0x58465342: "xfs", 0x9123683e: "btrfs", 0x01021994: "tmpfs", 0x794c7630: "overlay"}
	if name := names[int64(st.Type)]; name != "" {
		return name
	}
	return fmt.Sprintf("%#x", st.Type)
}

func output(name string, args ...string) string {
	b, err := exec.Command(name, args...).Output()
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

// add takes the rounds of a cell, or why there are none.
func (r *result) add(c *cell, rounds [][]sample, err error) {
	f := finished{Name: c.name, Rounds: rounds, shown: c.shown}
	if err == nil {
		f.Rows, err = c.judge(rounds)
	}
	if err != nil {
		f.Error = err.Error()
	}
	r.Cells = append(r.Cells, f)
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
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, append(b, '\n'), 0o644)
}

// print writes the figures that the cells show.
func (r *result) print(out io.Writer) {
	machine := "quiet"
	if r.Shared {
		machine = "SHARED"
	}
	fmt.Fprintf(out, "\n%s: %s\nseeds: %s\n%d rounds of %.4g s; machine %s: others used %.2f cores, load before %.2f\n\n",
		r.Experiment, r.Asks, r.Seeds, r.Rounds, r.Seconds, machine, r.Others, r.Load)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "cell\tarm\tfigure\tmedian\tlow to high\tratio\tsigns\tgoal")
	for _, f := range r.Cells {
		if f.Error != "" {
			fmt.Fprintf(w, "%s\tNO NUMBERS: %s\n", f.Name, f.Error)
		}
		for _, x := range f.Rows {
			if f.shows(&x) {
				fmt.Fprintf(w, "%s\t%s\n", f.Name, x.text())
			}
		}
	}
	w.Flush()
}

// shows reports whether a row is one for the table; the file has them all.
func (f *finished) shows(x *row) bool {
	for _, s := range f.shown {
		if x.Figure == s || strings.HasPrefix(x.Figure, "stage ") && s == "stage" {
			return true
		}
	}
	return x.Goal != ""
}

func (x *row) text() string {
	ratio, signs, goal := "", "", x.Goal
	if x.Ratio != nil {
		ratio, signs = fmt.Sprintf("%.3f (%.3f to %.3f)", x.Ratio.Median, x.Ratio.Low, x.Ratio.High), x.Ratio.Signs
	}
	switch {
	case x.Missed:
		goal += ", MISSED"
	case goal != "":
		goal += ", reached"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s to %s\t%s\t%s\t%s", x.Arm, x.Figure, number(x.Median), number(x.Low), number(x.High), ratio, signs, goal)
}

// number writes four digits, and no exponent.
func number(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.3f M", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.1f k", v/1e3)
	}
	return fmt.Sprintf("%.4g", v)
}
