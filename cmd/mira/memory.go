package main

import (
	"os"
	"strconv"
	"strings"
)

// defaultMemory is the ingest memory of a server that is not told: a quarter of what its control
// group or the machine has, at most 1 GiB.
func defaultMemory() bytesize {
	const most, least = 1 << 30, 64 << 20
	limit := machineMemory()
	if b, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 63); err == nil && n > 0 {
			limit = min(limit, n) // "max" does not parse: no limit
		}
	}
	return bytesize(max(least, min(most, limit/4)))
}

// unknownMemory is what a machine that does not tell is taken to have, in bytes.
const unknownMemory = 4 << 30
