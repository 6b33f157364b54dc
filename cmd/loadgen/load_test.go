package main

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryRecordArrivesOnceOverBothTransports(t *testing.T) {
	for _, args := range []string{
		"--protocol grpc", "--protocol grpc --compression gzip", "--protocol grpc --compression zstd",
		"--protocol http", "--protocol http --compression gzip", "--protocol http --compression zstd",
		"--protocol grpc --shape rich --durability batched", "--protocol http --shape rich",
	} {
		t.Run(args, func(t *testing.T) {
			f := startFake(t)
			code, r, errs := loadgen(t.Context(), t, append(strings.Fields(args),
				"--target", f.target(args), "--api", f.httpURL, "--verify",
				"--records", "1000", "--batch", "64", "--conns", "3", "--signals", "logs,traces,metrics")...)
			if code != 0 || r.Records != 1000 || r.Verify == nil || !r.Verify.OK || r.Verify.Acked != 1000 || r.Verify.Stored != 1000 {
				t.Fatalf("exit %d, %s, report %+v, verify %+v", code, errs, r, r.Verify)
			}
			f.unique(t)
			compressed := strings.Contains(args, "compression")
			if r.BytesPerRecord == 0 || compressed != (r.BytesPerRecord < r.PlainPerRecord/2) {
				t.Errorf("%.1f bytes on the wire for %.1f of OTLP", r.BytesPerRecord, r.PlainPerRecord)
			}
		})
	}
}

func (f *fakeServer) target(args string) string {
	if strings.Contains(args, "http") {
		return f.httpURL
	}
	return f.grpcAddr
}

// unique fails the test when two stored records share an identity or an id.
func (f *fakeServer) unique(t *testing.T) {
	t.Helper()
	seen := map[any]bool{}
	for s, rows := range f.rows {
		for _, r := range rows {
			keys := []any{[4]string{s.String(), r.run, r.instance, r.time}}
			if r.ids != "" {
				keys = append(keys, r.ids)
			}
			for _, key := range keys {
				if seen[key] {
					t.Fatalf("%s: %v was seen before", s, key)
				}
				seen[key] = true
			}
		}
	}
}

func TestABatchOfOneIsUniqueToo(t *testing.T) {
	f := startFake(t)
	code, r, errs := loadgen(t.Context(), t, "--target", f.grpcAddr, "--api", f.httpURL, "--verify", "--records", "200", "--batch", "1", "--shape", "rich")
	if code != 0 || r.Exports != 200 || !r.Verify.OK {
		t.Fatalf("exit %d, %s, %+v", code, errs, r)
	}
	f.unique(t)
}

func TestRefusalsAreRetriedAndCountedByCode(t *testing.T) {
	for _, c := range []struct {
		name, protocol string
		script         map[int]*refusal // by call
		refusals       map[string]int64
		records        int64
		refused        int64
		unknown        int64
	}{
		{"unavailable, then fine", "grpc", map[int]*refusal{0: {code: codes.Unavailable, after: time.Millisecond}, 1: {code: codes.Unavailable}}, map[string]int64{"UNAVAILABLE": 2}, 30, 0, 0},
		{"resource exhausted with a delay is retried", "grpc", map[int]*refusal{1: {code: codes.ResourceExhausted, after: time.Millisecond}}, map[string]int64{"RESOURCE_EXHAUSTED": 1}, 30, 0, 0},
		{"resource exhausted without one is final", "grpc", map[int]*refusal{1: {code: codes.ResourceExhausted}}, map[string]int64{"RESOURCE_EXHAUSTED": 1}, 20, 10, 0},
		{"invalid argument is final", "grpc", map[int]*refusal{2: {code: codes.InvalidArgument}}, map[string]int64{"INVALID_ARGUMENT": 1}, 20, 10, 0},
		{"partial success is final", "grpc", map[int]*refusal{0: {partial: 10}}, map[string]int64{partial: 1}, 20, 0, 10},
		{"stored before the deadline passed", "grpc", map[int]*refusal{0: {code: codes.DeadlineExceeded, store: true}}, map[string]int64{"DEADLINE_EXCEEDED": 1}, 30, 0, 0},
		{"503 with a delay, 429", "http", map[int]*refusal{0: {http: 503, after: time.Second}, 1: {http: 429}}, map[string]int64{"503": 1, "429": 1}, 30, 0, 0},
		{"400 is final", "http", map[int]*refusal{0: {http: 400}}, map[string]int64{"400": 1}, 20, 10, 0},
		{"500 is final", "http", map[int]*refusal{0: {http: 500}}, map[string]int64{"500": 1}, 20, 10, 0},
		{"stored, then the connection died", "http", map[int]*refusal{0: {hangUp: true, store: true}}, map[string]int64{"CONNECTION": 1}, 30, 0, 0},
		{"partial success over http", "http", map[int]*refusal{0: {partial: 10, store: true}}, map[string]int64{partial: 1}, 20, 0, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := startFake(t)
			f.script = func(call int) *refusal { return c.script[call] }
			code, r, errs := loadgen(t.Context(), t, "--protocol", c.protocol, "--target", f.target(c.protocol), "--api", f.httpURL, "--verify",
				"--records", "30", "--batch", "10", "--conns", "1")
			if code != 0 || r.Verify == nil || !r.Verify.OK {
				t.Fatalf("exit %d, %s, verify %+v", code, errs, r.Verify)
			}
			if !maps.Equal(r.Refusals, c.refusals) || r.Records != c.records || r.RecordsRefused != c.refused || r.RecordsUnknown != c.unknown {
				t.Errorf("got refusals %v, %d records, %d refused, %d unknown; want %v, %d, %d, %d",
					r.Refusals, r.Records, r.RecordsRefused, r.RecordsUnknown, c.refusals, c.records, c.refused, c.unknown)
			}
		})
	}
}

