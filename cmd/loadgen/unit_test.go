package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mira/cmd/internal/corpus"
)

func TestEveryStampIsWhereTheDecoderFindsIt(t *testing.T) {
	for _, sh := range []corpus.Shape{corpus.Lean, corpus.Rich} {
		for s := range faces {
			for _, records := range []int{1, 15, 16, 17, 100, 2000} {
				tp := corpus.Options{Shape: sh, Seed: 1, Run: "0123456789ab"}.Template(signal(s), 5, records)
				body := make([]byte, tp.Len())
				tp.Fill(body, 7, 1e18, 99)
				rows, err := parseRequest(signal(s), body)
				if err != nil || len(rows) != records || tp.Records() != records {
					t.Fatalf("%s %s: %d rows of %d, %v", sh, signal(s), len(rows), records, err)
				}
				for i, r := range rows {
					want := stored{"0123456789ab", "loadgen-00007", fmt.Sprint(1_000_000_000_000_000_000 + uint64(corpus.Offset(i))), r.ids}
					if r != want {
						t.Fatalf("%s %s, record %d: got %v, want %v", sh, signal(s), i, r, want)
					}
				}
			}
		}
	}
}

// slowServer answers every attempt after the same time.
type slowServer struct {
	takes   time.Duration
	mu      sync.Mutex // guards answers
	answers []answer   // what to say before OK
}

func (s *slowServer) send(context.Context, signal, *[]byte) answer {
	<-time.After(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.answers) > 0 {
		a := s.answers[0]
		s.answers = s.answers[1:]
		return a
	}
	return answer{code: "OK", certain: true}
}

func (s *slowServer) close() {}

func newTestWorkers(c *config, n int, out sender) []*worker {
	all := make([]*worker, n)
	feed := newTickets(c, time.Now())
	requests := corpus.New(c.corpusOptions("run"))
	for i := range all {
		all[i] = &worker{id: i, run: "run", config: c, corpus: requests, tickets: feed, shelf: newShelf(), out: out}
	}
	return all
}

func sumOf(workers []*worker) *tally {
	var sum tally
	for _, w := range workers {
		sum.merge(&w.tally)
	}
	return &sum
}

func TestOpenLoopCountsFromTheIntendedSendTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// 10 Exports a second into one connection that takes 150 ms for each:
		// Export k is due at 100k ms, and answered at 150(k+1) ms.
		c := &config{batch: 10, rate: 100, records: 100, signals: []signal{logs}, timeout: time.Minute}
		w := newTestWorkers(c, 1, &slowServer{takes: 150 * time.Millisecond})
		if err := work(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		l := &sumOf(w).latency
		if l.total != 10 || l.max != 600*time.Millisecond || l.sum != 3750*time.Millisecond {
			t.Errorf("%d acks, the slowest after %v, %v in all; want 10, 600ms, 3.75s", l.total, l.max, l.sum)
		}
	})
}

func TestOpenLoopKeepsItsRateWhenTheServerKeepsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &config{batch: 10, rate: 100, signals: []signal{logs}, timeout: time.Minute}
		w := newTestWorkers(c, 4, &slowServer{takes: 150 * time.Millisecond})
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second-time.Nanosecond)
		defer stop()
		if err := work(ctx, w); err != nil {
			t.Fatal(err)
		}
		if sum := sumOf(w); sum.acked != 1000 || sum.latency.max != 150*time.Millisecond {
			t.Errorf("%d records, the slowest after %v; want 1000, 150ms", sum.acked, sum.latency.max)
		}
	})
}

func TestRetriesWaitAsTheServerAsksAndCountInTheLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &config{batch: 10, records: 10, signals: []signal{logs}, timeout: time.Minute, retries: 3}
		busy := answer{code: "UNAVAILABLE", retry: true, certain: true, after: 2 * time.Second}
		w := newTestWorkers(c, 1, &slowServer{takes: time.Millisecond, answers: []answer{busy, busy}})
		if err := work(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		sum := sumOf(w)
		if sum.latency.max != 4003*time.Millisecond || sum.retries != 2 || sum.refusals["UNAVAILABLE"] != 2 {
			t.Errorf("acked after %v with %d retries, refusals %v", sum.latency.max, sum.retries, sum.refusals)
		}
	})
}

func TestRetriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &config{batch: 10, records: 10, signals: []signal{logs}, timeout: time.Minute, retries: 3, verify: true}
		gone := answer{code: "UNAVAILABLE", retry: true}
		w := newTestWorkers(c, 1, &slowServer{answers: []answer{gone, gone, gone, gone, gone}})
		if err := work(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		if sum := sumOf(w); sum.unknown != 10 || sum.refusals["UNAVAILABLE"] != 4 || w[0].claims[0].max != 4 || w[0].claims[0].min != 0 {
			t.Errorf("%+v, claims %+v", sum.refusals, w[0].claims)
		}
	})
}

