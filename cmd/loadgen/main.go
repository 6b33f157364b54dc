package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	ossignal "os/signal"
	"runtime/debug"
	"time"

	"mira/cmd/internal/corpus"
)

func main() {
	// Requests are few, large and reused; what is left to collect is small.
	debug.SetGCPercent(400)
	ctx, stop := ossignal.NotifyContext(context.Background(), os.Interrupt)
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the process at once
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the command; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, err := parseConfig(args, stderr)
	switch {
	case errors.Is(err, errHelp):
		return 0
	case err != nil:
		return 2
	}
	r, err := generate(ctx, c)
	if r != nil {
		err = errors.Join(err, publish(c, r, stdout))
	}
	if err != nil {
		fmt.Fprintf(stderr, "loadgen: %v\n", err)
		return 1
	}
	return 0
}

// publish prints the report, and turns what it says into an error where the
// command has failed.
func publish(c *config, r *report, stdout io.Writer) error {
	var err error
	if c.json {
		err = r.json(stdout)
	} else {
		r.text(stdout)
	}
	if c.emit != "" {
		err = errors.Join(err, r.emit(c.emit))
	}
	if c.send && r.Records == 0 {
		err = errors.Join(err, fmt.Errorf("nothing was acknowledged by %s; %s", c.target, r.LastRefusal))
	}
	if r.Verify != nil && !r.Verify.OK {
		err = errors.Join(err, errors.New("what is stored is not what was acknowledged"))
	}
	return err
}

// generate sends, unless there is only a ledger to verify, and verifies.
func generate(ctx context.Context, c *config) (*report, error) {
	p := newProof()
	r := &report{}
	if c.send {
		var err error
		if r, err = load(ctx, c, p); err != nil {
			return r, err
		}
	} else if err := p.read(c.ledger); err != nil {
		return nil, err
	}
	if !c.verify {
		return r, nil
	}
	// Ctrl-C has ended the sending; the proof is still wanted.
	if err := p.readBack(context.WithoutCancel(ctx), c.api); err != nil {
		return r, err
	}
	r.Verify = p.judge()
	return r, nil
}

// read takes the claims from a ledger file.
func (p *proof) read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	if err := readLedger(f, p); err != nil {
		return fmt.Errorf("ledger %s: %w", path, err)
	}
	return nil
}

// load makes one run and leaves its claims in p.
func load(ctx context.Context, c *config, p *proof) (*report, error) {
	run := newRun()
	requests := corpus.New(c.corpusOptions(run))
	book, err := c.openLedger()
	if err != nil {
		return nil, err
	}
	workers, err := newWorkers(c, run, requests, book)
	if err != nil {
		return nil, err
	}
	r := newReport(c, run, requests.Sum())
	m := startMeter(c)
	begin := time.Now()
	ctx, stop := context.WithDeadline(ctx, begin.Add(c.length))
	defer stop()
	feed := newTickets(c, begin)
	for _, w := range workers {
		w.tickets = feed
		defer w.out.close()
	}
	err = work(ctx, workers)
	var sum tally
	for _, w := range workers {
		sum.merge(&w.tally)
		for _, k := range w.claims {
			p.claim(k)
		}
	}
	r.count(&sum, time.Since(begin))
	return r, errors.Join(err, m.stop(r), book.close())
}

func (c *config) openLedger() (*ledger, error) {
	if c.ledger == "" {
		return nil, nil //nolint:nilnil // a nil ledger writes nothing
	}
	return openLedger(c.ledger)
}

func newWorkers(c *config, run string, requests *corpus.Corpus, book *ledger) ([]*worker, error) {
	workers := make([]*worker, c.conns)
	for i := range workers {
		w := &worker{id: i, run: run, salt: corpus.Salt(run, i), config: c, corpus: requests, shelf: newShelf(), ledger: book}
		w.out = newHTTPSender(c, w.shelf)
		if c.protocol == "grpc" {
			g, err := newGRPCSender(c, w.shelf)
			if err != nil {
				return nil, err
			}
			w.out = g
		}
		workers[i] = w
	}
	return workers, nil
}

// newRun names a run. Two runs never share a name, whatever the seed.
func newRun() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// meter takes the readings that a report compares: before and after.
type meter struct {
	config *config
	own    time.Duration
	server time.Duration
	disk   disk
	err    error
}

func startMeter(c *config) *meter {
	m := &meter{config: c, own: ownCPU()}
	if c.pid > 0 {
		m.server, m.err = processCPU(c.pid)
	}
	if c.dataDir != "" {
		var err error
		m.disk, err = measureDisk(c.dataDir)
		m.err = errors.Join(m.err, err)
	}
	return m
}

// stop reads again and fills the report. A reading that fails is an error of
// the run, not of the records sent.
func (m *meter) stop(r *report) error {
	r.CPUSeconds = (ownCPU() - m.own).Seconds()
	return errors.Join(m.err, m.stopServer(r), m.stopDisk(r))
}

func (m *meter) stopServer(r *report) error {
	if m.config.pid == 0 {
		return nil
	}
	cpu, err := processCPU(m.config.pid)
	if err != nil {
		return err
	}
	rss, err := peakRSS(m.config.pid)
	used := (cpu - m.server).Seconds()
	r.Server = &serverUse{PID: m.config.pid, CPUSeconds: used, RecordsPerCPUSecond: ratio(float64(r.Records), used), PeakRSS: rss}
	return err
}

func (m *meter) stopDisk(r *report) error {
	if m.config.dataDir == "" {
		return nil
	}
	d, err := measureDisk(m.config.dataDir)

	u := &diskUse{Blocks: d.blocks - m.disk.blocks, Log: d.log - m.disk.log, All: d.all - m.disk.all}
	u.BytesPerRecord = ratio(float64(u.All-u.Log), float64(r.Records))
	r.Disk = u
	return err
}
