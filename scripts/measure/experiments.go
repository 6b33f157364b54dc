package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
)

// experiment is a question with the cells that answer it.
type experiment struct {
	name   string
	asks   string
	seeds  string // the verdict of the engines before this one, and of the prototypes
	asked  bool   // not part of all: it wants arguments, or much time
	rounds int    // no more than this; 0: as many as wanted
	cells  func(*bench) ([]cell, error)
}

var experiments = []*experiment{
	{
		name: "conn-sweep", cells: connSweep,
		asks:  "what does a connection more bring, from 1 to 96?",
		seeds: "past the plateau connections add waiters, not appends",
	},
	{
		name: "ingest-probe", cells: ingestProbe,
		asks:  "where does the time go at 4, 32 and 96 connections?",
		seeds: "2.23 of twelve cores used, and unable to say why; with the log free, admission was 92 % of a submit",
	},
	{
		name: "ab", cells: ab, asked: true,
		asks:  "which of two binaries or settings is better?",
		seeds: "eight interleaved pairs at least; what does not reproduce is withdrawn",
	},
	{
		name: "wal-split-ab", cells: walSplit,
		asks:  "is one log per signal better than one log?",
		seeds: "buys nothing: three mutexes are free, a second appender is not",
	},
	{
		name: "wal-volume", cells: walVolume,
		asks:  "what would a perfect log be worth?",
		seeds: "with the log free, admission (seal and publish) was 92 % of a submit: measure the flusher too",
	},
	{
		name: "publish-barrier", cells: publishBarrier,
		asks:  "what do the barriers of a published block cost?",
		seeds: "without them ack p50 was 1.65 times better and throughput the same: a matter of latency",
	},
	{
		name: "workers-ab", cells: workers,
		asks:  "how many Ps beyond the cores?",
		seeds: "parked OS threads starve a runtime; prototype: twice the cores +8 % records/s for 1 % CPU",
	},
	{
		name: "tiers", cells: tiers,
		asks:  "what does each tier cost, and what does it share?",
		seeds: "fsync is 89 to 99 % of a durable ack: share it, do not fight it",
	},
	{
		name: "coalesce-ab", cells: coalesce,
		asks:  "does a group gain by waiting for company?",
		seeds: "a fixed window helps only slow disks at low concurrency",
	},
	{
		name: "uring-probe", cells: uringProbe,
		asks:  "vectored write + fdatasync, or io_uring?",
		seeds: "io_uring was never faster",
	},
	{
		name: "batch-policy", cells: batchPolicy,
		asks:  "what does the size of a request decide?",
		seeds: "prototype: gRPC costs 20 us a request whatever its size, and there is no cliff",
	},
	{
		name: "lock-scope", cells: lockScope,
		asks:  "does throughput rise to the cores' limit, or sit flat while latency doubles?",
		seeds: "a mutex across write(2) was 52 to 84 % of a submit; a lock over encode and upload held eight cores at 0.84",
	},
	{
		name: "vs-collector", cells: vsCollector,
		asks:  "mira against a Collector that drops, and one with a synced queue",
		seeds: "not measured",
	},
	{
		name: "reach", cells: reach,
		asks:  "the goals that no other experiment has: signals, latency, idling, replay",
		seeds: "not measured",
	},
	{
		name: "soak", cells: soak, asked: true, rounds: 1,
		asks:  "is memory flat at 96 connections?",
		seeds: "not measured",
	},
}

// build makes the binaries that the experiments want beside mira and loadgen.
func (b *bench) build(wanted []*experiment) error {
	bin, err := filepath.Abs(b.bin)
	if err != nil {
		return err
	}
	wants := func(name string) bool {
		return slices.ContainsFunc(wanted, func(e *experiment) bool { return e.name == name })
	}
	if wants("vs-collector") {
		if err := goBuild("scripts/e2e", filepath.Join(bin, "collector"), "./collector"); err != nil {
			return err
		}
	}
	if wants("publish-barrier") {
		// Not into bin: nobody should find it there and start it.
		b.weak = filepath.Join(b.dir, "mira-weaksync")
		return goBuild(".", b.weak, "./cmd/mira", "-tags", "weaksync")
	}
	return nil
}

func goBuild(dir, out, pkg string, flags ...string) error {
	args := append([]string{"build", "-trimpath", "-ldflags", "-s -w", "-o", out}, flags...)
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", pkg, err, text)
	}
	return nil
}
