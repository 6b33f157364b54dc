package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"mira/pipeline"
	"mira/storage/column"
	"mira/storage/query"
	"mira/storage/signal"
)

const (
	mediaEvents = "text/event-stream"
	// heartbeat is the longest silence of a tail: who hears nothing for longer has lost the server.
	heartbeat = 15 * time.Second
)

// Follower receives what is stored from now on.
type Follower interface {
	// Next waits for rows. missed says how many were lost before them. It fails with ctx's error,
	// and with io.EOF when no more will come.
	Next(ctx context.Context) (tables []*column.Table, missed int, err error)
	Close()
}

// tail answers with the rows of sig that are stored from now on, as server-sent events.
func (s *server) tail(sig signal.Signal) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := accepted(r, mediaEvents); err != nil {
			return err
		}
		v, err := parameters(r, "filter", "columns")
		if err != nil {
			return err
		}
		q := &question{Query: query.Query{Signal: sig, End: query.Forever, Ascending: true}}
		if err := errors.Join(q.filter(v), q.projection(v)); err != nil {
			return err
		}
		if r.Method == http.MethodHead {
			w.Header().Set("Content-Type", mediaEvents)
			return nil
		}
		f, err := s.Follow(sig)
		if err != nil {
			return noTail(err)
		}
		defer f.Close()
		w.Header().Set("Content-Type", mediaEvents)
		w.Header().Set("X-Accel-Buffering", "no") // proxies that gather an answer would show nothing
		t := &tail{ctx: r.Context(), from: f, q: q, to: &answer{w: w, control: http.NewResponseController(w)}}
		t.rows = rowWriter{signal: sig, columns: q.columns, between: "event: row\ndata: ", after: "\n\n", begun: true}
		return t.run()
	}
}

// noTail is the problem of a Follower that could not be had.
func noTail(err error) error {
	switch {
	case errors.Is(err, pipeline.ErrBusy):
		return &problem{Status: http.StatusServiceUnavailable, Code: "too_many_tails", Detail: err.Error()}
	case errors.Is(err, pipeline.ErrUnavailable):
		return &problem{Status: http.StatusServiceUnavailable, Code: "draining", Detail: err.Error()}
	}
	return err
}

// tail is rows on their way to somebody who listens.
type tail struct {
	ctx  context.Context
	from Follower
	q    *question
	rows rowWriter
	to   *answer
}

// run sends until the client goes, or no more rows will come.
func (t *tail) run() error {
	t.to.buf = append(t.to.buf, "retry: 2000\nevent: ready\ndata: {}\n\n"...)
	for {
		if err := t.flush(); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.ctx, heartbeat)
		tables, missed, err := t.from.Next(ctx)
		cancel()
		switch {
		case t.ctx.Err() != nil || errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, context.DeadlineExceeded):
			t.to.buf = append(t.to.buf, ":\n\n"...)
			continue
		case err != nil:
			return begun{err}
		}
		if missed > 0 {
			t.to.buf = append(t.to.buf, "event: dropped\ndata: {\"rows\":"...)
			t.to.buf = append(strconv.AppendInt(t.to.buf, int64(missed), 10), "}\n\n"...)
		}
		for _, table := range tables {
			if err := t.show(table); err != nil {
				return err
			}
		}
	}
}

// show sends the rows of a table that the filter accepts.
func (t *tail) show(table *column.Table) error {
	chunks, err := query.OfTable(t.ctx, table, t.q.Query)
	if t.ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return begun{err}
	}
	for _, c := range chunks {
		if t.to.buf = t.rows.append(t.to.buf, c); len(t.to.buf) < 64<<10 {
			continue
		}
		if err := t.to.write(t.to.buf); err != nil {
			return err
		}
		t.to.buf = t.to.buf[:0]
	}
	return nil
}

// flush sends what is gathered, out of every buffer. The client gets a minute for it.
func (t *tail) flush() error {
	if len(t.to.buf) > 0 {
		if err := t.to.write(t.to.buf); err != nil {
			return err
		}
		t.to.buf = t.to.buf[:0]
	}
	if err := t.to.control.Flush(); err != nil {
		return begun{err}
	}
	return nil
}
