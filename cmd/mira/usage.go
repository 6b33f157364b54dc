package main

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"mira/pipeline/explain"
)

// cpuUsage returns the CPU time that this process and the machine have used.
func cpuUsage() explain.Usage {
	var u explain.Usage
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) == nil {
		u.Process = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	if b, err := os.ReadFile("/proc/stat"); err == nil {
		line, _, _ := strings.Cut(string(b), "\n")
		u.Machine, u.MachineAll = machineTime(line)
	}
	return u
}

// machineTime reads the first line of /proc/stat: what all CPUs have done since the boot.
func machineTime(line string) (busy, all time.Duration) {
	const tick = 10 * time.Millisecond // USER_HZ is 100 wherever Go runs
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0
	}
	for i, text := range fields[1:9] { // user, nice, system, idle, iowait, irq, softirq, steal
		n, err := strconv.ParseInt(text, 10, 62)
		if err != nil {
			return 0, 0
		}
		all += time.Duration(n) * tick
		if i != 3 && i != 4 {
			busy += time.Duration(n) * tick
		}
	}
	return busy, all
}
