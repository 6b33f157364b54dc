package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// idle is an arm that starts a server on an empty directory and leaves it alone.
func idle(b *bench) (sample, error) {
	v, err := b.start(setup{})
	if err != nil {
		return sample{}, err
	}
	defer v.discard()
	out := sample{Figures: map[string]float64{startMillis: float64(v.ready) / 1e6}}
	time.Sleep(time.Second) // what a start leaves to do is not idling
	began, err := processCPU(v.cmd.Process.Pid)
	if err != nil {
		return out, err
	}
	time.Sleep(b.length)
	ended, err := processCPU(v.cmd.Process.Pid)
	if err != nil {
		return out, err
	}
	rss, err := residentBytes(v.cmd.Process.Pid)
	out.Figures[idleShare] = 100 * float64(ended-began) / float64(b.length)
	out.Figures[idleMiB] = float64(rss) / (1 << 20)
	return out, err
}

// replay is an arm that kills a server whose blocks are open and times the next start.
func replay(records string) func(*bench) (sample, error) {
	return func(b *bench) (sample, error) {
		v, err := b.start(setup{flags: strings.Fields("--block-bytes 256MiB --ingest-memory 4GiB --block-age 1h")})
		if err != nil {
			return sample{}, err
		}
		defer v.discard()
		r, err := b.load(v, "--batch 8192 --conns 6 --signals logs,traces,metrics --records "+records, 0)
		if err != nil {
			return sample{}, err
		}
		c, err := v.counters()
		if err != nil {
			return sample{}, err
		}
		v.end(syscall.SIGKILL)
		if err := os.Remove(filepath.Join(v.dir, "mira.addr")); err != nil {
			return sample{}, err
		}
		v.flags = nil
		if err := v.prepare(b); err != nil {
			return sample{}, err
		}
		if err := v.begin(); err != nil {
			return sample{}, err
		}
		out := sample{Corpus: r.Corpus, Refused: r.Refusals, Figures: map[string]float64{}}
		out.Figures[replayed] = c["mira_wal_bytes_total"] / 1e6 / v.ready.Seconds()
		_, err = v.stop()
		return out, err
	}
}

// grow is an arm that loads a server for long and looks at its memory all the while.
func grow(flags string) func(*bench) (sample, error) {
	return func(b *bench) (sample, error) {
		v, err := b.start(setup{})
		if err != nil {
			return sample{}, err
		}
		defer v.discard()
		if _, err := b.warmUp(v, flags); err != nil {
			return sample{}, err
		}
		var r report
		ended := make(chan error)
		go func() {
			var err error
			r, err = b.load(v, flags, b.length)
			ended <- err
		}()
		var seen []float64
		for look := time.Tick(min(time.Second, b.length/10)); err == nil; {
			select {
			case <-look:
				var rss int64
				rss, err = residentBytes(v.cmd.Process.Pid)
				seen = append(seen, float64(rss)/(1<<20))
				continue
			case err = <-ended:
			}
			break
		}
		if err != nil {
			return sample{}, err
		}
		fifth := max(1, len(seen)/5)
		early, late := slices.Max(seen[:fifth]), slices.Max(seen[len(seen)-fifth:])
		return sample{Corpus: r.Corpus, Refused: r.Refusals, Figures: map[string]float64{
			peakMiB: float64(r.Server.PeakRSS) / (1 << 20), recordsPerSec: r.RecordsPerSecond,
			earlyMiB: early, lateMiB: late, lateOverEarly: late / early,
		}}, nil
	}
}
