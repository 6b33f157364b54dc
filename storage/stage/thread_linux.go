package stage

import (
	"time"

	"golang.org/x/sys/unix"
)

// Thread returns the calling thread's id and the CPU time that it has used; 0 as id is unknown.
func Thread() (id int, cpu time.Duration) {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0, 0
	}
	return unix.Gettid(), time.Duration(ts.Nano())
}
