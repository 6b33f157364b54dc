package explain

import (
	"time"

	"mira/storage/stage"
)

// Report is the document of /debug/ingest: what happened in a window of time, and how it is now.
type Report struct {
	WindowSeconds float64 `json:"window_seconds"`
	Cores         int     `json:"cores"`
	CPUSeconds    float64 `json:"cpu_seconds"`           // of this process
	OnCPU         float64 `json:"on_cpu_fraction"`       // how much of the time in the stages of the CPU was work
	MachineBusy   float64 `json:"machine_busy_fraction"` // of all CPUs, by whatever process; 0: unknown
	GCFraction    float64 `json:"gc_cpu_fraction"`       // of CPUSeconds
	Records       int64   `json:"records"`
	Exports       int64   `json:"exports"`
	Bytes         int64   `json:"bytes"` // OTLP, inflated
	Verdict       string  `json:"verdict"`
	BoundBy       string  `json:"bound_by"` // a stage's name, or one of the Bound constants

	Stages   []Stage  `json:"stages"`
	Groups   Groups   `json:"log_groups"`
	Gauges   Gauges   `json:"gauges"`
	LagP90   float64  `json:"scheduler_lag_p90_seconds"`
	Settings Settings `json:"settings"`
}

// What ingest may be bound by beside a stage.
const (
	BoundIdle      = "idle"      // by nothing: there is nothing to do
	BoundClient    = "client"    // by what comes in
	BoundCPU       = "cpu"       // by work that is in no stage
	BoundMachine   = "machine"   // by other processes
	BoundScheduler = "scheduler" // by the wait for a CPU
)

// Stage is one line of the stage table.
type Stage struct {
	Name  string     `json:"name"`
	Kind  stage.Kind `json:"kind"`
	Count uint64     `json:"count"`
	Total float64    `json:"total_seconds"`
	P50   float64    `json:"p50_seconds"`
	P99   float64    `json:"p99_seconds"`
	Max   float64    `json:"max_seconds"`
	// Share of a stage of the CPU is Total, as far as it was work, over CPUSeconds. For one that
	// waits it is Total over WindowSeconds: how many waited, on average.
	Share float64 `json:"share"`
}

// Groups is how well the log's syncs are shared.
type Groups struct {
	Count     uint64  `json:"count"`
	Frames    float64 `json:"frames_mean"`
	FramesP99 uint64  `json:"frames_p99"`
	Bytes     float64 `json:"bytes_mean"`
}

// Gauges are the state of now.
type Gauges struct {
	BudgetUsed   int64   `json:"budget_used_bytes"`
	Budget       int64   `json:"budget_bytes"`
	Parked       int     `json:"parked_exports"`
	InFlight     int     `json:"in_flight_exports"`
	OpenBlockAge float64 `json:"open_block_age_seconds"`
	Unsynced     int64   `json:"unsynced_bytes"`
	SchedulerLag float64 `json:"scheduler_lag_seconds"`
	Goroutines   int     `json:"goroutines"`
}

// Settings are those that bound the rate of ingest.
type Settings struct {
	BlockBytes   int64  `json:"block_bytes"`
	Shards       int    `json:"shards"`
	IngestMemory int64  `json:"ingest_memory"`
	Durability   string `json:"durability"`
	GOMAXPROCS   int    `json:"gomaxprocs"`
}

// seconds makes seconds of nanoseconds.
func seconds[T ~int64 | ~uint64](ns T) float64 { return float64(ns) / 1e9 }

// Busy returns how many cores the process used, on average.
func (r *Report) Busy() float64 { return ratio(r.CPUSeconds, r.WindowSeconds) }

// fill makes the stage table. Total is by the clock on the wall, and where more threads are ready
// than there are CPUs, that is more than was worked: all stages are taken to suffer alike.
func (r *Report) fill(s *stage.Snapshot) {
	r.OnCPU = s.OnCPU()
	sum := 0.0
	for _, name := range stage.All {
		c := &s.Stages[name]
		line := Stage{
			Name: name.String(), Kind: name.Kind(), Count: c.Count(), Total: seconds(c.Sum),
			P50: seconds(c.Quantile(.5)), P99: seconds(c.Quantile(.99)), Max: seconds(c.Max()),
		}
		line.Share = ratio(line.Total, r.WindowSeconds)
		if line.Kind == stage.CPU {
			line.Share = ratio(line.Total*r.OnCPU, r.CPUSeconds)
			sum += line.Share
		}
		r.Stages = append(r.Stages, line)
	}
	for i := range r.Stages {
		if r.Stages[i].Kind == stage.CPU {
			r.Stages[i].Share /= max(sum, 1) // there is no more than all of it
		}
	}
	r.Groups = Groups{Count: s.GroupFrames.Count(), FramesP99: s.GroupFrames.Quantile(.99)}
	r.Groups.Frames = ratio(float64(s.GroupFrames.Sum), float64(r.Groups.Count))
	r.Groups.Bytes = ratio(float64(s.GroupBytes.Sum), float64(r.Groups.Count))
}

// ratio is a over b, and 0 where there is no b.
func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// stage returns the line of s; without one it is empty.
func (r *Report) stage(s stage.Stage) Stage {
	for _, line := range r.Stages {
		if line.Name == s.String() {
			return line
		}
	}
	return Stage{Name: s.String(), Kind: s.Kind()}
}

// Window is the length of a report's window.
const Window = 10 * time.Second
