package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"unicode"

	"mira/api"
	"mira/pipeline"
	"mira/storage"
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
	f.StringVar(&q.start, "start", "-1h", "earliest `time`: RFC 3339, Unix nanoseconds, now or a duration such as -15m; 0 is everything")
	f.StringVar(&q.end, "end", "", "`time` to end before (default now, or no end with --start 0)")
	f.StringVar(&q.filter, "filter", "", "OTTL `condition`, such as 'severity_number >= 17'")
	f.StringVar(&q.limit, "limit", "100", "most `rows` to print, or all")
	f.StringVar(&q.output, "output", "table", "`form`: table, json, ndjson or otlp")
	f.StringVar(&q.order, "order", "desc", "desc or asc by time")
	where := addWhere(f)
	rest, err := parseMixed(f, args)
	if err != nil {
		return flagExit(err)
	}
	if len(rest) != 1 || !slices.Contains([]string{"logs", "spans", "points"}, rest[0]) {
		fmt.Fprintf(stderr, "mira query: want one of logs, spans, points, not %q\n", strings.Join(rest, " "))
		return exitUsage
	}
	q.rows = rest[0]
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

// where says whom to ask.
type where struct{ addr, dir string }

func addWhere(f *flag.FlagSet) *where {
	w := &where{}
	f.StringVar(&w.addr, "addr", "http://localhost:4318", "the server's HTTP `URL`")
	f.StringVar(&w.dir, "data-dir", "", "read this data `directory`, which no server may be using, instead of asking a server; it is opened as a server would: the log is replayed, damage set aside")
	return w
}

// client asks one server.
type client struct {
	http *http.Client
	base string
}

// use calls fn with a client of the server, or of the data directory opened for the time.
func (w *where) use(ctx context.Context, fn func(context.Context, *client) error) (err error) {
	if w.dir == "" {
		return fn(ctx, &client{http.DefaultClient, strings.TrimRight(w.addr, "/")})
	}
	store, err := storage.Open(storage.Options{Dir: w.dir, MustExist: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	p, err := pipeline.Open(pipeline.Options{Store: store}) // replays the log: unpublished records count
	if err != nil {
		return err
	}
	defer p.Close()
	c, stop := inProcess(api.New(api.Options{Source: store}))
	defer stop()
	return fn(ctx, c)
}

// pipes is a net.Listener of connections that never leave the process.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inProcess serves h without a port.
func inProcess(h http.Handler) (c *client, stop func()) {
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h}
	var served sync.WaitGroup
	served.Go(func() { _ = srv.Serve(p) }) // ends with ErrServerClosed
	transport := &http.Transport{DialContext: p.dial}
	return &client{&http.Client{Transport: transport}, "http://mira"}, func() {
		transport.CloseIdleConnections()
		_ = srv.Close() // the pipes hold nothing back
		served.Wait()
	}
}

// get asks for a path of the API. An answer that is no 200 is an error.
func (c *client) get(ctx context.Context, path string, params url.Values, accept string) (*http.Response, error) {
	target := c.base + path
	if len(params) > 0 {
		target += "?" + params.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, usageError{err}
	}
	req.Header.Set("Accept", accept)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return nil, err
	}
	var p struct{ Param, Detail string }
	if json.Unmarshal(body, &p) != nil || p.Detail == "" {
		p.Detail = res.Status
	}
	if p.Param != "" {
		p.Detail = p.Param + ": " + p.Detail
	}
	if res.StatusCode == http.StatusBadRequest {
		return nil, usageError{errors.New(p.Detail)}
	}
	return nil, errors.New(p.Detail)
}

// rowsQuery is one mira query.
type rowsQuery struct {
	rows, start, end, filter, limit, output, order string

	out, errs io.Writer
	header    bool // the table has one
}

// pageRows is what one request asks for.
const pageRows = 10000

func (q *rowsQuery) run(ctx context.Context, c *client) error {
	accept := map[string]string{
		"table": "application/x-ndjson", "ndjson": "application/x-ndjson", "json": "application/json", "otlp": "application/json;otlp",
	}[q.output]
	if accept == "" {
		return usageError{fmt.Errorf("output: %q, want table, json, ndjson or otlp", q.output)}
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
	for asked := left; left > 0; {
		params.Set("limit", strconv.FormatInt(min(left, pageRows), 10))
		next, rows, err := q.page(ctx, c, params, accept)
		if err != nil {
			return err
		}
		left -= rows
		if next == "" || rows == 0 {
			q.hint(asked == left, false)
			break
		}
		q.hint(false, left <= 0)
		params.Set("cursor", next)
	}
	return nil
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
	res, err := c.get(ctx, "/api/v1/"+q.rows, params, accept)
	if err != nil {
		return "", 0, err
	}
	defer res.Body.Close()
	if q.output == "table" {
		err = q.table(res.Body)
	} else {
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

// columns are what a table shows of each kind of row.
var tableColumns = map[string][]string{
	"logs":   {"TIME", "SEVERITY", "SERVICE", "BODY", "ATTRIBUTES"},
	"spans":  {"START", "DURATION", "SERVICE", "NAME", "STATUS", "TRACE", "SPAN"},
	"points": {"TIME", "SERVICE", "METRIC", "VALUE", "UNIT", "ATTRIBUTES"},
}

// table prints rows, of which in has one a line.
func (q *rowsQuery) table(in io.Reader) error {
	t := tabwriter.NewWriter(q.out, 0, 8, 2, ' ', 0)
	if !q.header {
		fmt.Fprintln(t, strings.Join(tableColumns[q.rows], "\t"))
		q.header = true
	}
	err := eachRow(in, func(r row) {
		cells := r.cells(q.rows)
		for i := range cells {
			cells[i] = escape(cells[i])
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	})
	return errors.Join(err, t.Flush())
}

// row is a record as the API shows it.
type row map[string]any

// eachRow decodes NDJSON.
func eachRow(in io.Reader, fn func(row)) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var r row
			d := json.NewDecoder(bytes.NewReader(line))
			d.UseNumber()
			if err := d.Decode(&r); err != nil {
				return fmt.Errorf("row of the answer: %w", err)
			}
			fn(r)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// text shows the value of a key: a string as it is, everything else as JSON.
func (r row) text(key string) string { return plain(r[key]) }

func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (r row) service() string {
	attributes, _ := r["resource.attributes"].(map[string]any)
	return plain(attributes["service.name"])
}

// pairs shows the attributes of the record on one line.
func (r row) pairs() string {
	attributes, _ := r["attributes"].(map[string]any)
	parts := make([]string, 0, len(attributes))
	for k, v := range attributes {
		parts = append(parts, k+"="+plain(v))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

func (r row) cells(rows string) []string {
	switch rows {
	case "logs":
		severity := r.text("severity_text")
		if severity == "" {
			severity = r.text("severity_number")
		}
		return []string{r.text("time"), severity, r.service(), r.text("body"), r.pairs()}
	case "spans":
		return []string{r.text("time"), r.duration(), r.service(), r.text("name"), r.status(), r.text("trace_id"), r.text("span_id")}
	}
	value := r.text("as_int") + r.text("as_double")
	if _, ok := r["count"]; ok {
		value = "count=" + r.text("count") + " sum=" + r.text("sum")
	}
	return []string{r.text("time"), r.service(), r.text("metric.name"), value, r.text("metric.unit"), r.pairs()}
}

func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// escape makes text safe for a terminal: what could command it, break its line or turn its
// direction is shown and not sent.
func escape(text string) string {
	if strings.IndexFunc(text, unsafeRune) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !unsafeRune(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
	}
	return b.String()
}
