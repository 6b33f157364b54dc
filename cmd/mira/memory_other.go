//go:build !linux

package main

// machineMemory is not asked for on this system.
func machineMemory() uint64 { return unknownMemory }
