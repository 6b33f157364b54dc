package explain

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"mira/storage/stage"
)

// Sources are where a Watch looks. All but Settings are needed.
type Sources struct {
	Stages   *stage.Set
	Usage    func() Usage
	State    func() State
	Settings Settings
}

// Usage is the CPU time since some start.
type Usage struct {
	Process             time.Duration
	Machine, MachineAll time.Duration // of all CPUs: busy, and busy or not; 0: unknown
}

// State is what the pipeline has done since the start, and its gauges of now.
type State struct {
	Records, Exports, Bytes int64
	Gauges                  Gauges // but for SchedulerLag and Goroutines
}

// Watch marks the counts as time goes by. It is safe for concurrent use.
type Watch struct {
	o      Sources
	lag    stage.Histogram // how late the sleeper was
	recent atomic.Int64    // the largest lag of late, in nanoseconds: it fades
	stop   chan struct{}
	done   chan struct{}
	once   sync.Once
	start  *mark

	mu       sync.Mutex // guards from, to
	from, to *mark      // the last complete window; nil: there is none yet
}

// mark is what had been counted at some time.
type mark struct {
	at     stage.Mark
	stages *stage.Snapshot
	lag    stage.Counts
	usage  Usage
	gc     float64 // CPU seconds of the garbage collector
	state  State
}

// beat is how long the sleeper sleeps: often enough to see a stall of a second ten times. While
// nothing comes in it sleeps longer, for an idle server to be idle.
const (
	beat = 100 * time.Millisecond
	slow = time.Second
)

// New starts a watch. Close ends it.
func New(o Sources) *Watch {
	w := &Watch{o: o, stop: make(chan struct{}), done: make(chan struct{})}
	w.start = w.mark()
	go w.run()
	return w
}

// Close ends the watch and waits for its goroutine.
func (w *Watch) Close() {
	w.once.Do(func() { close(w.stop) })
	<-w.done
}

func (w *Watch) run() {
	defer close(w.done)
	timer := time.NewTimer(slow)
	defer timer.Stop()
	pause, frames := slow, w.o.Stages.Frames()
	began, window := stage.Now(), stage.Now()
	for {
		select {
		case <-w.stop:
			return
		case <-timer.C:
		}
		now := stage.Now()
		w.slept(now.Since(began)-pause, pause)
		if now.Since(window) >= Window {
			window = now
			w.turn()
		}
		pause = slow
		if n := w.o.Stages.Frames(); n != frames {
			pause, frames = beat, n
		}
		began = stage.Now()
		timer.Reset(pause)
	}
}

// slept notes how late the sleeper was after a pause.
func (w *Watch) slept(late, pause time.Duration) {
	w.lag.Observe(int64(late), 1)
	old := float64(w.recent.Load())
	w.recent.Store(max(int64(late), int64(old*math.Exp2(-pause.Seconds())))) // it halves in a second
}

// turn ends a window; the next one begins.
func (w *Watch) turn() {
	m := w.mark()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.from, w.to = w.to, m
	if w.from == nil {
		w.from = w.start
	}
}

func (w *Watch) mark() *mark {
	m := &mark{at: stage.Now(), stages: w.o.Stages.Snapshot(), usage: w.o.Usage(), gc: gcSeconds(), state: w.o.State()}
	w.lag.Load(&m.lag)
	return m
}

// gcSeconds returns the CPU time of the garbage collector as of its last cycle.
func gcSeconds() float64 {
	s := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64 {
		return 0
	}
	return s[0].Value.Float64()
}

// Report says what happened in the last complete window; since the start when that is asked for,
// or when there is no window yet.
func (w *Watch) Report(sinceStart bool) *Report {
	w.mu.Lock()
	from, to := w.from, w.to
	w.mu.Unlock()
	if sinceStart || to == nil {
		from, to = w.start, w.mark()
	}
	r := between(from, to)
	r.Cores, r.Settings = runtime.NumCPU(), w.o.Settings
	r.Settings.GOMAXPROCS = runtime.GOMAXPROCS(0)
	r.Gauges = w.o.State().Gauges
	r.Gauges.SchedulerLag = seconds(w.recent.Load())
	r.Gauges.Goroutines = runtime.NumGoroutine()
	r.BoundBy, r.Verdict = Judge(r)
	return r
}

// between makes the counted part of a report.
func between(from, to *mark) *Report {
	stages, lag := *to.stages, to.lag
	stages.Sub(from.stages)
	lag.Sub(&from.lag)
	r := &Report{
		WindowSeconds: to.at.Since(from.at).Seconds(), CPUSeconds: (to.usage.Process - from.usage.Process).Seconds(),
		Records: to.state.Records - from.state.Records, Exports: to.state.Exports - from.state.Exports, Bytes: to.state.Bytes - from.state.Bytes,
		LagP90: seconds(lag.Quantile(.9)),
	}
	r.MachineBusy = ratio(seconds(to.usage.Machine-from.usage.Machine), seconds(to.usage.MachineAll-from.usage.MachineAll))
	r.GCFraction = min(ratio(to.gc-from.gc, r.CPUSeconds), 1)
	r.fill(&stages)
	return r
}

// WritePrometheus writes the stages, the scheduler's lag and the garbage collector's part.
func (w *Watch) WritePrometheus(out io.Writer) {
	w.o.Stages.Snapshot().WritePrometheus(out)
	var lag stage.Counts
	w.lag.Load(&lag)
	lag.WriteSeconds(out, "mira_scheduler_lateness_seconds")
	fmt.Fprintf(out, "mira_scheduler_lag_seconds %g\n", seconds(w.recent.Load()))
	fmt.Fprintf(out, "mira_gc_cpu_seconds_total %g\n", gcSeconds())
	fmt.Fprintf(out, "mira_gc_cpu_fraction %g\n", w.gcFraction())
}

// gcFraction is the garbage collector's part of the last window's CPU time.
func (w *Watch) gcFraction() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.to == nil {
		return 0
	}
	return min(ratio(w.to.gc-w.from.gc, seconds(w.to.usage.Process-w.from.usage.Process)), 1)
}
