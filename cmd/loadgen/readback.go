package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// maxRow bounds one row of an answer. Other people's rows may be large.
const maxRow = 256 << 20

// identity is the columns, beside the time, that tell whose a record is. Asking
// for no more makes reading millions of rows back a matter of seconds.
const identity = ",resource.attributes.loadgen.run,resource.attributes.service.instance.id"

// readBack reads every stored record of the claimed signals and counts those of
// the claimed runs. Which rows are ours is decided here, not by the server's
// filter, so that a wrong filter cannot hide a record.
func (p *proof) readBack(ctx context.Context, api string) error {
	for _, s := range p.signals() {
		if err := p.readSignal(ctx, api, s); err != nil {
			return fmt.Errorf("read %s back: %w", s, err)
		}
	}
	return nil
}

func (p *proof) readSignal(ctx context.Context, api string, s signal) error {
	url := strings.TrimRight(api, "/") + faces[s].rows + "?start=0&limit=all&columns=" + faces[s].time + identity
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/x-ndjson")
	connection := &http.Transport{}
	defer connection.CloseIdleConnections()
	resp, err := connection.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return fmt.Errorf("%s: %s: %s", url, resp.Status, b)
	}
	in := bufio.NewScanner(resp.Body)
	in.Buffer(make([]byte, 1<<20), maxRow)
	for in.Scan() {
		if err := p.readRow(s, in.Bytes()); err != nil {
			return fmt.Errorf("row %.300q: %w", in.Bytes(), err)
		}
	}
	return in.Err() // an answer that breaks off ends here, as an unexpected EOF
}

func (p *proof) readRow(s signal, line []byte) error {
	p.verdict.Rows++
	if !bytes.Contains(line, []byte(`"loadgen.run"`)) {
		return nil
	}
	r, err := parseRow(line, faces[s].time)
	if err != nil {
		return err
	}
	if !p.runs[string(r.run)] {
		return nil
	}
	worker, err := strconv.Atoi(strings.TrimPrefix(string(r.instance), "loadgen-"))
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	at, err := strconv.ParseUint(string(r.time), 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %w", faces[s].time, err)
	}
	p.row(stream{string(r.run), s, worker}, at)
	return nil
}

// row is what of an answer's row identifies a record.
type row struct{ run, instance, time []byte }

// parseRow takes the identity out of a row without building the rest of it:
// rows come by the million.
func parseRow(line []byte, timeKey string) (r row, err error) {
	c := cursor{b: line}
	resource := func(key []byte) {
		if string(key) != "attributes" {
			c.skip()
			return
		}
		c.object(r.attribute(&c))
	}
	c.object(func(key []byte) {
		switch string(key) {
		case timeKey:
			r.time = c.scalar()
		case "resource":
			c.object(resource)
		case "resource.attributes":
			c.object(r.attribute(&c))
		default:
			c.skip()
		}
	})
	if c.bad {
		return r, fmt.Errorf("not JSON near byte %d", c.i)
	}
	return r, nil
}

func (r *row) attribute(c *cursor) func(key []byte) {
	return func(key []byte) {
		switch string(key) {
		case "loadgen.run":
			r.run = c.scalar()
		case "service.instance.id":
			r.instance = c.scalar()
		default:
			c.skip()
		}
	}
}

// cursor walks JSON text. After a mistake it is bad and stays at the end.
type cursor struct {
	b   []byte
	i   int
	bad bool
}

// peek returns the next byte that is not white space, 0 at the end.
func (c *cursor) peek() byte {
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case ' ', '\t', '\r', '\n':
			c.i++
		default:
			return c.b[c.i]
		}
	}
	return 0
}

func (c *cursor) take(want byte) bool {
	if c.peek() != want {
		return false
	}
	c.i++
	return true
}

func (c *cursor) fail() {
	c.bad = true
	c.b = c.b[:min(c.i, len(c.b))]
}

// object calls each for every key; each consumes the value.
func (c *cursor) object(each func(key []byte)) {
	if !c.take('{') {
		c.fail()
		return
	}
	if c.take('}') {
		return
	}
	for !c.bad {
		key := c.string()
		if !c.take(':') {
			c.fail()
			return
		}
		each(key)
		if c.take('}') {
			return
		}
		if !c.take(',') {
			c.fail()
		}
	}
}

// scalar returns a string's content, or the text of a number, true, false or null.
func (c *cursor) scalar() []byte {
	if c.peek() == '"' {
		return c.string()
	}
	start := c.i
	c.skip()
	return c.b[start:c.i]
}

// string returns a string's bytes between the quotes, escapes as they are.
func (c *cursor) string() []byte {
	if !c.take('"') {
		c.fail()
		return nil
	}
	start := c.i
	for {
		n := bytes.IndexAny(c.b[c.i:], `"\`)
		if n < 0 {
			c.i = len(c.b)
			c.fail()
			return nil
		}
		c.i += n + 1
		if c.b[c.i-1] == '"' {
			return c.b[start : c.i-1]
		}
		c.i++ // what is escaped
		if c.i > len(c.b) {
			c.fail()
			return nil
		}
	}
}

// skip passes one value of any kind.
func (c *cursor) skip() {
	switch c.peek() {
	case '{':
		c.object(func([]byte) { c.skip() })
	case '[':
		c.i++
		if c.take(']') {
			return
		}
		for !c.bad {
			c.skip()
			if c.take(']') {
				return
			}
			if !c.take(',') {
				c.fail()
			}
		}
	case '"':
		c.string()
	default:
		start := c.i
		for c.i < len(c.b) && !bytes.ContainsRune([]byte(",}] \t\r\n"), rune(c.b[c.i])) {
			c.i++
		}
		if c.i == start {
			c.fail()
		}
	}
}
