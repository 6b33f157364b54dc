package pipeline_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"mira/pipeline"
	"mira/storage"
	"mira/storage/block"
	"mira/storage/column"
	"mira/storage/signal"
	"mira/storage/vfs"
)

const dir = "/data"

// world is a store with its pipeline over some file system.
type world struct {
	t     testing.TB
	store *storage.Store
	*pipeline.Pipeline
}

// small are options with which a few dozen Exports fill several blocks and segments.
var small = pipeline.Options{BlockBytes: 4 << 10, Shards: 2, AdmitWait: 30 * time.Second}

const smallSegment = 16 << 10

func open(t testing.TB, fs vfs.FS, o pipeline.Options) *world {
	t.Helper()
	w, err := tryOpen(t, fs, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return w
}

func tryOpen(t testing.TB, fs vfs.FS, o pipeline.Options) (*world, error) {
	store, err := storage.Open(storage.Options{Dir: dir, FS: fs, SegmentBytes: smallSegment, GroupRows: 64})
	if err != nil {
		return nil, err
	}
	o.Store = store
	p, err := pipeline.Open(o)
	if err != nil {
		store.Close()
		return nil, err
	}
	return &world{t: t, store: store, Pipeline: p}, nil
}

// close ends w; drain publishes what is open first.
func (w *world) close(drain bool) {
	w.t.Helper()
	if drain {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.Drain(ctx); err != nil {
			w.t.Errorf("drain: %v", err)
		}
	}
	w.Close()
	w.store.Close()
}

// export makes an Export of n records named name.0, name.1, …
func export(sig signal.Signal, name string, n int) pipeline.Export {
	res := &resource.Resource{Attributes: []*common.KeyValue{text("service.name", "test")}}
	var m proto.Message
	switch sig {
	case signal.Logs:
		var list []*logs.LogRecord
		for i := range n {
			list = append(list, &logs.LogRecord{
				TimeUnixNano: uint64(1e18 + i), Body: text("", fmt.Sprintf("%s.%d", name, i)).Value,
				Attributes: []*common.KeyValue{text("pad", strings.Repeat("x", 40))},
			})
		}
		m = &collogs.ExportLogsServiceRequest{ResourceLogs: []*logs.ResourceLogs{{Resource: res, ScopeLogs: []*logs.ScopeLogs{{LogRecords: list}}}}}
	case signal.Traces:
		var list []*trace.Span
		for i := range n {
			list = append(list, &trace.Span{Name: fmt.Sprintf("%s.%d", name, i), StartTimeUnixNano: uint64(1e18 + i)})
		}
		m = &coltrace.ExportTraceServiceRequest{ResourceSpans: []*trace.ResourceSpans{{Resource: res, ScopeSpans: []*trace.ScopeSpans{{Spans: list}}}}}
	}
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return pipeline.Export{Signal: sig, Payload: b, Records: n, Received: time.Unix(2e9, 0)}
}

func text(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

// nameColumn holds what export calls a record.
var nameColumn = map[signal.Signal]string{signal.Logs: "body", signal.Traces: "name"}

// rows returns how often each record is stored.
func (w *world) rows() map[string]int {
	w.t.Helper()
	found := map[string]int{}
	for sig, name := range nameColumn {
		snap, err := w.store.Snapshot(context.Background(), sig, 0, math.MaxUint64)
		if err != nil {
			w.t.Fatalf("snapshot: %v", err)
		}
		for _, v := range snap.Open {
			count(found, v.Table.Column(name))
		}
		for _, b := range snap.Blocks {
			if err := eachGroup(w.store, b, func(t *column.Table) { count(found, t.Column(name)) }); err != nil {
				w.t.Errorf("read block %s: %v", b.Path(), err)
			}
		}
	}
	return found
}

func eachGroup(s *storage.Store, b block.Info, fn func(*column.Table)) error {
	r, err := s.OpenBlock(b)
	if err != nil {
		return err
	}
	defer r.Close()
	for i := range r.Groups() {
		t, err := r.Group(i, nil)
		if err != nil {
			return err
		}
		fn(t)
	}
	return nil
}

func count(found map[string]int, c *column.Column) {
	for i := range c.Len {
		found[string(c.Bytes(i))]++
	}
}

// files returns the block files of fs by their path.
func files(t testing.TB, fs vfs.FS) map[string]string {
	t.Helper()
	all := map[string]string{}
	var walk func(string)
	walk = func(at string) {
		list, err := fs.List(at)
		if err != nil {
			t.Fatalf("list %s: %v", at, err)
		}
		for _, e := range list {
			path := filepath.Join(at, e.Name)
			if e.Dir {
				walk(path)
				continue
			}
			all[path] = string(content(t, fs, path))
		}
	}
	walk(filepath.Join(dir, "blocks"))
	return all
}

func content(t testing.TB, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, n)
	if n > 0 {
		if _, err := f.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// ledger is what the clients know.
type ledger struct {
	mu    sync.Mutex
	sent  map[string]bool // handed to Submit
	acked map[string]bool // and acknowledged
	gone  map[string]bool // and refused for good
}

func newLedger() *ledger {
	return &ledger{sent: map[string]bool{}, acked: map[string]bool{}, gone: map[string]bool{}}
}

func (l *ledger) note(set map[string]bool, name string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range n {
		set[fmt.Sprintf("%s.%d", name, i)] = true
	}
}

// submit sends one Export and notes how it went.
func (l *ledger) submit(w *world, sig signal.Signal, name string, n int) error {
	l.note(l.sent, name, n)
	_, err := w.Submit(context.Background(), export(sig, name, n))
	if err == nil {
		l.note(l.acked, name, n)
	} else {
		l.note(l.gone, name, n)
	}
	return err
}
