package doctor

import "fmt"

// Advice is the one thing to change first.
type Advice struct {
	Setting string `json:"setting"` // what to change; empty: nothing
	Why     string `json:"why"`
}

// The marks by which figures are judged.
const (
	allCores   = 0.85 // of the cores used: there is no more
	noBudget   = 0.8  // of the budget used: Exports wait for room
	smallBatch = 512  // records of an Export below which the cost per Export counts
	lonely     = 2    // frames of a group below which a sync is hardly shared
	lag        = Seconds(0.005)
	compressed = 1.3 // OTLP bytes per byte on the wire
	unstaged   = 0.4 // of the CPU time is in no stage: receiving and inflating
)

// Advise says which one setting would most likely help. wire is how many bytes of OTLP came in one
// byte of the wire, 0 where that is not known. It knows only what the document says: when two rules
// hold, the one that spares work goes before the one that adds to the machine.
func Advise(d *Ingest, wire float64) Advice {
	if d.Exports == 0 {
		return Advice{"", "no Export came in the window; ask again under load"}
	}
	if d.busy() >= allCores {
		return adviseBusy(d, wire)
	}
	if d.Gauges.SchedulerLag >= lag {
		return Advice{"cores", fmt.Sprintf(
			"the server uses %.1f of %d cores and still waits %.0f ms for one: something else, or a CPU quota, takes the rest; give it more, or move the other programs (the clients too) away",
			d.busy()*float64(d.Cores), d.Cores, 1000*float64(d.Gauges.SchedulerLag))}
	}
	switch d.BoundBy {
	case "admit_wait":
		return adviseRoom(d)
	case "machine", "scheduler":
		return Advice{"cores", "other programs have the cores: give the server more, or move them (the clients too) away"}
	case "log_queue", "log_write", "log_sync":
		return adviseLog(d)
	case "file_write", "file_sync", "rename", "trim":
		return Advice{"data-dir", "blocks wait for the disk, which the log uses too: put --data-dir on a faster one"}
	case "columns", "encode", "compress", "shard_queue", "seal_wait", "catalog":
		return Advice{"shards", fmt.Sprintf(
			"%d shards build blocks, each on one core at a time, while cores idle: more cores do not help, more --shards do", d.Settings.Shards)}
	}
	return adviseClients(d)
}

// adviseRoom: Exports wait for room, either in the budget or in a block.
func adviseRoom(d *Ingest) Advice {
	if float64(d.Gauges.BudgetUsed) >= noBudget*float64(d.Gauges.Budget) {
		return Advice{"ingest-memory", fmt.Sprintf(
			"%s of the %s that may be unpublished are used and Exports wait for room, while cores idle: raise --ingest-memory",
			size(float64(d.Gauges.BudgetUsed)), size(float64(d.Gauges.Budget)))}
	}
	return Advice{"shards", fmt.Sprintf(
		"Exports wait while the blocks of all %d shards are being written, and cores idle: raise --shards", d.Settings.Shards)}
}

// adviseBusy: all cores work. First what they need not do.
func adviseBusy(d *Ingest, wire float64) Advice {
	rest := 1 - d.staged()
	switch {
	case wire >= compressed && rest >= unstaged:
		return Advice{"compression", fmt.Sprintf(
			"requests come compressed %.1f times, and %.0f %% of the CPU time goes to receiving and inflating them: let the clients use zstd or none, not gzip", wire, 100*rest)}
	case d.batch() < smallBatch:
		return Advice{"batch", fmt.Sprintf(
			"an Export holds %.0f records, and each costs the same whatever it holds: let the SDK's or Collector's batch processor send up to 8192", d.batch())}
	}
	return Advice{"cores", fmt.Sprintf("the server uses %.1f of %d cores, and nothing is wasted: more cores", d.busy()*float64(d.Cores), d.Cores)}
}

// adviseLog: Exports wait for the log.
func adviseLog(d *Ingest) Advice {
	frames := float64(d.stage("log_queue").Count) / float64(max(d.stage("log_sync").Count, 1))
	switch {
	case frames >= lonely:
		return Advice{"data-dir", fmt.Sprintf("%.0f Exports share a sync already, and the log still waits for it: put --data-dir on a faster disk", frames)}
	case d.Settings.Durability == "sync":
		return Advice{"connections", "an Export waits for a sync that it hardly shares: more connections, or the request header mira-durability: batched"}
	}
	return Advice{"connections", "an Export waits for a sync that it hardly shares: more connections"}
}

// adviseClients: the server waits for work.
func adviseClients(d *Ingest) Advice {
	if d.batch() < smallBatch {
		return Advice{"batch", fmt.Sprintf(
			"the server waits for the clients, whose Exports hold %.0f records: let the SDK's or Collector's batch processor send up to 8192", d.batch())}
	}
	return Advice{"connections", "the server waits for the clients: more connections (or more clients) would be taken"}
}

// batch is the records of one Export.
func (d *Ingest) batch() float64 { return float64(d.Records) / float64(max(d.Exports, 1)) }

// staged is the share of the process's CPU time that the stages explain.
func (d *Ingest) staged() float64 {
	sum := d.GCFraction
	for _, s := range d.Stages {
		if s.Kind == "cpu" {
			sum += s.Share
		}
	}
	return min(1, sum)
}
