package wal_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mira/storage/frame"
	"mira/storage/signal"
	"mira/storage/stage"
	"mira/storage/vfs"
	"mira/storage/wal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small makes segments so short that a few frames fill one: two pages, one of them the header.
func small(fs vfs.FS) wal.Options {
	return wal.Options{FS: fs, Dir: "/data/wal", SegmentBytes: 8192, Window: time.Microsecond}
}

func block(seq int) signal.BlockID {
	return signal.BlockID{Signal: signal.Logs, Node: 7, Shard: 1, Seq: uint64(seq)}
}

// numbered makes a frame that can be told by its number, and whose payload follows from it.
func numbered(n, length int, id signal.BlockID) frame.Frame {
	return frame.Frame{Block: id, Received: int64(n), Records: uint32(length), Payload: payload(n, length)}
}

func payload(n, length int) []byte {
	text := fmt.Sprintf("frame %d;", n)
	return []byte(strings.Repeat(text, length/len(text)+1)[:length])
}

// replayed is one recovery: the numbers of the frames that came back, in their order.
func replayed(l *wal.Log) (numbers []int, r wal.Report, err error) {
	r, err = l.Replay(func(f frame.Frame) error {
		if want := payload(int(f.Received), int(f.Records)); !bytes.Equal(f.Payload, want) {
			return fmt.Errorf("frame %d came back as %.40q, want %.40q", f.Received, f.Payload, want)
		}
		numbers = append(numbers, int(f.Received))
		return nil
	})
	return numbers, r, err
}

// started opens a log, replays and starts it.
func started(t testing.TB, o wal.Options) (*wal.Log, []int, wal.Report) {
	t.Helper()
	l, err := wal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	numbers, r, err := replayed(l)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, numbers, r
}

// look replays without changing anything.
func look(t testing.TB, o wal.Options) ([]int, wal.Report) {
	t.Helper()
	l, err := wal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	numbers, r, err := replayed(l)
	if err != nil {
		t.Fatal(err)
	}
	return numbers, r
}

func appendAll(t testing.TB, l *wal.Log, from, to, length int, id signal.BlockID) {
	t.Helper()
	for n := from; n <= to; n++ {
		if _, err := l.Append(numbered(n, length, id), signal.Sync, nil); err != nil {
			t.Fatalf("append %d: %v", n, err)
		}
	}
}

func closed(t testing.TB, l *wal.Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// waitFor returns when so many frames are in the queue.
func waitFor(l *wal.Log, frames int) {
	for l.Stats().Waiting < frames {
		runtime.Gosched()
	}
}

func upTo(n int) []int { return between(1, n) }

func between(a, b int) (list []int) {
	for i := a; i <= b; i++ {
		list = append(list, i)
	}
	return list
}

func wantNumbers(t testing.TB, got, want []int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("frames came back: %v\nwant: %v", got, want)
	}
}

// files lists the names in a directory, without it.
func files(t testing.TB, fs vfs.FS, dir string) (names []string) {
	t.Helper()
	list, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name)
	}
	return names
}

func TestFramesComeBackInOrder(t *testing.T) {
	fs := vfs.NewMem()
	l, _, _ := started(t, small(fs))
	for n := 1; n <= 200; n++ { // every padding, many segments
		if _, err := l.Append(numbered(n, n*7%1000, block(n)), signal.Sync, nil); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, l)
	got, r := look(t, small(fs))
	wantNumbers(t, got, upTo(200))
	if r.Torn != 0 || len(r.Damaged) != 0 || r.Gaps != 0 || r.Segments < 20 {
		t.Errorf("report of a clean log: %+v", r)
	}
}

func TestEmptyLogStarts(t *testing.T) {
	fs := vfs.NewMem()
	for range 3 {
		l, got, r := started(t, small(fs))
		if len(got) != 0 || len(r.Damaged) != 0 || r.Torn != 0 {
			t.Errorf("an empty log gave %v, %+v", got, r)
		}
		closed(t, l)
	}
	if names := files(t, fs, "/data/wal"); len(names) != 1 {
		t.Errorf("an empty log that was opened thrice keeps %v, want one segment", names)
	}
}

// told is an Owner that remembers.
type told struct {
	mu   sync.Mutex // guards seqs
	seqs []uint64
}

