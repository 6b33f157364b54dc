package doctor

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// width is how long a line of the text may be.
const width = 80

// Text writes the report for people.
func (r *Report) Text(w io.Writer) {
	r.textBox(w)
	r.textCPU(w)
	p := r.Prediction
	limit := map[string]string{
		"cpu":  "CPU; the disk alone " + rate(p.Disk),
		"disk": "disk; the CPU alone " + rate(p.CPU),
	}[p.Limit]
	field(w, "expect", fmt.Sprintf("%s %s logs/s (%s/s), bound by %s", rate(p.Records), r.Shape, size(p.Records*r.CPU.OTLPBytes), limit))
	field(w, "", fmt.Sprintf("acknowledged over one connection in %s (1 record), %s (%d)", p.AckOne, p.AckBatch, p.Batch))
	r.textServer(w)
	for _, s := range r.Warnings {
		field(w, "warning", s)
	}
}

func (r *Report) textBox(w io.Writer) {
	quota := "no CPU quota"
	if r.Box.Quota > 0 {
		quota = fmt.Sprintf("quota of %.3g CPUs", r.Box.Quota)
	}
	field(w, "box", fmt.Sprintf("%d cores, %s, GOMAXPROCS %d, memory %s (ingest %s)",
		r.Box.Cores, quota, r.Box.Procs, size(float64(r.Box.Memory)), size(float64(r.Box.IngestMemory))))
	d := r.Disk
	field(w, "disk", fmt.Sprintf("%s: %s, %s free", d.Dir, d.FileSystem, size(float64(d.Free))))
	for _, m := range []Writes{d.Small, d.Large} {
		fmt.Fprintf(w, "  %8s write + fdatasync     p50 %-8s p99 %s\n", size(float64(m.Bytes)), m.P50, m.P99)
	}
	fmt.Fprintf(w, "  %8s the same, in groups   %s/s\n", size(groupOf*largeWrite), size(d.Bandwidth))
}

func (r *Report) textCPU(w io.Writer) {
	c := r.CPU
	fmt.Fprintf(w, "one core   %s logs of %.0f B, ns of CPU per record:\n", r.Shape, c.OTLPBytes)
	fmt.Fprintf(w, "  check %.0f   columns %.0f   encode + zstd %.0f, to %.1f B\n", c.Check, c.Columns, c.Encode, c.BlockBytes)
	fmt.Fprintf(w, "  with receive %.0f and log %.0f (by constant): %.0f in all\n", c.Receive, c.Log, c.Total)
}

func (r *Report) textServer(w io.Writer) {
	s := r.Server
	switch {
	case s == nil:
		return
	case s.TooOld:
		field(w, "server", s.Addr+" has no /debug/ingest: this mira is too old (or it is no mira)")
		return
	}
	d := s.Ingest
	field(w, "server", fmt.Sprintf("%s, the last %.0f s: %s", s.Addr, d.WindowSeconds, d.Verdict))
	for _, t := range top(d, 3) {
		if t.Share >= 0.005 {
			fmt.Fprintf(w, "  %-11s %-4s %5.0f %%   p50 %-8s p99 %s\n", t.Name, t.Kind, 100*t.Share, Seconds(t.P50), Seconds(t.P99))
		}
	}
	if s.Advice.Setting == "" {
		field(w, "advice", s.Advice.Why)
		return
	}
	field(w, "advice", s.Advice.Setting+": "+s.Advice.Why)
}

// field writes a name and its text, wrapped.
func field(w io.Writer, name, text string) {
	const indent = 11
	line, used := fmt.Sprintf("%-*s", indent, name), indent
	for i, word := range strings.Fields(text) {
		if i > 0 && used+1+len(word) > width {
			fmt.Fprintln(w, line)
			line, used = strings.Repeat(" ", indent), indent
		} else if i > 0 {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+len(word)
	}
	fmt.Fprintln(w, line)
}

// String returns "93 us", "1.24 ms" or "2.5 s".
func (s Seconds) String() string {
	switch {
	case s < 0.001:
		return fmt.Sprintf("%.0f us", float64(s)*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", float64(s)*1e3)
	}
	return fmt.Sprintf("%.3g s", float64(s))
}

// rate returns "1.85 M" or "820 k".
func rate(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.2f M", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.0f k", v/1e3)
	}
	return fmt.Sprintf("%.0f", v)
}

// size returns "70 GiB", "1.25 MiB" or "256 B".
func size(v float64) string {
	for _, u := range []struct {
		name string
		n    float64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if v >= u.n {
			text := strconv.FormatFloat(v/u.n, 'f', max(0, 2-int(math.Log10(v/u.n))), 64)
			if strings.Contains(text, ".") {
				text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
			}
			return text + " " + u.name
		}
	}
	return fmt.Sprintf("%.0f B", v)
}
