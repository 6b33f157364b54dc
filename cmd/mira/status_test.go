package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"mira/pipeline/explain"
)

func TestMetricsAreLinesThatPrometheusReads(t *testing.T) {
	r := boot(t, t.TempDir())
	defer r.end()
	r.send(oneLog)
	code, text := r.get("/metrics")
	if code != 200 {
		t.Fatalf("got %d %s", code, text)
	}
	line := regexp.MustCompile(`^[a-z_][a-zA-Z0-9_]*(\{[a-zA-Z_]+="[^"]*"(, ?[a-zA-Z_]+="[^"]*")*\})? (NaN|[+-]Inf|[0-9.e+-]+)$`)
	seen := map[string]bool{}
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		series, _, _ := strings.Cut(l, "} ")
		if strings.HasPrefix(l, "# TYPE ") {
			continue
		}
		if !strings.Contains(l, "{") {
			series, _, _ = strings.Cut(l, " ")
		}
		if !line.MatchString(l) || seen[series] {
			t.Errorf("not a line, or there twice: %q", l)
		}
		seen[series] = true
	}
	for _, want := range []string{
		`mira_stage_seconds_count{stage="log_sync"} 1`, "mira_log_group_frames_sum 1", "mira_log_group_bytes_count 1",
		"mira_ingest_in_flight_exports ", "mira_wal_unsynced_bytes 0", "mira_scheduler_lag_seconds ", "mira_gc_cpu_fraction ",
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestIngestIsExplained(t *testing.T) {
	r := boot(t, t.TempDir(), "--durability", "batched")
	defer r.end()
	r.send(oneLog)
	code, text := r.get("/debug/ingest?format=json&window=since_start")
	var doc explain.Report
	if err := json.Unmarshal([]byte(text), &doc); code != 200 || err != nil {
		t.Fatalf("got %d %s: %v", code, text, err)
	}
	if doc.Exports != 1 || doc.Records != 1 || doc.Verdict == "" || doc.CPUSeconds <= 0 || doc.Settings.Durability != "batched" ||
		doc.Settings.Shards == 0 || doc.Settings.BlockBytes != 32<<20 || doc.Gauges.Budget != doc.Settings.IngestMemory {
		t.Errorf("got %+v", doc)
	}
	if code, text := r.get("/debug/ingest"); code != 200 || !strings.Contains(text, "log_sync") {
		t.Errorf("page: got %d %s", code, text)
	}
}

func TestMachineTimeIsReadFromTheFirstLine(t *testing.T) {
	for line, want := range map[string][2]time.Duration{
		"cpu  100 5 20 700 30 1 2 3 0 0": {131 * 10 * time.Millisecond, 861 * 10 * time.Millisecond},
		"cpu0 1 2 3 4 5 6 7 8":           {},
		"cpu 1 2 3":                      {},
		"cpu a b c d e f g h":            {},
		"":                               {},
	} {
		if busy, all := machineTime(line); busy != want[0] || all != want[1] {
			t.Errorf("%q: got %s of %s, want %v", line, busy, all, want)
		}
	}
}