func (o *told) Logged(seq uint64, _, _ stage.Mark) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seqs = append(o.seqs, seq)
}

func TestOwnersAreToldInLogOrderBeforeAppendReturns(t *testing.T) {
	fs := vfs.NewMem()
	o := small(fs)
	l, _, _ := started(t, o)
	var all told
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				seq, err := l.Append(numbered(g*50+i, 100, block(1)), signal.Sync, &all)
				all.mu.Lock()
				if err != nil || !slices.Contains(all.seqs, seq) {
					t.Errorf("append returned %d, %v; the owner knew %d frames", seq, err, len(all.seqs))
				}
				all.mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(all.seqs) != 400 || !slices.IsSorted(all.seqs) || len(slices.Compact(slices.Clone(all.seqs))) != 400 {
		t.Errorf("owners were told of %d frames, sorted %v", len(all.seqs), slices.IsSorted(all.seqs))
	}
	last := all.seqs[399]
	closed(t, l)
	l, _, _ = started(t, o)
	seq, err := l.Append(numbered(400, 1, block(1)), signal.Sync, nil)
	if err != nil || seq <= last {
		t.Errorf("after a restart: seq %d, %v; want above %d", seq, err, last)
	}
}

// gate is an FS whose first sync of a segment waits after it was announced.
func gate(fs vfs.FS) (f *vfs.Faulty, arm func() (reached, open chan struct{})) {
	var mu sync.Mutex
	var reached, open chan struct{}
	f = &vfs.Faulty{FS: fs, Before: func(op vfs.Op) error {
		if op.Kind != vfs.OpSync {
			return nil
		}
		mu.Lock()
		r, o := reached, open
		reached, open = nil, nil
		mu.Unlock()
		if r != nil {
			close(r)
			<-o
		}
		return nil
	}}
	return f, func() (chan struct{}, chan struct{}) {
		mu.Lock()
		defer mu.Unlock()
		reached, open = make(chan struct{}), make(chan struct{})
		return reached, open
	}
}

func TestFramesThatWaitShareOneSync(t *testing.T) {
	f, arm := gate(vfs.NewMem())
	l, _, _ := started(t, wal.Options{FS: f, Dir: "/wal"})
	reached, open := arm()
	var wg sync.WaitGroup
	add := func(n int) {
		wg.Go(func() {
			if _, err := l.Append(numbered(n, 100, block(n)), signal.Sync, nil); err != nil {
				t.Error(err)
			}
		})
	}
	add(0)
	<-reached
	before := l.Stats()
	for n := range 100 {
		add(n + 1)
	}
	waitFor(l, 100)
	close(open)
	wg.Wait()
	after := l.Stats()
	if groups, syncs := after.Groups-before.Groups, after.Syncs-before.Syncs; groups != 1 || syncs != 2 {
		t.Errorf("100 frames behind a sync took %d groups and %d syncs, want 1 and 2 with the first", groups, syncs)
	}
}

func TestManyWaitersFitTheBuffersOfOneWrite(t *testing.T) {
	f, arm := gate(vfs.NewMem())
	o := wal.Options{FS: f, Dir: "/wal"}
	l, _, _ := started(t, o)
	reached, open := arm()
	var wg sync.WaitGroup
	const n = 1500
	for i := range n {
		wg.Go(func() {
			if _, err := l.Append(numbered(i, 33, block(1)), signal.Sync, nil); err != nil {
				t.Error(err)
			}
		})
		if i == 0 {
			<-reached
		}
	}
	waitFor(l, n-1)
	close(open)
	wg.Wait()
	if g := l.Stats().Groups; g != 4 {
		t.Errorf("%d frames took %d groups, want 1 and 3 of at most 511", n, g)
	}
	closed(t, l)
	got, _ := look(t, o)
	slices.Sort(got)
	wantNumbers(t, got, between(0, n-1))
}

