package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"mira/pipeline"
	"mira/storage/signal"
	"mira/storage/vfs"
)

// follow returns a Follower that ends with the test.
func follow(t *testing.T, w *world, sig signal.Signal) *pipeline.Follower {
	t.Helper()
	f, err := w.Follow(sig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func store(t *testing.T, w *world, sig signal.Signal, name string, n int) {
	t.Helper()
	if _, err := w.Submit(context.Background(), export(sig, name, n)); err != nil {
		t.Fatal(err)
	}
}

// read takes rows until the Follower has had, or missed, n of them.
func read(t *testing.T, f *pipeline.Follower, column string, n int) (found map[string]int, missed int) {
	t.Helper()
	found = map[string]int{}
	for had := 0; had < n; {
		tables, lost, err := f.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		missed += lost
		had += lost
		for _, table := range tables {
			count(found, table.Column(column))
			had += table.Rows
		}
	}
	return found, missed
}

func TestFollowerSeesWhatIsStoredFromNowOn(t *testing.T) {
	w := open(t, vfs.NewMem(), small)
	defer w.close(true)
	store(t, w, signal.Logs, "before", 3)
	w.rows() // it is in the columns
	a, b := follow(t, w, signal.Logs), follow(t, w, signal.Logs)
	store(t, w, signal.Traces, "other", 3)
	for i := range 50 { // across several seals
		store(t, w, signal.Logs, fmt.Sprint(i), 3)
	}
	for _, f := range []*pipeline.Follower{a, b} {
		found, missed := read(t, f, "body", 150)
		if len(found) != 150 || missed != 0 || found["0.0"] != 1 || found["49.2"] != 1 {
			t.Errorf("got %d different rows, %d missed, want 150 once each: %v", len(found), missed, found)
		}
	}
}

func TestSlowFollowerIsToldHowManyRowsItMissed(t *testing.T) {
	w := open(t, vfs.NewMem(), pipeline.Options{Shards: 1})
	defer w.close(true)
	f := follow(t, w, signal.Logs)
	const exports = 1500
	for i := range exports {
		store(t, w, signal.Logs, fmt.Sprint(i), 2)
	}
	w.rows() // everything is in the columns
	found, missed := read(t, f, "body", 2*exports)
	if missed == 0 || len(found)+missed != 2*exports || found["1499.1"] != 1 {
		t.Errorf("got %d rows and %d missed, want %d in all, the last among them", len(found), missed, 2*exports)
	}
	if st := w.Stats(); st.Missed != int64(missed) || st.Tails != 1 {
		t.Errorf("stats say %d missed of %d, want %d of 1", st.Missed, st.Tails, missed)
	}
}

func TestExportTooLargeToKeepIsMissed(t *testing.T) {
	w := open(t, vfs.NewMem(), pipeline.Options{Shards: 1, BlockBytes: 64 << 20})
	defer w.close(true)
	f := follow(t, w, signal.Logs)
	store(t, w, signal.Logs, "large", 300_000)
	store(t, w, signal.Logs, "small", 2)
	if found, missed := read(t, f, "body", 300_002); missed != 300_000 || found["small.1"] != 1 {
		t.Errorf("got %d rows, %d missed, want 2 and 300000", len(found), missed)
	}
}

func TestFollowersAreBounded(t *testing.T) {
	w := open(t, vfs.NewMem(), small)
	defer w.close(true)
	var last *pipeline.Follower
	for i := range 64 {
		last = follow(t, w, signal.All[i%len(signal.All)])
	}
	if _, err := w.Follow(signal.Logs); !errors.Is(err, pipeline.ErrBusy) {
		t.Errorf("one too many: got %v, want %v", err, pipeline.ErrBusy)
	}
	last.Close()
	last.Close() // once more changes nothing
	follow(t, w, signal.Logs)
	if _, err := w.Follow(signal.Logs); !errors.Is(err, pipeline.ErrBusy) {
		t.Errorf("again one too many: got %v, want %v", err, pipeline.ErrBusy)
	}
}

func TestFollowersEndWhenTheServerDrains(t *testing.T) {
	w := open(t, vfs.NewMem(), small)
	defer w.close(true)
	f := follow(t, w, signal.Logs)
	store(t, w, signal.Logs, "last", 1)
	w.rows()
	w.StopFollowing()
	if found, _ := read(t, f, "body", 1); found["last.0"] != 1 {
		t.Errorf("got %v, want the row that was there", found)
	}
	if _, _, err := f.Next(context.Background()); err != io.EOF {
		t.Errorf("got %v, want %v", err, io.EOF)
	}
	if _, err := w.Follow(signal.Logs); !errors.Is(err, pipeline.ErrUnavailable) {
		t.Errorf("a new one: got %v, want %v", err, pipeline.ErrUnavailable)
	}
}

func TestFollowerThatWaitsEndsWithItsContext(t *testing.T) {
	w := open(t, vfs.NewMem(), small)
	defer w.close(true)
	f := follow(t, w, signal.Logs)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := f.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
