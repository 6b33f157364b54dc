package main

import "golang.org/x/sys/unix"

// machineMemory returns the machine's memory in bytes.
func machineMemory() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return unknownMemory
	}
	return info.Totalram * uint64(info.Unit)
}
