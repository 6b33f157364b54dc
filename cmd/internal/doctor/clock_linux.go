package doctor

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the CPU time of this thread, which the caller is locked to: what others do on the
// machine does not count.
func cpuTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // the clock is always there
	return time.Duration(t.Nano())
}
