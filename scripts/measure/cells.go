package main

import (
	"fmt"
	"runtime"
	"strings"
)

// few returns the first list, or the second in a short form.
func few[T any](b *bench, full, short []T) []T {
	if b.short {
		return short
	}
	return full
}

func shapes(b *bench) []string { return few(b, []string{"lean", "rich"}, []string{"lean"}) }

// connections makes an arm for each number of connections.
func connections(s setup, flags string, numbers []int) (arms []arm) {
	for _, n := range numbers {
		arms = append(arms, arm{fmt.Sprintf("%d connections", n), serve(s, fmt.Sprintf("%s --conns %d", flags, n))})
	}
	return arms
}

func connSweep(b *bench) (list []cell, err error) {
	bound := map[string]float64{"lean": 0.16, "rich": 0.26}
	for _, shape := range shapes(b) {
		numbers := few(b, []int{1, 2, 4, 8, 16, 32, 64, 96}, []int{4, 32, 96})
		list = append(list, cell{
			name: shape, base: best, arms: connections(setup{}, "--batch 8192 --shape "+shape, numbers),
			shown: []string{recordsPerSec, recordsPerCPU, ackP50, ackP99, peakMiB},
			goals: []goal{
				{arm: "96 connections", figure: recordsPerSec, ratio: true, least: true, bound: 0.9},
				{arm: "32 connections", figure: ackTail, bound: 4},
				{arm: "96 connections", figure: peakMiB, bound: 600},
				{arm: "4 connections", figure: diskPerWire, bound: bound[shape]},
				{arm: "4 connections", figure: devicePerWire, bound: 1.35},
				{arm: "4 connections", figure: allocsPer, bound: 0.01},
			},
		})
	}
	return list, nil
}

func ingestProbe(b *bench) (list []cell, err error) {
	for _, shape := range shapes(b) {
		list = append(list, cell{
			name: shape, arms: connections(setup{}, "--batch 8192 --shape "+shape, few(b, []int{4, 32, 96}, []int{32})),
			shown: []string{serverCores, bothCores, framesPerGroup, meanSyncMicros, "stage"},
		})
	}
	return list, nil
}

func lockScope(b *bench) (list []cell, err error) {
	for _, batch := range few(b, []int{8192, 100}, []int{8192}) {
		list = append(list, cell{
			name: fmt.Sprintf("lean, batch %d", batch), base: best,
			arms:  connections(setup{}, fmt.Sprintf("--batch %d", batch), few(b, []int{1, 2, 4, 8, 16, 32}, []int{1, 4, 16})),
			shown: []string{recordsPerSec, ackP50, serverCores, bothCores},
		})
	}
	return list, nil
}

func batchPolicy(b *bench) ([]cell, error) {
	c := cell{
		name: "lean, 32 connections", base: best,
		shown: []string{recordsPerSec, recordsPerCPU, recordsPerSync, recordsPerBlk, ackP50},
	}
	for _, n := range few(b, []int{1, 10, 100, 1000, 8192, 32768}, []int{10, 8192}) {
		c.arms = append(c.arms, arm{fmt.Sprintf("batch %d", n), serve(setup{}, fmt.Sprintf("--conns 32 --batch %d", n))})
	}
	return []cell{c}, nil
}

func walVolume(b *bench) (list []cell, err error) {
	for _, flags := range few(b, []string{"--batch 8192 --conns 4", "--batch 8192 --conns 32", "--batch 100 --conns 32"}, []string{"--batch 8192 --conns 4"}) {
		list = append(list, cell{
			name:  flags,
			arms:  []arm{{"log on the disk", serve(setup{}, flags)}, {"log on a tmpfs", serve(setup{tmpfsLog: true}, flags)}},
			shown: []string{recordsPerSec, recordsPerCPU, ackP50, ackP99},
		})
	}
	return list, nil
}

func publishBarrier(b *bench) (list []cell, err error) {
	for _, flags := range few(b, []string{"--batch 8192 --conns 4", "--batch 8192 --conns 32"}, []string{"--batch 8192 --conns 4"}) {
		list = append(list, cell{
			name:  flags,
			arms:  []arm{{"as released", serve(setup{}, flags)}, {"without barriers", serve(setup{binary: b.weak}, flags)}},
			shown: []string{recordsPerSec, recordsPerCPU, ackP50, ackP99},
		})
	}
	return list, nil
}