func TestLargeFrameGetsASegmentOfItsOwnSize(t *testing.T) {
	fs := vfs.NewMem()
	l, _, _ := started(t, small(fs))
	appendAll(t, l, 1, 1, 100, block(1))
	appendAll(t, l, 2, 2, 50_000, block(2))
	appendAll(t, l, 3, 3, 100, block(3))
	l.Release(block(1)) // leaves a spare, which is too short for the next
	appendAll(t, l, 4, 4, 70_000, block(4))
	var onDisk int64
	entries, err := fs.List("/data/wal")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		onDisk += e.Size
	}
	if s := l.Stats(); s.Spares != 1 || s.LiveBytes+8192 != onDisk {
		t.Errorf("%d bytes on disk, stats %+v", onDisk, s)
	}
	closed(t, l)
	got, r := look(t, small(fs))
	wantNumbers(t, got, between(2, 4))
	if r.Segments != 3 || len(r.Damaged) > 0 {
		t.Errorf("report %+v, want 3 segments", r)
	}
}

func TestAppendRefusesWhatNoReplayWouldBelieve(t *testing.T) {
	l, _, _ := started(t, small(vfs.NewMem()))
	f := frame.Frame{Block: block(1), Payload: make([]byte, frame.MaxPayload+1)}
	if _, err := l.Append(f, signal.Sync, nil); !errors.Is(err, wal.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
}

func TestAppendOutsideStartAndCloseIsRefused(t *testing.T) {
	l, err := wal.Open(small(vfs.NewMem()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(numbered(1, 1, block(1)), signal.Sync, nil); err == nil {
		t.Error("append before Start: no error")
	}
	if err := l.Start(); err == nil {
		t.Error("Start before Replay: no error")
	}
	if _, _, err := replayed(l); err != nil {
		t.Fatal(err)
	}
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	if err := l.Start(); err == nil {
		t.Error("second Start: no error")
	}
	closed(t, l)
	closed(t, l)
	if _, err := l.Append(numbered(1, 1, block(1)), signal.Sync, nil); !errors.Is(err, wal.ErrClosed) {
		t.Errorf("append after Close: got %v, want ErrClosed", err)
	}
	if err := l.Start(); err == nil {
		t.Error("Start after Close: no error")
	}
}

func TestCloseDrainsTheQueue(t *testing.T) {
	for range 10 { // the committer sees the queue first, or the Close
		f, arm := gate(vfs.NewMem())
		o := wal.Options{FS: f, Dir: "/wal"}
		l, _, _ := started(t, o)
		reached, open := arm()
		var wg sync.WaitGroup
		for n := range 20 {
			wg.Go(func() {
				if _, err := l.Append(numbered(n, 10, block(1)), signal.Tier(n%3), nil); err != nil {
					t.Error(err)
				}
			})
			if n == 0 {
				<-reached
			}
		}
		waitFor(l, 19)
		ended := make(chan error)
		go func() { ended <- l.Close() }()
		for !l.Stats().Closed {
			runtime.Gosched()
		}
		close(open)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		wg.Wait()
		got, _ := look(t, o)
		slices.Sort(got)
		wantNumbers(t, got, between(0, 19))
	}
}

func TestNumbersOfBlocksGoUpOverRestarts(t *testing.T) {
	fs := vfs.NewMem()
	o := small(fs)
	l, _, _ := started(t, o)
	appendAll(t, l, 1, 1, 10, block(41))
	if n := l.NextBlock(); n != 42 {
		t.Errorf("next block after a frame for 41: %d", n)
	}
	closed(t, l)
	floor := uint64(100)
	o.Floor = func() uint64 { return floor }
	l, _, _ = started(t, o)
	l.Release(block(41))
	closed(t, l)
	o.Floor = nil
	l, err := wal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, _, err := replayed(l); err != nil {
		t.Fatal(err)
	}
	if n := l.NextBlock(); n != floor {
		t.Errorf("next block after a header with floor %d: %d", floor, n)
	}
}

func TestReplayStopsAtTheCallersError(t *testing.T) {
	fs := vfs.NewMem()
	l, _, _ := started(t, small(fs))
	appendAll(t, l, 1, 3, 10, block(1))
	closed(t, l)
	l, err := wal.Open(small(fs))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want := errors.New("enough")
	if _, err := l.Replay(func(frame.Frame) error { return want }); !errors.Is(err, want) {
		t.Errorf("got %v, want the caller's error", err)
	}
	if err := l.Start(); err == nil {
		t.Error("Start after half a Replay: no error")
	}
}
