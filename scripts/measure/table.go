package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// table writes one table of the figures that the cells show; the files have all of them.
func table(out io.Writer, results []*result) error {
	for _, r := range results {
		machine := "quiet"
		if r.Shared {
			machine = "SHARED"
		}
		fmt.Fprintf(out, "%s: %s\n  before: %s\n  %d rounds of %.4g s; %s machine: others used %.2f cores, load before %.2f\n",
			r.Experiment, r.Asks, r.Seeds, r.Rounds, r.Seconds, machine, r.Others, r.Load)
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "experiment\tcell\tarm\tfigure\tmedian\tlow to high\tratio\tsigns\tgoal")
	for _, r := range results {
		for _, f := range r.Cells {
			f.print(w, r.Experiment)
		}
	}
	return w.Flush()
}

func (f *finished) print(w io.Writer, experiment string) {
	if f.Error != "" {
		fmt.Fprintf(w, "%s\t%s\tNO NUMBERS: %s\n", experiment, f.Name, f.Error)
	}
	for _, x := range f.Rows {
		if f.shows(&x) {
			fmt.Fprintf(w, "%s\t%s\t%s\n", experiment, f.Name, x.text())
		}
	}
}

// shows reports whether a row is one for the table.
func (f *finished) shows(x *row) bool {
	stage := strings.HasPrefix(x.Figure, "stage ") && slices.Contains(f.Shown, "stage")
	return stage || x.Goal != "" || slices.Contains(f.Shown, x.Figure)
}

func (x *row) text() string {
	span, ratio, signs, goal := "", "", "", x.Goal
	if x.Low < x.High {
		span = number(x.Low) + " to " + number(x.High)
	}
	if r := x.Ratio; r != nil {
		ratio, signs = fmt.Sprintf("%.3f", r.Median), r.Signs
		if r.Low < r.High {
			ratio += fmt.Sprintf(" (%.3f to %.3f)", r.Low, r.High)
		}
	}
	switch {
	case x.Missed:
		goal += ", MISSED"
	case goal != "":
		goal += ", reached"
	}
	return strings.Join([]string{x.Arm, x.Figure, number(x.Median), span, ratio, signs, goal}, "\t")
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