func workers(b *bench) (list []cell, err error) {
	cores := runtime.NumCPU()
	for _, flags := range few(b, []string{"--batch 8192 --conns 4", "--batch 8192 --conns 32", "--batch 100 --conns 32"}, []string{"--batch 8192 --conns 32"}) {
		c := cell{name: flags, base: "as many as cores", shown: []string{recordsPerSec, recordsPerCPU, ackP50, ackP99}}
		c.arms = append(c.arms, arm{"the server's choice", serve(setup{}, flags)})
		c.arms = append(c.arms, arm{"as many as cores", serve(setup{env: procs(cores)}, flags)})
		for _, n := range few(b, []int{cores + 1, 2 * cores, 3 * cores}, []int{2 * cores}) {
			c.arms = append(c.arms, arm{fmt.Sprintf("GOMAXPROCS=%d", n), serve(setup{env: procs(n)}, flags)})
		}
		list = append(list, c)
	}
	return list, nil
}

func procs(n int) []string { return []string{fmt.Sprintf("GOMAXPROCS=%d", n)} }

func tiers(b *bench) (list []cell, err error) {
	all := []string{"sync", "batched", "buffered"}
	byTier := func(name, flags string, shown ...string) cell {
		c := cell{name: name, shown: shown}
		for _, t := range all {
			c.arms = append(c.arms, arm{t, serve(setup{}, flags+" --durability "+t)})
		}
		return c
	}
	list = append(list, byTier("one connection, batch 1", "--batch 1 --conns 1", ackP50, ackP90, ackP99, ackP999, recordsPerSec))
	for _, n := range few(b, []int{8, 32, 64}, []int{32}) {
		list = append(list, byTier(fmt.Sprintf("herd of %d, batch 10", n), fmt.Sprintf("--batch 10 --conns %d", n), recordsPerSec, recordsPerCPU, recordsPerSync, ackP50, ackP99))
	}
	return append(list, cell{
		name: "buffered ramp, batch 100", base: best,
		arms:  connections(setup{}, "--batch 100 --durability buffered", few(b, []int{1, 4, 8, 16, 32, 48}, []int{4, 48})),
		shown: []string{recordsPerSec, recordsPerCPU, recordsPerSync, ackP50, ackP99},
	}), nil
}

// vsCollector compares mira with the Collectors of the two configurations beside this file.
func vsCollector(b *bench) (list []cell, err error) {
	loads := few(b, []string{
		"grpc lean 8192 4", "grpc lean 8192 32", "grpc rich 8192 4", "grpc rich 8192 32",
		"grpc lean 100 4", "grpc lean 100 32", "grpc rich 100 4", "grpc rich 100 32",
		"http lean 8192 4", "http lean 8192 32", "http rich 8192 4", "http rich 8192 32",
		"http lean 100 4", "http lean 100 32", "http rich 100 4", "http rich 100 32",
	}, []string{"grpc lean 8192 4"})
	for _, l := range loads {
		list = append(list, againstCollector("nop", l))
	}
	for _, l := range few(b, []string{
		"grpc lean 8192 4", "grpc lean 8192 32", "grpc rich 8192 4", "grpc rich 8192 32", "grpc lean 100 32", "http lean 8192 4",
	}, []string{"grpc lean 8192 4"}) {
		list = append(list, againstCollector("file", l))
	}
	return list, nil
}

func againstCollector(config, l string) cell {
	f := strings.Fields(l)
	flags := fmt.Sprintf("--protocol %s --shape %s --batch %s --conns %s", f[0], f[1], f[2], f[3])
	c := cell{
		name: config + " " + l,
		arms: []arm{
			{"collector", serve(setup{collector: "scripts/measure/collector-" + config + ".yaml"}, flags)},
			{"mira", serve(setup{}, flags)},
		},
		shown: []string{recordsPerCPU, recordsPerSec},
	}
	bound := 1.0
	switch {
	case config == "file":
		bound = 4
		c.shown = append(c.shown, settledPerSec, windowPerCPU)
		c.goals = append(c.goals, goal{arm: "mira", figure: recordsPerSec, ratio: true, least: true, bound: bound})
	case f[1] == "rich" && f[2] == "8192":
		bound = 1.1
	}
	c.goals = append(c.goals, goal{arm: "mira", figure: recordsPerCPU, ratio: true, least: true, bound: bound})
	return c
}

