package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// events is a server of server-sent events, one text per connection; behind the last it is busy.
func events(t *testing.T, texts ...string) (base string) {
	t.Helper()
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(asked.Add(1))
		if n > len(texts) || texts[n-1] == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, texts[n-1])
	}))
	t.Cleanup(func() { srv.Close(); http.DefaultClient.CloseIdleConnections() })
	return srv.URL
}

const readyEvent = "retry: 1\nevent: ready\ndata: {}\n\n"

func rowEvent(body string) string {
	return fmt.Sprintf("event: row\ndata: {\"time\":\"T\",\"body\":%q}\n\n", body)
}

// tailing runs a tail until it has paused times times, and returns the pauses.
func tailing(t *testing.T, base, output string, times int) (pauses []time.Duration, out, errs string, err error) {
	t.Helper()
	var o, e strings.Builder
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	x := &tail{rows: "logs", output: output, out: &o, errs: &e, silence: time.Minute}
	x.pause = func(_ context.Context, d time.Duration) {
		if pauses = append(pauses, d); len(pauses) == times {
			cancel()
		}
	}
	err = x.follow(ctx, &client{http.DefaultClient, base})
	return pauses, o.String(), e.String(), err
}

func TestTailPrintsRowsAndComesBackToItsServer(t *testing.T) {
	base := events(t, readyEvent+": a comment\n\nevent: later\ndata: {}\n\n"+rowEvent("one")+"event: dropped\ndata: {\"rows\":7}\n\n", "", "", readyEvent+rowEvent("two"), "")
	pauses, out, errs, err := tailing(t, base, "ndjson", 5)
	if !errors.Is(err, context.Canceled) || strings.Count(out, "\n") != 2 || !strings.Contains(out, `"body":"one"`) || !strings.Contains(out, `"body":"two"`) {
		t.Errorf("got %v and %s", err, out)
	}
	if want := "[500ms 1s 2s 500ms 1s]"; fmt.Sprint(pauses) != want {
		t.Errorf("pauses %v, want %s", pauses, want)
	}
	for _, want := range []string{"7 rows were dropped", "the server ended the tail; trying again in 500ms", "connected again"} {
		if !strings.Contains(errs, want) {
			t.Errorf("want %q in %s", want, errs)
		}
	}
}

func TestTailTableHasOneHeaderAndIsEscaped(t *testing.T) {
	base := events(t, readyEvent+rowEvent("one")+"event: row\ndata: {\"body\":\"\\u001b[31mred\"}\n\n")
	_, out, _, _ := tailing(t, base, "table", 1)
	if strings.Count(out, "BODY") != 1 || strings.Count(out, "\n") != 3 || !strings.Contains(out, `\x1b[31mred`) {
		t.Errorf("got %q", out)
	}
}

func TestTailOfNoServerFailsAtOnce(t *testing.T) {
	base := events(t, "")
	if pauses, _, _, err := tailing(t, base, "table", 1); err == nil || len(pauses) > 0 {
		t.Errorf("got %v and pauses %v, want an error and none", err, pauses)
	}
	code, _, errs := command("tail", "logs", "--addr", strings.TrimPrefix(base, "http://"))
	if code != exitFailed || !strings.Contains(errs, "503") {
		t.Errorf("got %d, %q, want %d", code, errs, exitFailed)
	}
}

func TestTailGivesASilentServerUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := inProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, readyEvent)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}))
		defer stop()
		var errs strings.Builder
		ctx, cancel := context.WithCancel(context.Background())
		x := &tail{rows: "logs", out: io.Discard, errs: &errs, silence: tailSilence, pause: func(context.Context, time.Duration) { cancel() }}
		began := time.Now()
		_ = x.follow(ctx, c)
		if took := time.Since(began); took != tailSilence || !strings.Contains(errs.String(), "nothing heard for 45s") {
			t.Errorf("after %s: %s", took, &errs)
		}
	})
}

func TestTailMistakesAreUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"tail", "want one of logs, spans, points"},
		{"tail nothing", "want one of logs, spans, points"},
		{"tail logs --output json", "output"},
		{"tail logs --limit 1", "limit"},
	} {
		if code, _, errs := command(strings.Fields(c.args)...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%s: got %d, %q, want %d and %q", c.args, code, errs, exitUsage, c.want)
		}
	}
}

func TestTailFollowsAServerUntilItDrains(t *testing.T) {
	r := boot(t, t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out, in := io.Pipe()
	var done sync.WaitGroup
	x := &tail{rows: "logs", output: "ndjson", filter: `body == "hello"`, out: in, errs: io.Discard, silence: time.Minute}
	x.pause = func(context.Context, time.Duration) { cancel() } // the server is gone
	done.Go(func() { _ = x.follow(ctx, &client{http.DefaultClient, "http://" + r.addr.HTTP}); in.Close() })
	for r.metric("mira_tails") != "1" {
	}
	r.send(oneLog)
	line := make([]byte, 1<<10)
	n, err := out.Read(line)
	if err != nil || !strings.Contains(string(line[:n]), `"body":"hello"`) {
		t.Errorf("got %q, %v", line[:n], err)
	}
	if code := r.end(); code != exitOK {
		t.Errorf("the server with a tail ended with %d: %s", code, r.log)
	}
	done.Wait()
}
