package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
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

// printTree prints the spans below their parents, and when each took place.
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
	return newWaterfall(id, spans, screenOf(out)).print(out)
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
