package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// claim is what loadgen knows about the records of one Export.
type claim struct {
	stream
	base    uint64 // the records carry base + offset(0..records-1)
	records int
	min     int // each record is stored at least this often: 1 when acknowledged
	max     int // and at most this often: once for the ack, once for every attempt of unknown end
}

// stream is one worker's Exports of one signal.
type stream struct {
	run    string
	signal signal
	worker int
}

// ledger is a file that outlives loadgen: one line before an attempt is sent,
// one when the Export's fate is known, each a single write.
//
//	sent    <run> <signal> <worker> <base> <records> <attempt>
//	acked   <run> <signal> <worker> <base> <records> <times it may be stored>
//	refused <run> <signal> <worker> <base> <records> <times it may be stored>
//
// What was sent and has no second line was under way when loadgen died: it may
// be stored as often as it was sent. A last line without its newline is such a
// death, too. The file is not synced: it survives the process, not the machine.
type ledger struct{ file *os.File }

func openLedger(path string) (*ledger, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return &ledger{f}, nil
}

// sent notes that an attempt is about to be made.
func (l *ledger) sent(c claim, attempt int) error { return l.line("sent", c, attempt) }

// settled notes how an Export ended.
func (l *ledger) settled(c claim) error {
	if c.min > 0 {
		return l.line("acked", c, c.max)
	}
	return l.line("refused", c, c.max)
}

func (l *ledger) line(what string, c claim, n int) error {
	if l == nil {
		return nil
	}
	_, err := fmt.Fprintf(l.file, "%s %s %s %d %d %d %d\n", what, c.run, c.signal, c.worker, c.base, c.records, n)
	return err
}

func (l *ledger) close() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}

// readLedger adds the claims of a ledger to p.
func readLedger(r io.Reader, p *proof) error {
	in := bufio.NewReader(r)
	open := map[stream]claim{} // the Export a worker had under way last
	for n := 1; ; n++ {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break // with half a line or none
		}
		if err != nil {
			return err
		}
		what, c, err := parseLine(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		before, seen := open[c.stream]
		if seen && before.base != c.base {
			p.claim(before)
		}
		if what == "sent" {
			open[c.stream] = c
			continue
		}
		delete(open, c.stream)
		p.claim(c)
	}
	for _, c := range open {
		p.claim(c)
	}
	return nil
}

// parseLine reads one line of a ledger.
func parseLine(line string) (what string, c claim, err error) {
	f := strings.Fields(line)
	if len(f) != 7 {
		return "", c, fmt.Errorf("%d words, want 7: %q", len(f), line)
	}
	var ok bool
	if c.signal, ok = parseSignal(f[2]); !ok {
		return "", c, fmt.Errorf("signal %q", f[2])
	}
	c.run = f[1]
	var errs [4]error
	c.worker, errs[0] = strconv.Atoi(f[3])
	c.base, errs[1] = strconv.ParseUint(f[4], 10, 64)
	c.records, errs[2] = strconv.Atoi(f[5])
	c.max, errs[3] = strconv.Atoi(f[6])
	if err := errors.Join(errs[:]...); err != nil {
		return "", c, err
	}
	if c.records < 1 || c.records > maxBatch {
		return "", c, fmt.Errorf("%d records in one Export", c.records)
	}
	switch f[0] {
	case "acked":
		c.min = 1
	case "sent", "refused":
	default:
		return "", c, fmt.Errorf("%q is no outcome", f[0])
	}
	return f[0], c, nil
}
