//go:build !linux

package stage

import "time"

// Thread knows of no clock of a thread here.
func Thread() (id int, cpu time.Duration) { return 0, 0 }
