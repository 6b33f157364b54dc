package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mira/pipeline"
	"mira/storage/column"
	"mira/storage/signal"
)

// gift is what a Follower of the tests returns once.
type gift struct {
	tables []*column.Table
	missed int
	err    error
}

// gifts is a Follower that returns what is sent to it.
type gifts struct {
	list   chan gift
	closed chan struct{}
}

func newGifts() *gifts {
	return &gifts{list: make(chan gift, 16), closed: make(chan struct{})}
}

func (g *gifts) Next(ctx context.Context) ([]*column.Table, int, error) {
	select {
	case x := <-g.list:
		return x.tables, x.missed, x.err
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

func (g *gifts) Close() { close(g.closed) }

func following(t *testing.T, f Follower, err error) http.Handler {
	return New(Options{Source: sample(t), Now: func() time.Time { return noon }, Follow: func(signal.Signal) (Follower, error) { return f, err }})
}

// listen opens a tail and returns its lines.
func listen(t *testing.T, h http.Handler, path string) (lines *bufio.Scanner, end func()) {
	t.Helper()
	srv := httptest.NewServer(h)
	res, err := http.Get(srv.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != mediaEvents {
		t.Fatalf("got %s, %s", res.Status, res.Header.Get("Content-Type"))
	}
	return bufio.NewScanner(res.Body), func() {
		res.Body.Close()
		srv.Close()
		http.DefaultClient.CloseIdleConnections()
	}
}

// expect reads lines until one that is not empty, and holds it against want.
func expect(t *testing.T, lines *bufio.Scanner, want string) string {
	t.Helper()
	for lines.Scan() {
		if text := lines.Text(); text != "" {
			if !strings.HasPrefix(text, want) {
				t.Fatalf("got line %q, want %q", text, want)
			}
			return strings.TrimPrefix(text, want)
		}
	}
	t.Fatalf("the answer ended (%v), want %q", lines.Err(), want)
	return ""
}

func TestTailSendsTheRowsThatMatchAndTheirLoss(t *testing.T) {
	g := newGifts()
	lines, end := listen(t, following(t, g, nil), "/api/v1/logs/tail?columns=time,attributes.int,body&filter=severity_number+%3E%3D+17")
	expect(t, lines, "retry: ")
	expect(t, lines, "event: ready")
	expect(t, lines, "data: {}")
	table := sample(t).views[signal.Logs][0].Table
	g.list <- gift{tables: []*column.Table{table, table}, missed: 7}
	expect(t, lines, "event: dropped")
	expect(t, lines, `data: {"rows":7}`)
	for range 2 {
		expect(t, lines, "event: row")
		var r map[string]any
		if err := json.Unmarshal([]byte(expect(t, lines, "data: ")), &r); err != nil {
			t.Fatal(err)
		}
		if r["time"] != "2026-11-30T11:59:00.000000123Z" || r["attributes"].(map[string]any)["int"] == nil || r["severity_text"] != nil {
			t.Errorf("got row %v", r)
		}
	}
	g.list <- gift{err: io.EOF}
	for lines.Scan() {
		if lines.Text() != "" {
			t.Errorf("got %q behind the end", lines.Text())
		}
	}
	if lines.Err() != nil {
		t.Errorf("the end: got %v, want a whole answer", lines.Err())
	}
	end()
	<-g.closed
}

func TestTailEndsWhenItsClientGoes(t *testing.T) {
	g := newGifts()
	lines, end := listen(t, following(t, g, nil), "/api/v1/points/tail")
	expect(t, lines, "retry: ")
	end()
	<-g.closed
}

func TestTailMistakesAreNamed(t *testing.T) {
	for _, c := range []struct {
		path, accept string
		err          error
		status       int
		code, param  string
	}{
		{"logs/tail?start=0", "", nil, 400, "unknown_parameter", "start"},
		{"logs/tail?filter=foo==1", "", nil, 400, "invalid_filter", "filter"},
		{"logs/tail?columns=foo", "", nil, 400, "invalid_parameter", "columns"},
		{"logs/tail", "application/json", nil, 406, "not_acceptable", ""},
		{"traces/tail", "", nil, 400, "invalid_parameter", "trace_id"},
		{"spans/tail", "text/event-stream", fmt.Errorf("%w: 64 follow", pipeline.ErrBusy), 503, "too_many_tails", ""},
		{"spans/tail", "", fmt.Errorf("%w: draining", pipeline.ErrUnavailable), 503, "draining", ""},
	} {
		h := following(t, newGifts(), c.err)
		r := httptest.NewRequest(http.MethodGet, "/api/v1/"+c.path, nil)
		if c.accept != "" {
			r.Header.Set("Accept", c.accept)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var p problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Errorf("%s: %v in %s", c.path, err, w.Body)
		}
		if w.Code != c.status || p.Code != c.code || p.Param != c.param {
			t.Errorf("%s: got %d %+v, want %d %s for %q", c.path, w.Code, p, c.status, c.code, c.param)
		}
	}
	w := httptest.NewRecorder()
	following(t, nil, nil).ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/api/v1/logs/tail", nil))
	if w.Code != 200 || w.Header().Get("Content-Type") != mediaEvents || w.Body.Len() > 0 {
		t.Errorf("HEAD: got %d %v", w.Code, w.Header())
	}
}

// pipeServer serves h over a connection without buffers, of which nobody has read yet.
func pipeServer(h http.Handler) (client net.Conn, stop func()) {
	near, far := net.Pipe()
	l := &oneConn{conns: make(chan net.Conn, 1)}
	l.conns <- far
	srv := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() { _ = srv.Serve(l); close(done) }()
	return near, func() { near.Close(); srv.Close(); <-done }
}

type oneConn struct {
	conns chan net.Conn
	once  sync.Once
}

func (o *oneConn) Accept() (net.Conn, error) {
	if c, ok := <-o.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (o *oneConn) Close() error {
	o.once.Do(func() { close(o.conns) })
	return nil
}

func (o *oneConn) Addr() net.Addr { return &net.UnixAddr{} }

func TestSilentTailHasAHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := pipeServer(following(t, newGifts(), nil))
		fmt.Fprint(c, "GET /api/v1/logs/tail HTTP/1.1\r\nHost: x\r\n\r\n")
		began, beats := time.Now(), 0
		lines := bufio.NewScanner(c)
		for beats < 4 && lines.Scan() {
			if lines.Text() == ":" {
				beats++
			}
		}
		if took := time.Since(began); took != 4*heartbeat {
			t.Errorf("4 heartbeats took %s, want %s", took, 4*heartbeat)
		}
		stop()
	})
}

func TestTailOfAClientThatReadsNothingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGifts()
		c, stop := pipeServer(following(t, g, nil))
		fmt.Fprint(c, "GET /api/v1/logs/tail HTTP/1.1\r\nHost: x\r\n\r\n")
		began := time.Now()
		<-g.closed
		if took := time.Since(began); took != stall {
			t.Errorf("it ended after %s, want %s", took, stall)
		}
		stop()
	})
}
