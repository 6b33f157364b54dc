package doctor

import (
	"fmt"

	"mira/pipeline/explain"
	"mira/storage/stage"
)

// Advice is the one thing to change first.
type Advice struct {
	Setting string `json:"setting"` // what to change; empty: nothing
	Why     string `json:"why"`
}

// The marks by which figures are judged.
const (
	noBudget   = 0.8 // of the budget used: Exports wait for room
	smallBatch = 512 // records of an Export below which the cost per Export counts
	lonely     = 2   // frames of a group below which a sync is hardly shared
	compressed = 1.3 // OTLP bytes per byte on the wire
	unstaged   = 0.4 // of the CPU time is in no stage: receiving and inflating
)

// Advise says which one setting would most likely help, by what the server says it is bound by. wire
// is how many bytes of OTLP came in one byte of the wire, 0 where that is not known. It knows only
// what the document says: when two rules hold, the one that spares work goes before the one that
// adds to the machine.
func Advise(r *explain.Report, wire float64) Advice {
	if r.Exports == 0 {
		return Advice{"", "no Export came in the window; ask again under load"}
	}
	switch r.BoundBy {
	case explain.BoundCPU, stage.Check.String(), stage.Columns.String(), stage.Encode.String(), stage.Compress.String(), stage.Catalog.String():
		return adviseBusy(r, wire)
	case explain.BoundMachine:
		return Advice{"cores", "other programs have the cores: give the server more, or move them (the clients too) away"}
	case explain.BoundScheduler:
		return Advice{"cores", fmt.Sprintf(
			"the server uses %.1f of %d cores and still waits %.0f ms for one: something else, or a CPU quota, takes the rest; give it more, or move the other programs (the clients too) away",
			r.Busy(), r.Cores, 1000*r.LagP90)}
	case stage.AdmitWait.String():
		return adviseRoom(r)
	case stage.LogWrite.String(), stage.LogSync.String():
		return adviseLog(r)
	case stage.FileWrite.String(), stage.FileSync.String(), stage.Rename.String():
		return Advice{"data-dir", "blocks wait for the disk, which the log uses too: put --data-dir on a faster one"}
	}
	return adviseClients(r)
}

// adviseRoom: Exports wait for room, either in the budget or in a block.
func adviseRoom(r *explain.Report) Advice {
	if float64(r.Gauges.BudgetUsed) >= noBudget*float64(r.Gauges.Budget) {
		return Advice{"ingest-memory", fmt.Sprintf(
			"%s of the %s that may be unpublished are used and Exports wait for room, while cores idle: raise --ingest-memory",
			size(float64(r.Gauges.BudgetUsed)), size(float64(r.Gauges.Budget)))}
	}
	return Advice{"shards", fmt.Sprintf(
		"Exports wait while the blocks of all %d shards are being written, and cores idle: raise --shards", r.Settings.Shards)}
}

// adviseBusy: all cores work. First what they need not do.
func adviseBusy(r *explain.Report, wire float64) Advice {
	rest := 1 - staged(r)
	switch {
	case wire >= compressed && rest >= unstaged:
		return Advice{"compression", fmt.Sprintf(
			"requests come compressed %.1f times, and %.0f %% of the CPU time goes to receiving and inflating them: let the clients use zstd or none, not gzip", wire, 100*rest)}
	case perExport(r) < smallBatch:
		return Advice{"batch", fmt.Sprintf(
			"an Export holds %.0f records, and each costs the same whatever it holds: let the SDK's or Collector's batch processor send up to 8192", perExport(r))}
	}
	return Advice{"cores", fmt.Sprintf("the server uses %.1f of %d cores, and nothing is wasted: more cores", r.Busy(), r.Cores)}
}

// adviseLog: Exports wait for the log.
func adviseLog(r *explain.Report) Advice {
	switch {
	case r.Groups.Frames >= lonely:
		return Advice{"data-dir", fmt.Sprintf("%.0f Exports share a sync already, and the log still waits for it: put --data-dir on a faster disk", r.Groups.Frames)}
	case r.Settings.Durability == "sync":
		return Advice{"connections", "an Export waits for a sync that it hardly shares: more connections, or the request header mira-durability: batched"}
	}
	return Advice{"connections", "an Export waits for a sync that it hardly shares: more connections"}
}

// adviseClients: the server waits for work.
func adviseClients(r *explain.Report) Advice {
	if perExport(r) < smallBatch {
		return Advice{"batch", fmt.Sprintf(
			"the server waits for the clients, whose Exports hold %.0f records: let the SDK's or Collector's batch processor send up to 8192", perExport(r))}
	}
	return Advice{"connections", "the server waits for the clients: more connections (or more clients) would be taken"}
}

// perExport is the records of one Export.
func perExport(r *explain.Report) float64 { return float64(r.Records) / float64(max(r.Exports, 1)) }

// staged is the share of the process's CPU time that the stages explain.
func staged(r *explain.Report) float64 {
	sum := r.GCFraction
	for _, s := range r.Stages {
		if s.Kind == stage.CPU {
			sum += s.Share
		}
	}
	return min(1, sum)
}
