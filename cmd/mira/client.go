package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"mira/api"
	"mira/pipeline"
	"mira/storage"
)

// where says whom to ask.
type where struct {
	addr *string
	dir  string
}

func addWhere(f *flag.FlagSet) *where {
	w := &where{}
	w.addr = addAddr(f)
	f.StringVar(&w.dir, "data-dir", "", "read this data `directory`, which no server may be using, instead of asking a server; it is opened as a server would: the log is replayed, damage set aside")
	return w
}

func addAddr(f *flag.FlagSet) *string {
	return f.String("addr", "http://localhost:4318", "the server's HTTP `address`: host:port or a URL")
}

// baseURL makes a URL of what --addr says.
func baseURL(addr string) string {
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	return strings.TrimRight(addr, "/")
}

// client asks one server.
type client struct {
	http *http.Client
	base string
}

// use calls fn with a client of the server, or of the data directory opened for the time.
func (w *where) use(ctx context.Context, fn func(context.Context, *client) error) (err error) {
	if w.dir == "" {
		return fn(ctx, &client{http.DefaultClient, baseURL(*w.addr)})
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
