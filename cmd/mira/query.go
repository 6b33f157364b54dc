package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"strconv"
)

// usageError is the user's mistake, found here or by the server.
type usageError struct{ error }

// queryCommand prints records, of a running server or of a data directory that no server uses.
func queryCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("mira query", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintf(stderr, "usage: mira query logs|spans|points [flags]\n")
		f.PrintDefaults()
	}
	q := &rowsQuery{out: stdout, errs: stderr}
	q.waits.on(stderr)
	f.StringVar(&q.start, "start", "-1h", "earliest `time`: RFC 3339, Unix nanoseconds, now or a duration such as -15m; 0 is everything")
	f.StringVar(&q.end, "end", "", "`time` to end before (default now, or no end with --start 0)")
	f.StringVar(&q.filter, "filter", "", "OTTL `condition`, such as 'severity_number >= 17'")
	f.StringVar(&q.limit, "limit", "100", "most `rows` to print, or all")
	f.StringVar(&q.output, "output", "table", "`form`: table, json, ndjson, arrow or otlp")
	f.StringVar(&q.order, "order", "desc", "desc or asc by time")
	where := addWhere(f)
	rest, err := parseMixed(f, args)
	if err != nil {
		return flagExit(err)
	}
	if q.rows, err = rowsNamed(rest); err != nil {
		return finish("mira query", stderr, err)
	}
	return finish("mira query", stderr, where.use(ctx, q.run))
}

// parseMixed parses flags that may stand before and behind the other arguments.
func parseMixed(f *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := f.Parse(args); err != nil {
			return nil, err
		}
		if f.NArg() == 0 {
			return rest, nil
		}
		rest, args = append(rest, f.Arg(0)), f.Args()[1:]
	}
}

// finish reports err and returns the exit code.
func finish(name string, stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "%s: %s\n", name, escape(err.Error()))
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitOf(err)
}

// rowsQuery is one mira query.
type rowsQuery struct {
	rows, start, end, filter, limit, output, order string

	out, errs io.Writer
	table     *table
	waits     waits
}

// pageRows is what one request asks for.
const pageRows = 10000

func (q *rowsQuery) run(ctx context.Context, c *client) error {
	accept := map[string]string{
		"table": "application/x-ndjson", "ndjson": "application/x-ndjson", "json": "application/json", "otlp": "application/json;otlp",
		"arrow": "application/vnd.apache.arrow.stream",
	}[q.output]
	if accept == "" {
		return usageError{fmt.Errorf("output: %q, want table, json, ndjson, arrow or otlp", q.output)}
	}
	left, err := strconv.ParseInt(q.limit, 10, 64)
	if q.limit == "all" {
		left, err = 1<<62, nil
	}
	if err != nil || left < 1 {
		return usageError{fmt.Errorf("limit: %q, want a number from 1, or all", q.limit)}
	}
	params := url.Values{"start": {q.start}, "order": {q.order}}
	for name, v := range map[string]string{"end": q.end, "filter": q.filter} {
		if v != "" {
			params.Set(name, v)
		}
	}
	if q.output == "arrow" {
		return q.stream(ctx, c, params, left)
	}
	for asked := left; left > 0; {
		params.Set("limit", strconv.FormatInt(min(left, pageRows), 10))
		next, rows, err := q.page(ctx, c, params, accept)
		if err != nil {
			return err
		}
		left -= rows
		q.waits.rows += rows
		if next == "" || rows == 0 {
			q.hint(asked == left, false)
			break
		}
		q.hint(false, left <= 0)
		params.Set("cursor", next)
	}
	return nil
}

// stream prints an Arrow stream: one answer, because two streams one behind the other are none.
func (q *rowsQuery) stream(ctx context.Context, c *client, params url.Values, rows int64) error {
	if rows > pageRows && q.limit != "all" {
		return usageError{fmt.Errorf("limit: %q, want at most %d or all with --output arrow", q.limit, pageRows)}
	}
	if isTerminal(q.out) {
		return usageError{errors.New("output: arrow is bytes, not for a terminal: send it to a file or a program")}
	}
	params.Set("limit", q.limit)
	next, _, err := q.page(ctx, c, params, "application/vnd.apache.arrow.stream")
	if next != "" && err == nil {
		fmt.Fprintf(q.errs, "mira query: there are more %s; see --limit\n", q.rows)
	}
	return err
}

// hint tells somebody who reads a table what the table does not show.
func (q *rowsQuery) hint(none, more bool) {
	switch {
	case q.output != "table":
	case none && q.start != "0":
		fmt.Fprintf(q.errs, "mira query: no %s since %s; --start 0 looks at everything\n", q.rows, q.start)
	case more:
		fmt.Fprintf(q.errs, "mira query: %s %s shown, there are more; see --limit\n", q.limit, q.rows)
	}
}

// page prints one page. It returns the cursor of the next one.
func (q *rowsQuery) page(ctx context.Context, c *client, params url.Values, accept string) (next string, rows int64, err error) {
	done := q.waits.begin()
	res, err := c.get(ctx, "/api/v1/"+q.rows, params, accept)
	done()
	if err != nil {
		return "", 0, err
	}
	defer res.Body.Close()
	switch q.output {
	case "table":
		err = q.print(res.Body)
	case "arrow":
		_, err = io.Copy(q.out, res.Body)
	default:
		err = copyLine(q.out, res.Body)
	}
	if err != nil {
		return "", 0, err
	}
	said := res.Header
	if res.Trailer != nil {
		said = res.Trailer
	}
	var stats struct {
		Rows    int64 `json:"rows_returned"`
		Damaged int   `json:"blocks_damaged"`
	}
	if err := json.Unmarshal([]byte(said.Get("Mira-Stats")), &stats); err != nil {
		return "", 0, fmt.Errorf("the answer is not from mira: %w", err)
	}
	if stats.Damaged > 0 {
		fmt.Fprintf(q.errs, "mira query: %d damaged blocks were left out\n", stats.Damaged)
	}
	return said.Get("Mira-Next"), stats.Rows, nil
}

// copyLine copies r and ends it with a newline.
func copyLine(w io.Writer, r io.Reader) error {
	last := lastByte{w: w}
	if _, err := io.Copy(&last, r); err != nil {
		return err
	}
	if last.b != '\n' && last.b != 0 {
		_, err := io.WriteString(w, "\n")
		return err
	}
	return nil
}

type lastByte struct {
	w io.Writer
	b byte
}

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.b = p[len(p)-1]
	}
	return l.w.Write(p)
}

// print adds rows to the table, of which in has one a line.
func (q *rowsQuery) print(in io.Reader) error {
	if q.table == nil {
		q.table = newTable(q.out, tableColumns[q.rows])
	}
	err := eachRow(in, func(r row) { q.table.add(r.cells(q.rows)...) })
	return errors.Join(err, q.table.flush())
}
