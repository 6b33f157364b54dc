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
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// tailSilence is how long a server may say nothing: it sends something every 15 seconds.
	tailSilence = 45 * time.Second
	// The pauses before a lost server is asked again: the first, and the longest.
	tailPause, tailPauseMax = 500 * time.Millisecond, 10 * time.Second
	// tailLine bounds a line of the answer: one row.
	tailLine = 256 << 20
)

// tailCommand prints records as they are stored, until it is interrupted.
func tailCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("mira tail", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintf(stderr, "usage: mira tail logs|spans|points [flags]\n")
		f.PrintDefaults()
	}
	t := &tail{out: stdout, errs: stderr, silence: tailSilence, pause: pauseFor}
	f.StringVar(&t.filter, "filter", "", "OTTL `condition`, such as 'severity_number >= 17'")
	f.StringVar(&t.output, "output", "table", "`form`: table or ndjson")
	addr := addAddr(f)
	rest, err := parseMixed(f, args)
	if err != nil {
		return flagExit(err)
	}
	if t.rows, err = rowsNamed(rest); err == nil && t.output != "table" && t.output != "ndjson" {
		err = usageError{fmt.Errorf("output: %q, want table or ndjson", t.output)}
	}
	if err != nil {
		return finish("mira tail", stderr, err)
	}
	err = t.follow(ctx, &client{http.DefaultClient, baseURL(*addr)})
	if ctx.Err() != nil {
		err = nil // interrupted: that is how a tail ends
	}
	return finish("mira tail", stderr, err)
}

// tail is one mira tail.
type tail struct {
	rows, filter, output string

	out, errs io.Writer
	silence   time.Duration
	pause     func(ctx context.Context, d time.Duration)
	table     *table
}

// pauseFor waits for d, or until ctx ends.
func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// follow prints what comes, and asks again when the server is lost. Only a server that was never
// there, and one that refuses the question, end it.
func (t *tail) follow(ctx context.Context, c *client) error {
	ever, pause := false, tailPause
	for {
		ready, err := t.listen(ctx, c, ever)
		var usage usageError
		if ctx.Err() != nil || errors.As(err, &usage) || !ready && !ever {
			return err
		}
		if ready {
			ever, pause = true, tailPause
		}
		fmt.Fprintf(t.errs, "mira tail: %s; trying again in %s\n", escape(reason(err)), pause)
		t.pause(ctx, pause)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		pause = min(2*pause, tailPauseMax)
	}
}

func reason(err error) string {
	if err == nil {
		return "the server ended the tail"
	}
	return err.Error()
}

// listen prints the events of one answer until it ends. ready says that it began.
func (t *tail) listen(ctx context.Context, c *client, again bool) (ready bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(t.silence, func() { cancel(fmt.Errorf("nothing heard for %s", t.silence)) })
	defer silent.Stop()
	params := url.Values{}
	if t.filter != "" {
		params.Set("filter", t.filter)
	}
	res, err := c.get(ctx, "/api/v1/"+t.rows+"/tail", params, "text/event-stream")
	if err != nil {
		return false, causeOf(ctx, err)
	}
	defer res.Body.Close()
	err = eachEvent(res.Body, func() { silent.Reset(t.silence) }, func(name string, data []byte) error {
		if name == "ready" {
			ready = true
			if again {
				fmt.Fprintln(t.errs, "mira tail: connected again; what was stored in between is not shown")
			}
			return nil
		}
		return t.event(name, data)
	})
	return ready, causeOf(ctx, err)
}

// causeOf returns why ctx ended, if that is what err is about.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

func (t *tail) event(name string, data []byte) error {
	switch name {
	case "dropped":
		var d struct{ Rows int64 }
		if err := json.Unmarshal(data, &d); err != nil {
			return fmt.Errorf("event of the answer: %w", err)
		}
		fmt.Fprintf(t.errs, "mira tail: %d rows were dropped before they were looked at: more is stored than is read here\n", d.Rows)
	case "row":
		if t.output == "ndjson" {
			_, err := t.out.Write(append(data, '\n'))
			return err
		}
		r, err := parseRow(data)
		if err != nil {
			return err
		}
		if t.table == nil {
			t.table = newTable(t.out, tableColumns[t.rows])
		}
		t.table.add(r.cells(t.rows)...)
		return t.table.flush()
	}
	return nil // an event of a later version
}

// eachEvent calls fn with every server-sent event of in, and heard with every line.
func eachEvent(in io.Reader, heard func(), fn func(name string, data []byte) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, tailLine)
	name, data := "", []byte(nil)
	for lines.Scan() {
		heard()
		field, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			data = append(data, value...)
		case "":
			if len(lines.Bytes()) > 0 {
				continue // a comment
			}
			if name != "" {
				if err := fn(name, data); err != nil {
					return err
				}
			}
			name, data = "", data[:0]
		}
	}
	return lines.Err()
}

// rowsNamed returns what the API calls the rows that the arguments name.
func rowsNamed(args []string) (string, error) {
	if len(args) == 1 {
		switch args[0] {
		case "logs", "spans", "points":
			return args[0], nil
		case "traces":
			return "spans", nil
		case "metrics":
			return "points", nil
		}
	}
	return "", usageError{fmt.Errorf("want one of logs, spans, points, not %q", strings.Join(args, " "))}
}
