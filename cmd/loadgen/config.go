package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"mira/cmd/internal/corpus"
)

// config is what the flags say.
type config struct {
	length      time.Duration
	records     int64
	batch       int
	conns       int
	protocol    string
	target      string
	signals     []signal
	shape       corpus.Shape
	compression string
	rate        float64
	durability  string
	seed        uint64
	timeout     time.Duration
	retries     int

	verify  bool
	api     string
	ledger  string
	pid     int
	dataDir string
	json    bool
	emit    string
	send    bool // false: only verify what the ledger says
}

// maxBatch bounds --batch, and what a ledger may say.
const maxBatch = 1 << 20

// errUsage marks an error as the caller's, exit code 2. It has been printed.
var errUsage = errors.New("usage")

// errHelp is errUsage's polite sister: help was asked for, exit code 0.
var errHelp = flag.ErrHelp

// parseConfig reads the flags. What is wrong with them is written to stderr.
func parseConfig(args []string, stderr io.Writer) (*config, error) {
	var c config
	f := flag.NewFlagSet("loadgen", flag.ContinueOnError)
	f.SetOutput(stderr)
	names := c.define(f)
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, errHelp
		}
		return nil, errUsage // the flag package has printed it
	}
	if err := c.settle(f, names); err != nil {
		fmt.Fprintf(stderr, "loadgen: %v\n", err)
		return nil, errUsage
	}
	return &c, nil
}

// spelled holds the flags whose value is a word from a list.
type spelled struct{ signals, shape string }

func (c *config) define(f *flag.FlagSet) *spelled {
	var s spelled
	f.DurationVar(&c.length, "for", 20*time.Second, "how long to send")
	f.Int64Var(&c.records, "records", 0, "stop after this many `records` (0: by time alone)")
	f.IntVar(&c.batch, "batch", 8192, "records per Export")
	f.IntVar(&c.conns, "conns", 4, "connections; each has at most one Export in flight")
	f.StringVar(&c.protocol, "protocol", "grpc", "grpc or http")
	f.StringVar(&c.target, "target", "", "host:port (default localhost:4317 for grpc, localhost:4318 for http)")
	f.StringVar(&s.signals, "signals", "logs", "comma-separated: logs, traces, metrics; Exports take turns")
	f.StringVar(&s.shape, "shape", "lean", "lean (about 140 bytes a record) or rich (about 500)")
	f.StringVar(&c.compression, "compression", "none", "none, gzip or zstd; done while the clock runs, and part of loadgen's CPU")
	f.Float64Var(&c.rate, "rate", 0, "open loop: `records` per second over all connections, latency from the intended send time (0: closed loop)")
	f.StringVar(&c.durability, "durability", "", "ask for a tier: sync, batched or buffered (default: the server's)")
	f.Uint64Var(&c.seed, "seed", 1, "of everything drawn at random")
	f.DurationVar(&c.timeout, "timeout", 30*time.Second, "of one attempt")
	f.IntVar(&c.retries, "retries", 8, "further attempts after a retryable refusal")
	f.BoolVar(&c.verify, "verify", false, "read everything back and prove stored = acknowledged")
	f.StringVar(&c.api, "api", "http://localhost:4318", "`URL` of the query API, for --verify")
	f.StringVar(&c.ledger, "ledger", "", "append what was sent and acknowledged to this `file`; with --verify and neither --for nor --records, only verify it")
	f.IntVar(&c.pid, "pid", 0, "of the server, to report its CPU and memory")
	f.StringVar(&c.dataDir, "data-dir", "", "of the server, to report its bytes on disk")
	f.BoolVar(&c.json, "json", false, "print the report as one JSON document")
	f.StringVar(&c.emit, "emit", "", "write the JSON document to this `file` too")
	return &s
}

// settle turns words into values and holds all values against their bounds.
func (c *config) settle(f *flag.FlagSet, s *spelled) error {
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if err := c.settleWords(s); err != nil {
		return err
	}
	if c.target == "" {
		c.target = map[string]string{"grpc": "localhost:4317", "http": "localhost:4318"}[c.protocol]
	}
	if !strings.Contains(c.api, "://") {
		c.api = "http://" + c.api
	}
	if u, err := url.Parse(c.api); err != nil || u.Host == "" {
		return fmt.Errorf("--api %q: not a URL", c.api)
	}
	c.send = true
	if c.verify && c.ledger != "" {
		c.send = given(f, "for") || given(f, "records")
	}
	if c.records > 0 && !given(f, "for") {
		c.length = 1 << 62 // by records alone
	}
	if c.records > 0 && c.records < int64(c.batch) {
		c.batch = int(c.records)
	}
	return c.bounds()
}

func (c *config) settleWords(s *spelled) error {
	words := []struct {
		flag, value string
		allowed     []string
	}{
		{"protocol", c.protocol, []string{"grpc", "http"}},
		{"shape", s.shape, []string{"lean", "rich"}},
		{"compression", c.compression, []string{"none", "gzip", "zstd"}},
		{"durability", c.durability, []string{"", "sync", "batched", "buffered"}},
	}
	for _, w := range words {
		if !slices.Contains(w.allowed, w.value) {
			return fmt.Errorf("--%s %q: want one of %s", w.flag, w.value, strings.TrimLeft(strings.Join(w.allowed, ", "), ", "))
		}
	}
	if s.shape == "rich" {
		c.shape = corpus.Rich
	}
	for name := range strings.SplitSeq(s.signals, ",") {
		sig, ok := parseSignal(strings.TrimSpace(name))
		if !ok || slices.Contains(c.signals, sig) {
			return fmt.Errorf("--signals %q: want logs, traces, metrics, each once", s.signals)
		}
		c.signals = append(c.signals, sig)
	}
	return nil
}

func (c *config) bounds() error {
	for _, b := range []struct {
		flag string
		ok   bool
		want string
	}{
		{"for", c.length > 0, "more than 0"},
		{"records", c.records >= 0, "0 or more"},
		{"batch", c.batch > 0 && c.batch <= maxBatch, "1 to 1048576"},
		{"conns", c.conns > 0 && c.conns <= 10_000, "1 to 10000"},
		{"rate", c.rate >= 0, "0 or more"},
		{"timeout", c.timeout > 0, "more than 0"},
		{"retries", c.retries >= 0 && c.retries < 1000, "0 to 999"},
		{"pid", c.pid >= 0, "a process id"},
	} {
		if !b.ok {
			return fmt.Errorf("--%s: want %s", b.flag, b.want)
		}
	}
	return nil
}

// leftover is how many records remain for a last, smaller Export.
func (c *config) leftover() int { return int(c.records % int64(c.batch)) }

func given(f *flag.FlagSet, name string) bool {
	found := false
	f.Visit(func(x *flag.Flag) { found = found || x.Name == name })
	return found
}

// corpusOptions say what a run of that name sends.
func (c *config) corpusOptions(run string) corpus.Options {
	return corpus.Options{Signals: c.signals, Shape: c.shape, Batch: c.batch, Leftover: c.leftover(), Seed: c.seed, Run: run}
}
