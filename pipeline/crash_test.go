package pipeline_test

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
	"testing"

	"mira/storage/signal"
	"mira/storage/vfs"
)

// cutPoint is the disk as a crash would have left it, and what the clients knew.
type cutPoint struct {
	what  string
	fs    *vfs.Mem
	acked map[string]bool
	sent  map[string]bool
}

// cuts runs a fixed workload and crashes it before and after every operation that changes the
// disk, once per mode.
func cuts(t *testing.T, wrap func(vfs.FS) vfs.FS, modes ...vfs.Cut) []cutPoint {
	t.Helper()
	var (
		mem    = vfs.NewMem()
		l      = newLedger()
		mu     sync.Mutex // guards points
		points []cutPoint
	)
	crash := func(when string, op vfs.Op) {
		if !op.Kind.Mutates() {
			return
		}
		for _, c := range modes {
			l.mu.Lock()
			acked := maps.Clone(l.acked) // before the clone: all of these must be in it
			l.mu.Unlock()
			c.Seed += uint64(op.N)
			p := cutPoint{what: fmt.Sprintf("%s %s, %s", when, op, c.Mode), fs: mem.CrashClone(c), acked: acked}
			l.mu.Lock()
			p.sent = maps.Clone(l.sent) // after: nothing else can be
			l.mu.Unlock()
			mu.Lock()
			points = append(points, p)
			mu.Unlock()
		}
	}
	fs := &vfs.Faulty{
		FS:     mem,
		Before: func(op vfs.Op) error { crash("before", op); return nil },
		After:  func(op vfs.Op, err error) error { crash("after", op); return err },
	}
	w := open(t, wrap(fs), small)
	workload(t, w, l)
	w.close(true)
	if got := len(files(t, mem)); got < 4 {
		t.Errorf("the workload made %d blocks, want at least 4", got)
	}
	return points
}

// workload sends some Exports from two clients side by side.
func workload(t *testing.T, w *world, l *ledger) {
	t.Helper()
	var clients sync.WaitGroup
	for c, sig := range []signal.Signal{signal.Logs, signal.Traces} {
		clients.Go(func() {
			for i := range 30 {
				if err := l.submit(w, sig, fmt.Sprintf("c%d-%d", c, i), 1+i%7); err != nil {
					t.Errorf("submit: %v", err)
				}
			}
		})
	}
	clients.Wait()
}

// check recovers p and returns what is wrong with the result.
func check(t *testing.T, p cutPoint) []string {
	w, err := tryOpen(t, p.fs, small)
	if err != nil {
		return []string{"does not open: " + err.Error()}
	}
	defer w.close(true)
	found := w.rows()
	var wrong []string
	for name := range p.acked {
		if found[name] == 0 {
			wrong = append(wrong, "lost "+name)
		}
	}
	for name, n := range found {
		if n > 1 {
			wrong = append(wrong, fmt.Sprintf("%d times %s", n, name))
		}
		if !p.sent[name] {
			wrong = append(wrong, "never sent "+name)
		}
	}
	return wrong
}

// checkAll checks the points side by side and returns how many are wrong, with one example.
func checkAll(t *testing.T, points []cutPoint) (bad int, example string) {
	t.Helper()
	var (
		mu   sync.Mutex // guards bad, example
		wg   sync.WaitGroup
		next = make(chan cutPoint)
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for p := range next {
				wrong := check(t, p)
				if len(wrong) == 0 {
					continue
				}
				mu.Lock()
				bad++
				example = p.what + ": " + strings.Join(wrong[:min(3, len(wrong))], ", ")
				mu.Unlock()
			}
		})
	}
	for _, p := range points {
		next <- p
	}
	close(next)
	wg.Wait()
	return bad, example
}

var everyCut = []vfs.Cut{{Mode: vfs.Drop}, {Mode: vfs.Keep}, {Mode: vfs.Torn, Seed: 1}, {Mode: vfs.Garbage, Seed: 2}, {Mode: vfs.Kill}}

func asIs(fs vfs.FS) vfs.FS { return fs }

func TestCrashAtEveryOperationKeepsEveryAcknowledgedRecordOnce(t *testing.T) {
	points := cuts(t, asIs, everyCut...)
	bad, example := checkAll(t, points)
	if bad > 0 {
		t.Errorf("%d of %d crashes: %s", bad, len(points), example)
	}
	t.Logf("%d crash points", len(points))
}

func TestCrashInRecoveryKeepsEveryAcknowledgedRecordOnce(t *testing.T) {
	points := cuts(t, asIs, vfs.Cut{Mode: vfs.Drop}, vfs.Cut{Mode: vfs.Kill})
	var second []cutPoint
	for i, p := range points {
		if i%29 != 0 {
			continue
		}
		var mu sync.Mutex // guards second
		crash := func(when string, op vfs.Op) {
			if !op.Kind.Mutates() {
				return
			}
			for _, m := range []vfs.CrashMode{vfs.Drop, vfs.Torn} {
				q := p
				q.what = fmt.Sprintf("%s, then %s %s, %s", p.what, when, op, m)
				q.fs = p.fs.CrashClone(vfs.Cut{Mode: m, Seed: uint64(op.N)})
				mu.Lock()
				second = append(second, q)
				mu.Unlock()
			}
		}
		fs := &vfs.Faulty{
			FS:     p.fs,
			Before: func(op vfs.Op) error { crash("before", op); return nil },
			After:  func(op vfs.Op, err error) error { crash("after", op); return err },
		}
		open(t, fs, small).close(false)
	}
	if bad, example := checkAll(t, second); bad > 0 {
		t.Errorf("%d of %d crashes: %s", bad, len(second), example)
	}
	t.Logf("%d crash points in recovery", len(second))
}

// skipSync leaves out one kind of sync, as a mistake in the code would.
type skipSync struct {
	vfs.FS
	kind vfs.Kind
	on   string // part of the name
}

func (s skipSync) SyncDir(dir string) error {
	if s.kind == vfs.OpSyncDir && strings.Contains(dir, s.on) {
		return nil
	}
	return s.FS.SyncDir(dir)
}

func (s skipSync) Create(name string) (vfs.File, error) {
	f, err := s.FS.Create(name)
	return s.file(name, f), err
}

func (s skipSync) OpenReadWrite(name string) (vfs.File, error) {
	f, err := s.FS.OpenReadWrite(name)
	return s.file(name, f), err
}

func (s skipSync) file(name string, f vfs.File) vfs.File {
	if f != nil && s.kind == vfs.OpSync && strings.Contains(name, s.on) {
		return unsynced{f}
	}
	return f
}

type unsynced struct{ vfs.File }

func (unsynced) Sync() error { return nil }

func TestCrashTestCatchesAForgottenSync(t *testing.T) {
	for name, skip := range map[string]skipSync{
		"log files":         {kind: vfs.OpSync, on: "wal"},
		"block files":       {kind: vfs.OpSync, on: "blocks"},
		"log directory":     {kind: vfs.OpSyncDir, on: "wal"},
		"block directories": {kind: vfs.OpSyncDir, on: "blocks"},
	} {
		t.Run(name, func(t *testing.T) {
			points := cuts(t, func(fs vfs.FS) vfs.FS { skip.FS = fs; return skip }, vfs.Cut{Mode: vfs.Drop})
			if bad, _ := checkAll(t, points); bad == 0 {
				t.Errorf("%d crashes without this sync, and none lost anything: the test is blind", len(points))
			}
		})
	}
}
