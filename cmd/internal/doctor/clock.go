package doctor

import (
	"time"

	"mira/storage/stage"
)

var begin = time.Now()

// cpuTime returns the CPU time of this thread, which the caller is locked to: what others do on the
// machine does not count. Where no clock of a thread is known it is the time of day.
func cpuTime() time.Duration {
	if id, cpu := stage.Thread(); id != 0 {
		return cpu
	}
	return time.Since(begin)
}
