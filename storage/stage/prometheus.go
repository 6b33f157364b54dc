package stage

import (
	"fmt"
	"io"
	"strconv"
)

// The bounds of the metrics' buckets are powers of two, where a Counts is exact: of four from a
// microsecond to a quarter of a minute, from a KiB to a GiB, and of two for frames.
var (
	timeBounds  = powers(10, 34, 2)
	byteBounds  = powers(10, 30, 2)
	frameBounds = powers(0, 9, 1)
)

func powers(from, to, by int) (list []uint64) {
	for e := from; e <= to; e += by {
		list = append(list, 1<<e)
	}
	return list
}

// WritePrometheus writes the stages and the groups as Prometheus histograms.
func (s *Snapshot) WritePrometheus(w io.Writer) {
	fmt.Fprint(w, "# TYPE mira_stage_seconds histogram\n")
	for i := range s.Stages {
		s.Stages[i].write(w, "mira_stage_seconds", fmt.Sprintf("stage=%q", Stage(i)), timeBounds, 1e9)
	}
	fmt.Fprint(w, "# TYPE mira_log_group_frames histogram\n")
	s.GroupFrames.write(w, "mira_log_group_frames", "", frameBounds, 1)
	fmt.Fprint(w, "# TYPE mira_log_group_bytes histogram\n")
	s.GroupBytes.write(w, "mira_log_group_bytes", "", byteBounds, 1)
}

// WriteSeconds writes a histogram of nanoseconds as a Prometheus histogram of that name.
func (c *Counts) WriteSeconds(w io.Writer, name string) {
	fmt.Fprintf(w, "# TYPE %s histogram\n", name)
	c.write(w, name, "", timeBounds, 1e9)
}

// write writes the lines of one histogram; unit is how many of its values make one of the metric's.
func (c *Counts) write(w io.Writer, name, label string, bounds []uint64, unit float64) {
	comma, braces := "", ""
	if label != "" {
		comma, braces = ",", "{"+label+"}"
	}
	for _, b := range bounds {
		le := strconv.FormatFloat(float64(b)/unit, 'g', -1, 64)
		fmt.Fprintf(w, "%s_bucket{%s%sle=%q} %d\n", name, label, comma, le, c.AtMost(b))
	}
	n := c.Count()
	fmt.Fprintf(w, "%s_bucket{%s%sle=\"+Inf\"} %d\n", name, label, comma, n)
	fmt.Fprintf(w, "%s_sum%s %g\n", name, braces, float64(c.Sum)/unit)
	fmt.Fprintf(w, "%s_count%s %d\n", name, braces, n)
}
