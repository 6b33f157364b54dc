//go:build !linux

package stage

import "time"

// thread knows of no clock of a thread here.
func thread() (id int, cpu time.Duration) { return 0, 0 }
