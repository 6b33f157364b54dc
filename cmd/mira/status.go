package main

import (
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"mira/pipeline"
	"mira/pipeline/explain"
	"mira/storage"
	"mira/storage/signal"
)

// checks are the conditions of readiness.
func (s *server) checks() []storage.Check {
	drain := storage.Check{Name: "draining", OK: true}
	if since := s.draining.Load(); since != nil {
		drain = storage.Check{Name: "draining", Detail: "the server is shutting down", Since: *since}
	}
	return append(s.store.Health(), drain)
}

// status is the document of /api/v1/status.
type status struct {
	Build      string                   `json:"build"`
	Uptime     string                   `json:"uptime"`
	Durability string                   `json:"durability"`
	Ready      bool                     `json:"ready"`
	Checks     []storage.Check          `json:"checks"`
	Ingest     pipeline.Stats           `json:"ingest"`
	Stored     map[string]signalStorage `json:"stored"`
	Log        logStatus                `json:"log"`
	Disk       diskStatus               `json:"disk"`
	Goroutines int                      `json:"goroutines"`
}

type signalStorage struct {
	Blocks int   `json:"blocks"`
	Bytes  int64 `json:"bytes"`
}

type logStatus struct {
	Frames   uint64        `json:"frames"`
	Groups   uint64        `json:"groups"`
	Bytes    uint64        `json:"bytes"`
	Syncs    uint64        `json:"syncs"`
	SyncTime time.Duration `json:"sync_time_ns"`
	LastSync time.Duration `json:"last_sync_ns"`
	Segments int           `json:"segments"`
	Spares   int           `json:"spare_segments"`
	Live     int64         `json:"live_bytes"`
	Poisoned bool          `json:"poisoned"`
}

type diskStatus struct {
	Directory string `json:"directory"`
	Free      uint64 `json:"free_bytes"`
	Damaged   int64  `json:"damaged_files"` // since the start
	Aside     int64  `json:"quarantined_files"`
}

// status returns the document of now.
func (s *server) status() any {
	st := s.store.Stats()
	doc := status{
		Build: version(), Uptime: time.Since(s.started).Round(time.Second).String(), Durability: s.c.durability.String(),
		Ready: true, Checks: s.checks(), Ingest: s.pipeline.Stats(), Stored: map[string]signalStorage{},
		Log: logStatus{
			Frames: st.Log.Frames, Groups: st.Log.Groups, Bytes: st.Log.Bytes, Syncs: st.Log.Syncs,
			SyncTime: st.Log.SyncTime, LastSync: st.Log.LastSync, Segments: st.Log.Segments, Spares: st.Log.Spares,
			Live: st.Log.LiveBytes, Poisoned: st.Log.Poisoned,
		},
		Disk:       diskStatus{Directory: s.store.Dir(), Free: st.Free, Damaged: st.Damaged, Aside: st.Aside},
		Goroutines: runtime.NumGoroutine(),
	}
	for _, c := range doc.Checks {
		doc.Ready = doc.Ready && c.OK
	}
	for _, sig := range signal.All {
		doc.Stored[sig.String()] = signalStorage{Blocks: st.Blocks[sig], Bytes: st.Bytes[sig]}
	}
	return doc
}

// writeMetrics writes everything that is measured, in the Prometheus text format.
func (s *server) writeMetrics(w io.Writer) {
	st, in := s.store.Stats(), s.pipeline.Stats()
	for _, m := range []struct {
		name  string
		value float64
	}{
		{"mira_damaged_files_total", float64(st.Damaged)},
		{"mira_quarantined_files", float64(st.Aside)},
		{"mira_disk_free_bytes", float64(st.Free)},
		{"mira_ingest_budget_bytes", float64(in.Budget)},
		{"mira_ingest_budget_used_bytes", float64(in.Used)},
		{"mira_ingest_in_flight_exports", float64(in.Flying)},
		{"mira_ingest_parked_bytes", float64(in.Queued)},
		{"mira_ingest_parked_exports", float64(in.Parked)},
		{"mira_tail_dropped_total", float64(in.Missed)},
		{"mira_tails", float64(in.Tails)},
		{"mira_wal_bytes_total", float64(st.Log.Bytes)},
		{"mira_wal_frames_total", float64(st.Log.Frames)},
		{"mira_wal_groups_total", float64(st.Log.Groups)},
		{"mira_wal_live_bytes", float64(st.Log.LiveBytes)},
		{"mira_wal_poisoned", gauge(st.Log.Poisoned)},
		{"mira_wal_refused_frames_total", float64(st.Log.Refused)},
		{"mira_wal_segments", float64(st.Log.Segments)},
		{"mira_wal_unsynced_bytes", float64(st.Log.Unsynced)},
		{"mira_wal_sync_seconds_total", st.Log.SyncTime.Seconds()},
		{"mira_wal_syncs_total", float64(st.Log.Syncs)},
	} {
		fmt.Fprintf(w, "%s %g\n", m.name, m.value)
	}
	for _, sig := range signal.All {
		n := in.Signals[sig.String()]
		for _, m := range []struct {
			name  string
			value float64
		}{
			{"mira_stored_records_total", float64(n.Records)},
			{"mira_stored_exports_total", float64(n.Exports)},
			{"mira_stored_otlp_bytes_total", float64(n.Bytes)},
			{"mira_refused_exports_total", float64(n.Refusals)},
			{"mira_published_blocks_total", float64(n.Blocks)},
			{"mira_open_block_age_seconds", n.OpenAge.Seconds()},
			{"mira_blocks", float64(st.Blocks[sig])},
			{"mira_block_bytes", float64(st.Bytes[sig])},
		} {
			fmt.Fprintf(w, "%s{signal=%q} %g\n", m.name, sig, m.value)
		}
	}
	s.watch.WritePrometheus(w)
	s.receiver.Metrics().WritePrometheus(w)
	metrics.WriteProcessMetrics(w)
}

// state is what the watch marks.
func (s *server) state() explain.State {
	in, log := s.pipeline.Stats(), s.store.LogStats()
	st := explain.State{Gauges: explain.Gauges{
		BudgetUsed: in.Used, Budget: in.Budget, Parked: in.Parked, InFlight: in.Flying, Unsynced: log.Unsynced,
	}}
	for _, n := range in.Signals {
		st.Records += n.Records
		st.Exports += n.Exports
		st.Bytes += n.Bytes
		st.Gauges.OpenBlockAge = max(st.Gauges.OpenBlockAge, n.OpenAge.Seconds())
	}
	return st
}

// settings are those that a verdict may speak of.
func (s *server) settings() explain.Settings {
	return explain.Settings{
		BlockBytes: int64(s.c.blockBytes), Shards: s.pipeline.Stats().Shards, IngestMemory: int64(s.c.ingestMemory), Durability: s.c.durability.String(),
	}
}

func gauge(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
