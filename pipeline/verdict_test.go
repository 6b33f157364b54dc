package pipeline_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mira/pipeline"
	"mira/pipeline/explain"
	"mira/storage"
	"mira/storage/signal"
	"mira/storage/stage"
	"mira/storage/vfs"
)

// watched is a world that is explained. Its CPUs are idle as far as the watch is told.
func watched(t *testing.T, fs vfs.FS, o pipeline.Options) (*world, *explain.Watch) {
	t.Helper()
	o.Stages = &stage.Set{}
	store, err := storage.Open(storage.Options{Dir: dir, FS: fs, SegmentBytes: smallSegment, GroupRows: 64, Stages: o.Stages})
	if err != nil {
		t.Fatal(err)
	}
	o.Store = store
	p, err := pipeline.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	state := func() explain.State {
		st := p.Stats()
		n := st.Signals[signal.Logs.String()]
		return explain.State{
			Records: n.Records, Exports: n.Exports, Bytes: n.Bytes,
			Gauges: explain.Gauges{BudgetUsed: st.Used, Budget: st.Budget, Parked: st.Parked, InFlight: st.Flying},
		}
	}
	usage := func() explain.Usage { return explain.Usage{} }
	return &world{t: t, store: store, Pipeline: p}, explain.New(explain.Sources{Stages: o.Stages, Usage: usage, State: state})
}

// slow makes each operation of a kind on files with that in their path take its time.
func slow(kind vfs.Kind, part string, takes time.Duration) vfs.FS {
	return &vfs.Faulty{FS: vfs.NewMem(), Before: func(op vfs.Op) error {
		if op.Kind == kind && strings.Contains(op.Name, part) {
			<-time.After(takes)
		}
		return nil
	}}
}

// flood sends Exports from several clients until the time is over.
func flood(w *world, clients int, length, pause time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				_, _ = w.Submit(ctx, export(signal.Logs, fmt.Sprintf("%d.%d", c, i), 10)) // a late one is refused
				<-time.After(pause)
			}
		})
	}
	all.Wait()
}

func TestVerdictNamesTheDiskThatIsSlow(t *testing.T) {
	for _, c := range []struct {
		name    string
		fs      func() vfs.FS
		boundBy string
		says    string
	}{
		{"the log's sync", func() vfs.FS { return slow(vfs.OpSync, "/wal/", 20*time.Millisecond) }, stage.LogSync.String(), "log bound"},
		{"the log's write", func() vfs.FS { return slow(vfs.OpWrite, "/wal/", 20*time.Millisecond) }, stage.LogWrite.String(), "log bound"},
		{"the blocks' sync", func() vfs.FS { return slow(vfs.OpSync, ".tmp", 900*time.Millisecond) }, stage.FileSync.String(), "disk bound"},
		{"a directory", func() vfs.FS { return slow(vfs.OpRename, ".tmp", 900*time.Millisecond) }, stage.Rename.String(), "disk bound"},
		{"nothing", func() vfs.FS { return vfs.NewMem() }, explain.BoundClient, "nobody waits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := small
				o.BlockBytes = 16 << 10
				w, watch := watched(t, c.fs(), o)
				flood(w, 16, explain.Window+2*time.Second, 10*time.Millisecond)
				r := watch.Report(true)
				if r.BoundBy != c.boundBy || !strings.Contains(r.Verdict, c.says) {
					t.Errorf("bound by %s: %s; want %s and %q", r.BoundBy, r.Verdict, c.boundBy, c.says)
				}
				watch.Close()
				w.close(true)
			})
		})
	}
}