// reach has the goals that no experiment of its own has.
func reach(b *bench) (list []cell, err error) {
	for _, shape := range shapes(b) {
		list = append(list, signals(b, shape))
	}
	return append(list, latency(), idling(), replaying(b)), nil
}

func signals(b *bench, shape string) cell {
	c := cell{name: "signals, " + shape, shown: []string{wirePerCPU, wirePerSec, recordsPerCPU}}
	for _, s := range []string{"logs", "traces", "metrics", "logs,traces,metrics"} {
		c.arms = append(c.arms, arm{s, serve(setup{}, "--batch 8192 --conns 4 --shape "+shape+" --signals "+s)})
		if s != "logs" && s != "metrics" {
			c.goals = append(c.goals, goal{arm: s, figure: wirePerCPU, ratio: true, least: true, bound: 0.75})
		}
	}
	return c
}

// latency holds one record on one connection against writing and syncing as many bytes.
func latency() cell {
	c := cell{
		name:  "one connection, batch 1",
		arms:  []arm{{"bare write + fdatasync", inProcess(bareSync)}},
		shown: []string{ackP50, ackP99},
	}
	for _, protocol := range []string{"grpc", "http"} {
		c.arms = append(c.arms, arm{protocol, serve(setup{}, "--batch 1 --conns 1 --protocol "+protocol)})
		c.goals = append(c.goals, goal{arm: protocol, figure: ackP50, ratio: true, bound: 1.5})
	}
	return c
}

func idling() cell {
	return cell{
		name: "empty store", arms: []arm{{"idle", idle}},
		shown: []string{idleShare, idleMiB, startMillis},
		goals: []goal{
			{arm: "idle", figure: idleShare, bound: 0.2},
			{arm: "idle", figure: idleMiB, bound: 60},
			{arm: "idle", figure: startMillis, bound: 200},
		},
	}
}

func replaying(b *bench) cell {
	records := "1900000"
	if b.short {
		records = "400000"
	}
	return cell{
		name: "start after a kill, blocks open", arms: []arm{{"replay", replay(records)}}, shown: []string{replayed},
		goals: []goal{{arm: "replay", figure: replayed, least: true, bound: 300}},
	}
}

func soak(b *bench) (list []cell, err error) {
	for _, shape := range shapes(b) {
		list = append(list, cell{
			name: shape, arms: []arm{{"96 connections", grow("--batch 8192 --conns 96 --shape " + shape)}},
			shown: []string{peakMiB, earlyMiB, lateMiB, lateOverEarly, recordsPerSec},
			goals: []goal{
				{arm: "96 connections", figure: peakMiB, bound: 600},
				{arm: "96 connections", figure: lateOverEarly, bound: 1.1},
			},
		})
	}
	return list, nil
}

// ab compares two servers given as words: NAME=value before the binary, flags behind it.
func ab(b *bench) (list []cell, err error) {
	first, err := parseSetup(b.a)
	if err != nil {
		return nil, err
	}
	second, err := parseSetup(b.b)
	if err != nil {
		return nil, err
	}
	for flags := range strings.SplitSeq(b.loads, ";") {
		list = append(list, cell{
			name:  strings.TrimSpace(flags),
			arms:  []arm{{"A " + b.a, serve(first, flags)}, {"B " + b.b, serve(second, flags)}},
			shown: []string{recordsPerCPU, recordsPerSec, ackP50, ackP99, peakMiB},
		})
	}
	return list, nil
}

func parseSetup(text string) (s setup, err error) {
	words := strings.Fields(text)
	for len(words) > 0 && strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-") {
		s.env, words = append(s.env, words[0]), words[1:]
	}
	if len(words) == 0 {
		return s, fmt.Errorf("%q names no binary", text)
	}
	s.binary, s.flags = words[0], words[1:]
	return s, nil
}