func TestVerifyCatchesWhatTheServerDidWrong(t *testing.T) {
	for _, c := range []struct {
		name   string
		script func(int) *refusal
		spoil  func(rows []stored) []stored
		want   verdict
	}{
		{name: "lost", spoil: func(r []stored) []stored { return slices.Delete(r, 3, 5) }, want: verdict{Acked: 30, Stored: 28, Lost: 2}},
		{name: "doubled", spoil: func(r []stored) []stored { return append(r, r[7]) }, want: verdict{Acked: 30, Stored: 31, Doubled: 1}},
		{name: "near", spoil: func(r []stored) []stored {
			at, _ := strconv.ParseUint(r[0].time, 10, 64)
			r[0].time = strconv.FormatUint(at+1, 10)
			return r
		}, want: verdict{Acked: 30, Stored: 30, Lost: 1, Strangers: 1}},
		{name: "another worker's", spoil: func(r []stored) []stored {
			r[0].instance = "loadgen-00009"
			return r
		}, want: verdict{Acked: 30, Stored: 30, Lost: 1, Strangers: 1}},
		{name: "refused but stored", script: func(n int) *refusal {
			if n == 0 {
				return &refusal{code: codes.InvalidArgument, store: true}
			}
			return nil
		}, want: verdict{Acked: 20, Stored: 30, Forbidden: 10}},
		{name: "refused, stored, sent again", script: func(n int) *refusal {
			if n == 0 {
				return &refusal{code: codes.Unavailable, after: time.Millisecond, store: true}
			}
			return nil
		}, want: verdict{Acked: 30, Stored: 40, Doubled: 10}},
		{name: "another run's rows are nobody's business", spoil: func(r []stored) []stored { return append(r, stored{"f00", "x", "1", ""}) }, want: verdict{OK: true, Acked: 30, Stored: 30}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := startFake(t)
			f.script = c.script
			book := filepath.Join(t.TempDir(), "ledger")
			if code, _, errs := loadgen(t.Context(), t, "--target", f.grpcAddr, "--ledger", book, "--records", "30", "--batch", "10"); code != 0 {
				t.Fatalf("exit %d, %s", code, errs)
			}
			if c.spoil != nil {
				f.rows[logs] = c.spoil(f.rows[logs])
			}
			code, r, errs := loadgen(t.Context(), t, "--verify", "--ledger", book, "--api", f.httpURL)
			if r.Verify == nil {
				t.Fatalf("exit %d, %s", code, errs)
			}
			if (code == 0) != c.want.OK {
				t.Errorf("exit %d, %s", code, errs)
			}
			got := *r.Verify
			if got.OK != (len(got.Examples) == 0) {
				t.Errorf("ok %v with examples %v", got.OK, got.Examples)
			}
			got.Examples, got.Rows = nil, 0
			if !equal(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func equal(a, b verdict) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

func TestInterruptStopsAndReports(t *testing.T) {
	f := startFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	f.script = func(call int) *refusal {
		if call == 5 {
			cancel()
		}
		return nil
	}
	code, r, errs := loadgen(ctx, t, "--target", f.grpcAddr, "--api", f.httpURL, "--verify", "--for", "1h", "--batch", "10", "--conns", "1")
	if code != 0 || r.Exports != 6 || !r.Verify.OK {
		t.Fatalf("exit %d, %s, %d Exports, %+v", code, errs, r.Exports, r.Verify)
	}
}

func TestReportKnowsServerAndDisk(t *testing.T) {
	f := startFake(t)
	dir, emitted := t.TempDir(), filepath.Join(t.TempDir(), "run.json")
	f.script = func(int) *refusal {
		_ = os.MkdirAll(filepath.Join(dir, "wal"), 0o755)
		_ = os.WriteFile(filepath.Join(dir, "a.arrow"), make([]byte, 3000), 0o644)
		_ = os.WriteFile(filepath.Join(dir, "wal", "1.wal"), make([]byte, 500), 0o644)
		return nil
	}
	code, r, errs := loadgen(t.Context(), t, "--target", f.grpcAddr, "--records", "100", "--batch", "100",
		"--pid", strconv.Itoa(os.Getpid()), "--data-dir", dir, "--emit", emitted)
	if code != 0 || r.Server == nil || r.Server.PeakRSS < 1<<20 || r.Disk == nil {
		t.Fatalf("exit %d, %s, server %+v, disk %+v", code, errs, r.Server, r.Disk)
	}
	if *r.Disk != (diskUse{BytesPerRecord: 30, Blocks: 3000, Log: 500, All: 3500}) {
		t.Errorf("disk %+v", r.Disk)
	}
	if b, err := os.ReadFile(emitted); err != nil || !json.Valid(b) {
		t.Errorf("--emit wrote %q, %v", b, err)
	}
}