func TestLedgerRemembersWhatWasUnderWay(t *testing.T) {
	p := newProof()
	err := readLedger(strings.NewReader(
		"sent r logs 0 1000000 2 1\nacked r logs 0 1000000 2 1\n"+ // settled
			"sent r logs 0 2000000 2 1\nsent r logs 0 2000000 2 2\n"+ // twice, and no end
			"sent r logs 1 1000000 2 1\nrefused r logs 1 1000000 2 0\n"+
			"sent r logs 1 3000000 2 1\n"+
			"acked r logs 1 30000"), p) // torn
	if err != nil {
		t.Fatal(err)
	}
	see := func(worker int, base uint64, times int) {
		for range times {
			for i := range 2 {
				p.row(stream{"r", logs, worker}, base+uint64(corpus.Offset(i)))
			}
		}
	}
	see(0, 1000000, 1)
	see(0, 2000000, 2)
	see(1, 3000000, 1)
	if v := p.judge(); !v.OK || v.Acked != 2 || v.Unsettled != 6 {
		t.Errorf("%+v", v)
	}
	see(0, 2000000, 1)
	see(1, 1000000, 1)
	p.verdict = verdict{}
	if v := p.judge(); v.OK || v.Doubled != 2 || v.Forbidden != 2 {
		t.Errorf("%+v", v)
	}
}

func TestLedgerNamesTheLineThatIsWrong(t *testing.T) {
	for _, line := range []string{"acked r logs 0 1 1", "lost r logs 0 1 1 1", "acked r log 0 1 1 1", "acked r logs x 1 1 1", "acked r logs 0 1 0 1", "acked r logs 0 1 9999999 1"} {
		err := readLedger(strings.NewReader("acked r logs 0 1000 1 1\n"+line+"\n"), newProof())
		if err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestQuantilesAreWithinTheirBuckets(t *testing.T) {
	var l latencies
	for i := 1; i <= 100_000; i++ {
		l.add(time.Duration(i) * time.Microsecond)
	}
	for q, want := range map[float64]time.Duration{0.5: 50 * time.Millisecond, 0.9: 90 * time.Millisecond, 0.99: 99 * time.Millisecond, 0.999: 99_900 * time.Microsecond, 1: 100 * time.Millisecond} {
		if got := l.quantile(q); got < want || float64(got) > float64(want)*1.016 {
			t.Errorf("p%v: got %v, want %v to 1.6 %% above", q*100, got, want)
		}
	}
	for d := time.Duration(1); d < 2*time.Hour; d += d/7 + 1 {
		if b := bucketOf(d); b < latencyBuckets-1 && (bucketEnd(b) < d || bucketOf(bucketEnd(b)) != b) {
			t.Fatalf("%v is in bucket %d, which ends at %v", d, b, bucketEnd(b))
		}
	}
}

func TestFlagsAreHeldAgainstTheirBounds(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"--nonsense", 2, "nonsense"},
		{"--shape fat", 2, "--shape"},
		{"--protocol udp", 2, "--protocol"},
		{"--signals logs,profiles", 2, "--signals"},
		{"--signals logs,logs", 2, "--signals"},
		{"--compression br", 2, "--compression"},
		{"--durability maybe", 2, "--durability"},
		{"--batch 0", 2, "--batch"},
		{"--conns 0", 2, "--conns"},
		{"--for -1s", 2, "--for"},
		{"--for x", 2, "for"},
		{"--api ://", 2, "--api"},
		{"extra", 2, "extra"},
		{"--help", 0, "--verify"},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), strings.Fields(c.args), &out, &errs); code != c.code || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%s: exit %d, %q", c.args, code, errs.String())
		}
	}
}

func TestRowsThatAreNotJSONAreNotRead(t *testing.T) {
	for _, line := range []string{
		`{"loadgen.run"`, `{"resource":{"attributes":{"loadgen.run":"r"`, `{"loadgen.run":}`, `[1]`, `{"a":[1,2}`, `{"a":"b\`,
	} {
		if _, err := parseRow([]byte(line), "time_unix_nano"); err == nil {
			t.Errorf("%s: no error", line)
		}
	}
	r, err := parseRow([]byte(` {"time_unix_nano": "5", "x": [1, {"a": "\"}"}], "resource.attributes": {"loadgen.run": "r", "service.instance.id" : "i"}} `), "time_unix_nano")
	if err != nil || string(r.time) != "5" || string(r.run) != "r" || string(r.instance) != "i" {
		t.Errorf("got %s, %v", r, err)
	}
}

func TestStatIsReadBehindAnyName(t *testing.T) {
	got, err := parseStat("12 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20")
	if err != nil || got != 3*time.Second {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := parseStat("12 (a) S 1"); err == nil {
		t.Error("a short line passed")
	}
}
