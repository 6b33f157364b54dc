//go:build !linux

package doctor

import "time"

var begin = time.Now()

// cpuTime returns the time of day here: no clock of a thread is known.
func cpuTime() time.Duration { return time.Since(begin) }
