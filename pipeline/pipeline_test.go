package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"mira/pipeline"
	"mira/storage/signal"
	"mira/storage/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mustHold fails unless the store holds exactly the acknowledged records, once each.
func mustHold(t *testing.T, w *world, l *ledger) {
	t.Helper()
	found := w.rows()
	for name := range l.acked {
		if found[name] != 1 {
			t.Errorf("record %s is there %d times, want once", name, found[name])
		}
	}
	for name := range found {
		if !l.acked[name] {
			t.Errorf("record %s is there and was never acknowledged", name)
		}
	}
}

func TestAcknowledgedRecordIsInTheNextAnswer(t *testing.T) {
	fs, l := vfs.NewMem(), newLedger()
	w := open(t, fs, small)
	for i := range 50 { // across several seals
		if err := l.submit(w, signal.Logs, fmt.Sprint(i), 3); err != nil {
			t.Fatal(err)
		}
		mustHold(t, w, l)
	}
	w.close(true)
	w = open(t, fs, small)
	mustHold(t, w, l)
	w.close(true)
}

func TestReceiptNamesTheBlock(t *testing.T) {
	w := open(t, vfs.NewMem(), small)
	defer w.close(true)
	r, err := w.Submit(context.Background(), export(signal.Logs, "a", 1))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("logs/%08x.0.", w.store.Node()); !strings.HasPrefix(r.String(), want) {
		t.Errorf("receipt %s does not begin with %s", r, want)
	}
	snap, err := w.store.Snapshot(context.Background(), signal.Logs, 0, 1<<63)
	if err != nil {
		t.Fatal(err)
	}
	if len(snap.Open) != 1 || snap.Open[0].ID != r.Block {
		t.Errorf("open blocks %v, want just %s", snap.Open, r.Block)
	}
}

func TestRebuiltBlocksAreByteIdentical(t *testing.T) {
	fs, l := vfs.NewMem(), newLedger()
	w := open(t, fs, small)
	for i := range 40 {
		sig := []signal.Signal{signal.Logs, signal.Traces}[i%2]
		if err := l.submit(w, sig, fmt.Sprint(i), 1+i%5); err != nil {
			t.Fatal(err)
		}
	}
	crashed := fs.CrashClone(vfs.Cut{Mode: vfs.Drop})
	w.close(true)
	again := open(t, crashed, small)
	mustHold(t, again, l)
	again.close(true)
	want, got := files(t, fs), files(t, crashed)
	if len(want) < 3 {
		t.Fatalf("only %d blocks", len(want))
	}
	if !maps.Equal(want, got) {
		t.Errorf("got blocks\n%s\nwant\n%s", names(got), names(want))
	}
}

func names(m map[string]string) string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	return strings.Join(list, "\n")
}

func TestPayloadIsFreedOnceWhateverHappens(t *testing.T) {
	w := open(t, vfs.NewMem(), small)
	var freed atomic.Int32
	e := export(signal.Logs, "a", 1)
	e.Free = func() { freed.Add(1) }
	if _, err := w.Submit(context.Background(), e); err != nil {
		t.Fatal(err)
	}
	w.close(true)
	if _, err := w.Submit(context.Background(), e); !errors.Is(err, pipeline.ErrUnavailable) {
		t.Errorf("after the end: got %v, want ErrUnavailable", err)
	}
	if got := freed.Load(); got != 2 {
		t.Errorf("freed %d times, want once per Submit", got)
	}
}

func TestBlockIsPublishedAtItsAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, l := vfs.NewMem(), newLedger()
		o := small
		o.BlockAge = time.Minute
		w := open(t, fs, o)
		if err := l.submit(w, signal.Logs, "a", 1); err != nil {
			t.Fatal(err)
		}
		<-time.After(59 * time.Second)
		if err := l.submit(w, signal.Logs, "b", 1); err != nil {
			t.Fatal(err)
		}
		if n := len(files(t, fs)); n != 0 {
			t.Errorf("%d blocks before the age", n)
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if n := len(files(t, fs)); n != 1 {
			t.Errorf("%d blocks after the age, want 1", n)
		}
		mustHold(t, w, l)
		<-time.After(2 * time.Minute)
		if n := len(files(t, fs)); n != 1 {
			t.Errorf("%d blocks though nothing came, want 1", n)
		}
		w.close(true)
	})
}

func TestFullDiskRefusesKeepsReadingAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, l := vfs.NewMem(), newLedger()
		o := small
		o.AdmitWait = time.Second
		w := open(t, fs, o)
		fs.SetCapacity(90 << 10)
		var refused error
		for i := 0; i < 1000 && (refused == nil || ok(w)); i++ { // one more block may find room
			if err := l.submit(w, signal.Logs, fmt.Sprint(i), 5); err != nil {
				refused = err
			}
			<-time.After(10 * time.Millisecond)
		}
		if !errors.Is(refused, pipeline.ErrUnavailable) || !errors.Is(refused, syscall.ENOSPC) {
			t.Fatalf("on a full disk: got %v, want a retryable refusal that says so", refused)
		}
		mustHold(t, w, l)
		if ok(w) {
			t.Error("the checks are green on a full disk")
		}
		fs.SetCapacity(10 << 20)
		<-time.After(10 * time.Second)
		if err := l.submit(w, signal.Logs, "after", 5); err != nil {
			t.Errorf("after space returned: %v", err)
		}
		mustHold(t, w, l)
		w.close(true)
		w = open(t, fs, small)
		mustHold(t, w, l)
		w.close(true)
	})
}

func ok(w *world) bool {
	for _, c := range w.store.Health() {
		if !c.OK {
			return false
		}
	}
	return true
}

func TestFullDiskAtStartIsNoReasonNotToStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, l := vfs.NewMem(), newLedger()
		w := open(t, fs, small)
		for i := range 5 {
			if err := l.submit(w, signal.Logs, fmt.Sprint(i), 3); err != nil {
				t.Fatal(err)
			}
		}
		w.close(false) // the records are in the log alone
		fs.SetCapacity(1)
		w = open(t, fs, small)
		mustHold(t, w, l)
		fs.SetCapacity(10 << 20)
		<-time.After(10 * time.Second)
		mustHold(t, w, l)
		if n := len(files(t, fs)); n != 1 {
			t.Errorf("%d blocks once there is room, want 1", n)
		}
		w.close(true)
	})
}

func TestFailedSyncEndsAllAcknowledging(t *testing.T) {
	mem, l := vfs.NewMem(), newLedger()
	var broken atomic.Bool
	fs := &vfs.Faulty{FS: mem, Before: func(op vfs.Op) error {
		if op.Kind == vfs.OpSync && strings.Contains(op.Name, "wal") && broken.CompareAndSwap(true, false) {
			return syscall.EIO // once: the next one would claim to succeed
		}
		return nil
	}}
	w := open(t, fs, small)
	if err := l.submit(w, signal.Logs, "before", 2); err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	for _, name := range []string{"during", "after"} {
		_, err := w.Submit(context.Background(), export(signal.Logs, name, 2))
		var r *pipeline.Refusal
		if !errors.Is(err, pipeline.ErrUnavailable) || !errors.As(err, &r) || r.RetryAfter <= 0 {
			t.Errorf("%s: got %v, want ErrUnavailable with a delay", name, err)
		}
	}
	if ok(w) {
		t.Error("the checks are green on a poisoned log")
	}
	if _, busy := w.Pressure(); !busy {
		t.Error("no pressure from a poisoned log")
	}
	w.close(false)
	w = open(t, mem.CrashClone(vfs.Cut{Mode: vfs.Drop}), small)
	defer w.close(true)
	mustHold(t, w, l)
}

func TestTooManyRecordsInOneExportAreRefusedForGood(t *testing.T) {
	w := open(t, vfs.NewMem(), small)
	defer w.close(true)
	e := export(signal.Logs, "a", 1)
	e.Records = pipeline.MaxRecords + 1
	if _, err := w.Submit(context.Background(), e); !errors.Is(err, pipeline.ErrUnstorable) || !strings.Contains(err.Error(), "in parts") {
		t.Errorf("got %v, want ErrUnstorable that says what to do", err)
	}
}

