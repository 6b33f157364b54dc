package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"mira/cmd/internal/corpus"
	"mira/storage/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tinyOptions measure as little as there is: one write of each kind and one request.
func tinyOptions(dir string, f vfs.FS) Options {
	return Options{Dir: dir, FS: f, Root: fstest.MapFS{}, Budget: time.Millisecond, Procs: 4, Memory: 8 << 30, IngestMemory: 1 << 30}
}

// memory is a file system in memory with an empty /data.
func memory(t *testing.T) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem()
	if err := m.Mkdir("/data"); err != nil {
		t.Fatal(err)
	}
	return m
}

// empty fails the test when something is in dir.
func empty(t *testing.T, f vfs.FS, dir string) {
	t.Helper()
	if list, err := f.List(dir); err != nil || len(list) > 0 {
		t.Errorf("%s holds %v, %v; want nothing", dir, list, err)
	}
}

func TestRunMeasuresEverythingAndLeavesNothing(t *testing.T) {
	for _, shape := range []corpus.Shape{corpus.Lean, corpus.Rich} {
		dir := t.TempDir()
		o := tinyOptions(dir, vfs.OS{})
		o.Shape = shape
		var doing []string
		o.Progress = func(done float64, what string) {
			if done < 0 || done > 1 {
				t.Errorf("%s: progress is %v", what, done)
			}
			if len(doing) == 0 || doing[len(doing)-1] != what {
				doing = append(doing, what)
			}
		}
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range map[string]float64{
			"small p50": float64(r.Disk.Small.P50), "large p99 over p50": float64(r.Disk.Large.P99 - r.Disk.Large.P50 + 1), "bandwidth": r.Disk.Bandwidth, "free": float64(r.Disk.Free),
			"check": r.CPU.Check, "columns": r.CPU.Columns, "encode": r.CPU.Encode, "block": r.CPU.BlockBytes,
			"records": r.Prediction.Records, "one": float64(r.Prediction.AckOne), "batch over one": float64(r.Prediction.AckBatch - r.Prediction.AckOne/1e3),
		} {
			if v <= 0 {
				t.Errorf("%s, %s: %v, want more than 0", shape, name, v)
			}
		}
		if want := map[corpus.Shape]float64{corpus.Lean: 140, corpus.Rich: 500}[shape]; r.CPU.OTLPBytes < want*0.9 || r.CPU.OTLPBytes > want*1.1 || r.CPU.Records < batch {
			t.Errorf("%s: %d records of %.0f bytes", shape, r.CPU.Records, r.CPU.OTLPBytes)
		}
		if len(doing) != 4 || r.Disk.FileSystem == "" {
			t.Errorf("did %q on %q", doing, r.Disk.FileSystem)
		}
		empty(t, vfs.OS{}, dir)
	}
}

func TestDocumentHasTheFactsUnderTheirNames(t *testing.T) {
	r, err := Run(t.Context(), tinyOptions("/data", memory(t)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"shape", "cores", "gomaxprocs", "memory_bytes", "filesystem", "free_bytes", "p50_seconds", "p99_seconds", "synced_bytes_per_second",
		"check_ns_per_record", "columns_ns_per_record", "encode_ns_per_record", "otlp_bytes_per_record", "records_per_second", "limit", "ack_one_record_seconds", "warnings",
	} {
		if !bytes.Contains(b, []byte(`"`+key+`":`)) {
			t.Errorf("no %s in %s", key, b)
		}
	}
}

func TestCutShortItLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		at     string
		budget time.Duration
	}{
		{"small", time.Hour}, // it would not end by itself
		{"large", 100 * time.Millisecond},
		{"bandwidth", 100 * time.Millisecond},
		{"check", 100 * time.Millisecond},
	} {
		m := memory(t)
		ctx, cancel := context.WithCancel(t.Context())
		o := tinyOptions("/data", m)
		o.Budget = c.budget
		o.Progress = func(_ float64, doing string) {
			if strings.Contains(doing, c.at) {
				cancel()
			}
		}
		if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Errorf("cut at %s: got %v, want the context's error", c.at, err)
		}
		cancel()
		empty(t, m, "/data")
	}
}

func TestDiskThatFailsIsNamedAndLeftClean(t *testing.T) {
	for _, c := range []struct {
		name string
		kind vfs.Kind
		err  error
		says string
	}{
		{"no right to make a directory", vfs.OpMkdir, syscall.EACCES, "cannot be written to"},
		{"read-only", vfs.OpCreate, syscall.EROFS, "cannot be written to"},
		{"full", vfs.OpWrite, syscall.ENOSPC, "no space left"},
		{"broken", vfs.OpSync, syscall.EIO, "input/output error"},
	} {
		m := memory(t)
		f := &vfs.Faulty{FS: m, Before: func(op vfs.Op) error {
			if op.Kind == c.kind {
				return &fs.PathError{Op: "test", Path: op.Name, Err: c.err}
			}
			return nil
		}}
		_, err := Run(t.Context(), tinyOptions("/data", f))
		if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q in it", c.name, err, c.says)
		}
		empty(t, m, "/data")
	}
}

func TestDirectoryThatIsNotThereYetIsMeasuredNextToIt(t *testing.T) {
	f := func(dir, want string) {
		t.Helper()
		o := tinyOptions(dir, memory(t))
		got, err := o.place()
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", dir, got, err, want)
		}
	}
	f("/data", "/data")
	f("/data/", "/data")
	f("/data/new", "/data")
	f("/nowhere/new", "")
}

func TestFileIsNoDirectory(t *testing.T) {
	m := memory(t)
	if _, err := m.Create("/data/file"); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), tinyOptions("/data/file", m)); err == nil || !strings.Contains(err.Error(), "no directory") {
		t.Errorf("got %v", err)
	}
}

func TestFullDiskIsNotFilledFurther(t *testing.T) {
	m := memory(t)
	m.SetCapacity(64 << 20)
	if _, err := Run(t.Context(), tinyOptions("/data", m)); err == nil || !strings.Contains(err.Error(), "too little") {
		t.Errorf("got %v", err)
	}
	empty(t, m, "/data")
}

func TestLockOfARunningServerIsNotTouched(t *testing.T) {
	dir := t.TempDir()
	lock, err := vfs.OS{}.Lock(filepath.Join(dir, "LOCK"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := Run(t.Context(), tinyOptions(dir, vfs.OS{})); err != nil {
		t.Error(err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 || list[0].Name() != "LOCK" {
		t.Errorf("the directory holds %v, %v; want LOCK alone", list, err)
	}
}

func TestQuantilesAreOfTheSortedTimes(t *testing.T) {
	var took []time.Duration
	for i := 101; i > 0; i-- {
		took = append(took, time.Duration(i)*time.Second)
	}
	if got := writes(7, took); got != (Writes{Bytes: 7, Count: 101, P50: 51, P99: 100}) {
		t.Errorf("got %+v", got)
	}
	if got := bandwidth(50, []time.Duration{time.Second, 3 * time.Second}); got != 25 {
		t.Errorf("100 bytes in 4 s are %v a second", got)
	}
}
