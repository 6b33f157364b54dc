package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ownCPU is the user and system time of this process.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// tick is the unit of /proc/<pid>/stat, a hundredth of a second on every Linux.
const tick = 10 * time.Millisecond

// processCPU is the user and system time of another process.
func processCPU(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(string(b))
}

// parseStat reads utime and stime. The command's name is in parentheses and may
// hold anything, so fields count from the last of them.
func parseStat(stat string) (time.Duration, error) {
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const utime, stime = 14 - 3, 15 - 3 // the manual counts from 1, and two fields are gone
	if len(f) <= stime {
		return 0, fmt.Errorf("stat has %d fields after the name", len(f))
	}
	u, err := strconv.ParseInt(f[utime], 10, 64)
	if err != nil {
		return 0, err
	}
	s, err := strconv.ParseInt(f[stime], 10, 64)
	return time.Duration(u+s) * tick, err
}

// peakRSS is the largest resident size a process ever had, in bytes.
func peakRSS(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("process %d has no VmHWM", pid)
}

// disk is what a data directory holds, in bytes.
type disk struct {
	blocks int64 // published blocks
	log    int64 // the write-ahead log, which is preallocated and recycled
	all    int64
}

// measureDisk adds up the files of a data directory. A file that goes away
// meanwhile is not counted.
func measureDisk(dir string) (disk, error) {
	var d disk
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) {
				return nil
			}
			return err
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			return nil //nolint:nilerr // it is gone
		}
		d.all += info.Size()
		if strings.HasSuffix(path, ".arrow") {
			d.blocks += info.Size()
		}
		if rel, err := filepath.Rel(dir, path); err == nil && strings.HasPrefix(rel, "wal"+string(filepath.Separator)) {
			d.log += info.Size()
		}
		return nil
	})
	return d, err
}
