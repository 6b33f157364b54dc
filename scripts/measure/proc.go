package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc/stat, a hundredth of a second on every Linux.
const tick = 10 * time.Millisecond

// processCPU is the user and system time that a process has used.
func processCPU(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	text := string(b)
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // the name may hold anything
	if len(f) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields behind the name", pid, len(f))
	}
	return ticks(f[11:13])
}

// machineCPU is the time in which any core was busy, with whatever, the host's other guests included.
func machineCPU() (time.Duration, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	f := strings.Fields(line)
	if len(f) < 9 {
		return 0, fmt.Errorf("/proc/stat begins with %q", line)
	}
	const user, idle, irq, guest = 1, 4, 6, 9 // iowait is idle too
	return ticks(append(f[user:idle:idle], f[irq:guest]...))
}

func ticks(fields []string) (sum time.Duration, err error) {
	for _, f := range fields {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// residentBytes is what a process holds in memory now.
func residentBytes(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0, fmt.Errorf("/proc/%d/statm: %q", pid, b)
	}
	pages, err := strconv.ParseInt(f[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// loadAverage is that of the last 1, 5 and 15 minutes.
func loadAverage() (list []float64) {
	b, _ := os.ReadFile("/proc/loadavg")
	for _, f := range strings.Fields(string(b)) {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil || len(list) == 3 {
			break
		}
		list = append(list, v)
	}
	return list
}
