package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// experiment is a question with the cells that answer it.
type experiment struct {
	name  string
	asks  string
	seeds string // the verdict of the engines before this one
	asked bool   // not part of all: it wants arguments
	cells func(*bench) ([]cell, error)
}

var experiments = []*experiment{
	{
		name: "vs-collector", asks: "records per CPU-second and per second, against a Collector that drops and one with a synced queue",
		seeds: "not measured", cells: vsCollector,
	},
	{
		name: "ab", asks: "two binaries, or two settings", seeds: "the contract itself", asked: true, cells: ab,
	},
}

// build makes the binaries that the experiments want; mira and loadgen are there already.
func (b *bench) build(wanted []*experiment) error {
	for _, e := range wanted {
		if e.name != "vs-collector" {
			continue
		}
		bin, err := filepath.Abs(b.bin)
		if err != nil {
			return err
		}
		if err := goBuild("scripts/e2e", filepath.Join(bin, "collector"), "./collector"); err != nil {
			return err
		}
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

// vsCollector compares mira with the Collectors of the two configurations beside this file.
func vsCollector(b *bench) (list []cell, err error) {
	loads := []string{
		"grpc lean 8192 4", "grpc lean 8192 32", "grpc rich 8192 4", "grpc rich 8192 32",
		"grpc lean 100 4", "grpc lean 100 32", "grpc rich 100 4", "grpc rich 100 32",
		"http lean 8192 4", "http lean 8192 32", "http rich 8192 4", "http rich 8192 32",
		"http lean 100 32", "http rich 100 32",
	}
	for _, config := range []string{"nop", "file"} {
		for _, l := range loads {
			if b.short && !strings.HasPrefix(l, "grpc lean 8192 4") || b.short && strings.HasSuffix(l, "32") {
				continue
			}
			list = append(list, againstCollector(config, l))
		}
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
		c.goals = append(c.goals, goal{arm: "mira", figure: recordsPerSec, ratio: true, least: true, bound: bound})
	case f[1] == "rich" && f[2] == "8192":
		bound = 1.1
	}
	c.goals = append(c.goals, goal{arm: "mira", figure: recordsPerCPU, ratio: true, least: true, bound: bound})
	return c
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
