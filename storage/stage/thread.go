package stage

import "time"

// Work is a piece of work that never waits of itself, measured by the clock on the wall and by
// that of its thread. What the first shows more than the second, the goroutine was ready to run
// and not running, because all CPUs were taken.
type Work struct {
	at     Mark
	cpu    time.Duration
	thread int
}

// StartWork begins to measure. It costs more than all else here, so measure little: what is found
// holds for all stages of the CPU.
func StartWork() Work {
	w := Work{at: Now()}
	w.thread, w.cpu = Thread()
	return w
}

// Worked ends the measurement. When the goroutine has changed its thread there is none.
func (t *Set) Worked(w Work) {
	id, cpu := Thread()
	if t == nil || id == 0 || id != w.thread {
		return
	}
	wall := max(Now().Since(w.at), 1)
	t.wall.Add(uint64(wall))
	t.worked.Add(uint64(min(max(cpu-w.cpu, 0), wall)))
}

// OnCPU returns which part of the time in the stages of the CPU was work; 1 where it is unknown.
func (s *Snapshot) OnCPU() float64 {
	if s.wall == 0 {
		return 1
	}
	return float64(s.worked) / float64(s.wall)
}
