package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// traceCommand prints one trace: as a tree of spans, or as OTLP/JSON.
func traceCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("mira trace", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintf(stderr, "usage: mira trace [flags] TRACE_ID\n")
		f.PrintDefaults()
	}
	output := f.String("output", "table", "`form`: table, or otlp for OTLP/JSON")
	where := addWhere(f)
	rest, err := parseMixed(f, args)
	if err != nil {
		return flagExit(err)
	}
	if len(rest) != 1 || *output != "table" && *output != "otlp" {
		fmt.Fprintf(stderr, "mira trace: want one trace id, and --output table or otlp\n")
		return exitUsage
	}
	return finish("mira trace", stderr, where.use(ctx, func(ctx context.Context, c *client) error {
		id := strings.ToLower(rest[0])
		if len(id) == 16 {
			id = strings.Repeat("0", 16) + id // a 64-bit id, which OpenTelemetry pads
		}
		if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
			return usageError{fmt.Errorf("%q is no trace id: 32 hexadecimal digits are wanted", rest[0])}
		}
		if *output == "otlp" {
			return printTrace(ctx, c, id, stdout)
		}
		return printTree(ctx, c, id, stdout)
	}))
}

func printTrace(ctx context.Context, c *client, id string, out io.Writer) error {
	res, err := c.get(ctx, "/api/v1/traces/"+id, nil, "application/json")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return copyLine(out, res.Body)
}

// printTree prints the spans below their parents.
func printTree(ctx context.Context, c *client, id string, out io.Writer) error {
	params := url.Values{
		"start": {"0"}, "order": {"asc"}, "limit": {"all"},
		"filter": {fmt.Sprintf("trace_id == TraceID(0x%s)", id)},
	}
	res, err := c.get(ctx, "/api/v1/spans", params, "application/x-ndjson")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var spans []row
	if err := eachRow(res.Body, func(r row) { spans = append(spans, r) }); err != nil {
		return err
	}
	if len(spans) == 0 {
		return fmt.Errorf("no span of trace %s is stored", id)
	}
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "START\tDURATION\tSERVICE\tSPAN\tSTATUS")
	for _, s := range inTree(spans) {
		name := strings.Repeat("  ", s.depth) + escape(s.text("name"))
		fmt.Fprintln(t, strings.Join([]string{s.text("time"), s.duration(), escape(s.service()), name, s.status()}, "\t"))
	}
	return t.Flush()
}

// leaf is a span and how deep it is.
type leaf struct {
	row
	depth int
}

// inTree orders spans so that each stands behind its parent. Spans without one here come first,
// and a circle of parents is cut at its earliest span. A span sent twice is shown twice.
func inTree(spans []row) []leaf {
	below := map[string][]row{}
	known := map[string]bool{}
	for _, s := range spans {
		known[s.text("span_id")] = true
	}
	var roots []row
	for _, s := range spans {
		if parent := s.text("parent_span_id"); parent != "" && known[parent] && parent != s.text("span_id") {
			below[parent] = append(below[parent], s)
		} else {
			roots = append(roots, s)
		}
	}
	var out []leaf
	var walk func(s row, depth int)
	walk = func(s row, depth int) {
		out = append(out, leaf{s, depth})
		children := below[s.text("span_id")]
		delete(below, s.text("span_id"))
		for _, child := range children {
			walk(child, depth+1)
		}
	}
	for _, s := range roots {
		walk(s, 0)
	}
	for len(below) > 0 { // only circles are left
		var rest []row
		for _, children := range below {
			rest = append(rest, children...)
		}
		first := slices.MinFunc(rest, func(a, b row) int {
			return cmp.Or(cmp.Compare(a.text("time"), b.text("time")), cmp.Compare(a.text("span_id"), b.text("span_id")))
		})
		parent := first.text("parent_span_id")
		below[parent] = slices.DeleteFunc(below[parent], func(r row) bool { return r.text("span_id") == first.text("span_id") })
		if len(below[parent]) == 0 {
			delete(below, parent)
		}
		walk(first, 0)
	}
	return out
}

// duration shows how long a span took, "" when one of its ends is unknown.
func (r row) duration() string {
	from, err1 := strconv.ParseUint(r.text("start_time_unix_nano"), 10, 64)
	to, err2 := strconv.ParseUint(r.text("end_time_unix_nano"), 10, 64)
	if err1 != nil || err2 != nil || from == 0 || to == 0 {
		return ""
	}
	return time.Duration(to - from).String()
}

// status shows a span's status code by name.
func (r row) status() string {
	switch code := r.text("status.code"); code {
	case "0", "":
		return ""
	case "1":
		return "ok"
	case "2":
		return strings.TrimSpace("error " + escape(r.text("status.message")))
	default:
		return code
	}
}
