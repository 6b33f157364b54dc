package explain

import (
	"fmt"
	"time"

	"mira/storage/stage"
)

// Where the verdict changes. None of them is sharp: near one, two verdicts are both half true.
const (
	full    = 0.85  // of the cores busy: there are none left
	crowded = 0.90  // of all CPUs busy, by whatever process: the same
	little  = 0.05  // of the cores: nothing worth a verdict
	always  = 0.80  // of the time at work: one who works alone can do no more
	waiting = 0.5   // Exports waiting for room, on average
	late    = 0.005 // seconds that a sleeper is late: others are run instead
)

// Judge says what bounds ingest: by a word for programs and in a sentence. It reads everything in
// r but the two. The order of the questions is that of cause and effect: without a free core
// everything waits, and a full budget has a cause behind it.
func Judge(r *Report) (boundBy, verdict string) {
	busy := r.Busy()
	share := ratio(busy, float64(r.Cores))
	switch {
	case r.Exports == 0 && share < little && r.Gauges.Parked == 0:
		return BoundIdle, fmt.Sprintf("idle: no Export came in %.0f s", r.WindowSeconds)
	case share >= full, r.MachineBusy >= crowded && share >= 4*little:
		return judgeCPU(r, busy, share)
	case crowded <= r.MachineBusy:
		return BoundMachine, fmt.Sprintf("bound by other processes: %s of the machine's CPUs are busy, and this one has %.1f of %d cores",
			percent(r.MachineBusy), busy, r.Cores)
	case r.waiters() >= waiting:
		return judgeAdmission(r)
	case r.log() >= always:
		return judgeLog(r)
	case r.disk().Share >= always:
		d := r.disk()
		return d.Name, fmt.Sprintf("disk bound: blocks are in %s %s of the time, %s each; nobody waits for room yet", d.Name, percent(d.Share), span(d.P50))
	case r.LagP90 >= late:
		return BoundScheduler, fmt.Sprintf("scheduler bound: a goroutine that is due waits %s for a CPU, and %.1f of %d cores are busy with it: something else takes the time, or a limit does",
			span(r.LagP90), busy, r.Cores)
	default:
		return BoundClient, fmt.Sprintf("client bound: %.1f of %d cores busy and nobody waits; the log is at work %s of the time", busy, r.Cores, percent(r.log()))
	}
}

// judgeCPU names the largest part of the CPU time.
func judgeCPU(r *Report, busy, share float64) (boundBy, verdict string) {
	largest, next, outside := Stage{}, Stage{}, 1.0
	for _, s := range r.Stages {
		if s.Kind != stage.CPU {
			continue
		}
		outside -= s.Share
		if s.Share > largest.Share {
			largest, next = s, largest
		} else if s.Share > next.Share {
			next = s
		}
	}
	rest := fmt.Sprintf("; the log waits %s", percent(r.stage(stage.LogSync).Share))
	if share < full {
		rest += "; other processes have the other cores"
	}
	cores := fmt.Sprintf("%.1f busy cores", busy)
	switch {
	case outside > largest.Share:
		return BoundCPU, fmt.Sprintf("CPU bound: %s of %s go to receiving, the system and the runtime (garbage collection %s); the largest stage is %s, %s%s",
			percent(outside), cores, percent(r.GCFraction), largest.Name, percent(largest.Share), rest)
	case largest.Name == stage.Compress.String():
		return largest.Name, fmt.Sprintf("compression bound: zstd %s of %s%s", percent(largest.Share), cores, rest)
	default:
		return largest.Name, fmt.Sprintf("CPU bound: %s %s of %s, then %s %s%s",
			largest.Name, percent(largest.Share), cores, next.Name, percent(next.Share), rest)
	}
}

// judgeAdmission tells what empties the budget, since that is what everybody waits for.
func judgeAdmission(r *Report) (boundBy, verdict string) {
	drain := Stage{}
	for _, s := range []stage.Stage{stage.Columns, stage.Encode, stage.Compress, stage.FileWrite, stage.FileSync, stage.Rename} {
		if line := r.stage(s); line.Total > drain.Total {
			drain = line
		}
	}
	room := fmt.Sprintf("%.1f Exports wait for room, %s of the budget is used", r.waiters(), percent(ratio(float64(r.Gauges.BudgetUsed), float64(r.Gauges.Budget))))
	switch {
	case drain.Name == "":
		return stage.AdmitWait.String(), "admission bound: " + room + ", and no block was written"
	case drain.Kind == stage.Wait:
		return drain.Name, fmt.Sprintf("disk bound: %s; blocks are in %s %s of the time, %s each", room, drain.Name, percent(drain.Share), span(drain.P50))
	default:
		return stage.AdmitWait.String(), fmt.Sprintf("admission bound: %s; it is drained by %s, and there are cores left: more shards or more ingest-memory would use them",
			room, drain.Name)
	}
}

func judgeLog(r *Report) (boundBy, verdict string) {
	write, sync := r.stage(stage.LogWrite), r.stage(stage.LogSync)
	most := sync
	if write.Total > sync.Total {
		most = write
	}
	return most.Name, fmt.Sprintf("log bound: it writes %s and syncs %s of the time; a sync takes %s and covers %.1f Exports",
		percent(write.Share), percent(sync.Share), span(sync.P50), r.Groups.Frames)
}

// waiters is how many Exports wait for room, on average, and now where nobody has come through.
func (r *Report) waiters() float64 {
	return max(r.stage(stage.AdmitWait).Share, float64(min(r.Gauges.Parked, 1)))
}

// log is how much of the time the log's one committer is at work.
func (r *Report) log() float64 {
	return r.stage(stage.LogWrite).Share + r.stage(stage.LogSync).Share
}

// disk is the stage of a block that waits longest for the disk.
func (r *Report) disk() Stage {
	most := r.stage(stage.FileWrite)
	for _, s := range []stage.Stage{stage.FileSync, stage.Rename} {
		if line := r.stage(s); line.Total > most.Total {
			most = line
		}
	}
	return most
}

func percent(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }

// span writes seconds as a person would.
func span(s float64) string {
	d := time.Duration(s * 1e9)
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.2g s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.2g ms", s*1e3)
	default:
		return fmt.Sprintf("%.0f us", s*1e6)
	}
}