func TestBlockThatGrowsInMemoryIsSealed(t *testing.T) {
	fs := vfs.NewMem()
	o := small
	o.BlockBytes, o.MaxColumns = 4<<20, 4096 // neither is reached
	w := open(t, fs, o)
	for i := range 12 { // few bytes, but every Export brings columns that all rows then have
		if _, err := w.Submit(context.Background(), sparse(fmt.Sprint(i), 1000, 60)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.store.Snapshot(context.Background(), signal.Logs, 0, 1); err != nil { // the columns are filled
			t.Fatal(err)
		}
	}
	w.close(true)
	if n := len(files(t, fs)); n < 2 {
		t.Errorf("%d blocks, want several: the columns took more than their share of memory", n)
	}
}

// sparse makes an Export of n log records, the first of which has attributes that no other Export has.
func sparse(name string, n, keys int) pipeline.Export {
	list := make([]*logs.LogRecord, n)
	for i := range list {
		list[i] = &logs.LogRecord{}
	}
	for k := range keys {
		list[0].Attributes = append(list[0].Attributes, &common.KeyValue{
			Key: fmt.Sprintf("%s.%d", name, k), Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: 1 << 40}},
		})
	}
	b, err := proto.Marshal(&collogs.ExportLogsServiceRequest{ResourceLogs: []*logs.ResourceLogs{{ScopeLogs: []*logs.ScopeLogs{{LogRecords: list}}}}})
	if err != nil {
		panic(err)
	}
	return pipeline.Export{Signal: signal.Logs, Payload: b, Records: n, Received: time.Unix(2e9, 0)}
}

func TestManyClientsFindTheirOwnRecords(t *testing.T) {
	fs, l := vfs.NewMem(), newLedger()
	w := open(t, fs, small)
	var clients sync.WaitGroup
	for c := range 16 {
		clients.Go(func() {
			for i := range 20 {
				name := fmt.Sprintf("%d-%d", c, i)
				if err := l.submit(w, signal.Logs, name, 2); err != nil {
					t.Errorf("submit: %v", err)
				}
				if c == 0 && w.rows()[name+".1"] != 1 {
					t.Errorf("record %s.1 is not in the next answer", name)
				}
			}
		})
	}
	clients.Wait()
	mustHold(t, w, l)
	w.close(true)
}

func TestTwoRestartsWithoutASealKeepOneCopy(t *testing.T) {
	fs, l := vfs.NewMem(), newLedger()
	for i := range 4 {
		w := open(t, fs, small)
		if err := l.submit(w, signal.Logs, fmt.Sprint(i), 3); err != nil {
			t.Fatal(err)
		}
		w.close(false)
	}
	w := open(t, fs, small)
	mustHold(t, w, l)
	w.close(true)
}

func TestBlockNumbersAreNeverReused(t *testing.T) {
	fs := vfs.NewMem()
	seen := map[signal.BlockID]bool{}
	for range 5 {
		w := open(t, fs, small)
		for i := range 20 {
			r, err := w.Submit(context.Background(), export(signal.Logs, fmt.Sprint(i), 4))
			if err != nil {
				t.Fatal(err)
			}
			seen[r.Block] = true
		}
		w.close(true)
		for name := range files(t, fs) { // as retention will
			if err := fs.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		w = open(t, fs, small)
		r, err := w.Submit(context.Background(), export(signal.Logs, "x", 1))
		if err != nil {
			t.Fatal(err)
		}
		if seen[r.Block] {
			t.Fatalf("block %s was given out twice", r.Block)
		}
		w.close(true)
	}
}

func TestDamagedBlockIsRebuiltWhileTheLogHoldsIt(t *testing.T) {
	fs, l := vfs.NewMem(), newLedger()
	w := open(t, fs, small)
	for i := range 5 {
		if err := l.submit(w, signal.Logs, fmt.Sprint(i), 3); err != nil {
			t.Fatal(err)
		}
	}
	before := fs.CrashClone(vfs.Cut{Mode: vfs.Keep}) // the log holds everything
	w.close(true)
	for name, b := range files(t, fs) { // the published block, damaged, beside that log
		if err := vfs.MkdirAll(before, name[:strings.LastIndex(name, "/")]); err != nil {
			t.Fatal(err)
		}
		f, err := before.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		broken := []byte(b)
		broken[len(b)/2] ^= 1
		if _, err := f.WriteAt(broken, 0); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	w = open(t, before, small)
	mustHold(t, w, l)
	if got := w.store.Stats().Damaged; got != 1 {
		t.Errorf("damage counter is %d, want 1", got)
	}
	w.close(true)
	if !maps.Equal(files(t, before), files(t, fs)) {
		t.Error("the rebuilt block differs from the original")
	}
}
