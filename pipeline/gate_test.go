package pipeline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mira/storage/signal"
)

// testGate has shards that nobody fills: reservations stay until the test settles them.
func testGate(budget, block int64, shards int) *gate {
	g := &gate{budget: budget, block: block, wait: 5 * time.Second, idle: make(chan struct{})}
	for _, sig := range signal.All {
		for n := range shards {
			g.shards[sig] = append(g.shards[sig], &shard{
				sig: sig, n: uint16(n), wake: make(chan struct{}, 1),
				id: signal.BlockID{Signal: sig, Shard: uint16(n), Seq: uint64(n)},
			})
		}
	}
	return g
}

func must(t *testing.T, g *gate, sig signal.Signal, n int) *slot {
	t.Helper()
	s, err := g.reserve(context.Background(), sig, n)
	if err != nil {
		t.Fatalf("reserve %d bytes of %s: %v", n, sig, err)
	}
	return s
}

// publish plays the shard's part for everything reserved in it.
func publish(g *gate, s *shard, took time.Duration) {
	g.mu.Lock()
	n := s.slots
	g.mu.Unlock()
	g.settled(s, n)
	g.reopen(s, signal.BlockID{Signal: s.sig, Shard: s.n, Seq: s.id.Seq + 10}, took)
}

func TestReserveFillsTheFirstShardFirst(t *testing.T) {
	g := testGate(1<<20, 4*(1000+slotOverhead), 2)
	for i := range 4 {
		if s := must(t, g, signal.Logs, 1000); s.id.Shard != 0 {
			t.Errorf("reservation %d: got shard %d, want 0", i, s.id.Shard)
		}
	}
	if s := must(t, g, signal.Logs, 1000); s.id.Shard != 1 {
		t.Errorf("after shard 0 is full: got shard %d, want 1", s.id.Shard)
	}
	if !g.shards[signal.Logs][0].full {
		t.Error("the shard that had no room was not closed")
	}
}

func TestReserveParksAndIsServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := testGate(1<<20, 1000+slotOverhead, 1)
		must(t, g, signal.Logs, 1000)
		order := make(chan int, 3)
		for i := range 3 {
			go func() {
				must(t, g, signal.Logs, 1000)
				order <- i
			}()
			synctest.Wait()
		}
		for want := range 3 {
			publish(g, g.shards[signal.Logs][0], time.Millisecond)
			synctest.Wait()
			if got := <-order; got != want {
				t.Errorf("turn %d went to waiter %d", want, got)
			}
		}
	})
}

func TestReserveRefusesAfterItsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := testGate(1<<20, 1000+slotOverhead, 1)
		must(t, g, signal.Logs, 1000)
		start := time.Now()
		_, err := g.reserve(context.Background(), signal.Logs, 1000)
		var r *Refusal
		if !errors.Is(err, ErrBusy) || !errors.As(err, &r) {
			t.Fatalf("got %v, want a Refusal for ErrBusy", err)
		}
		if waited := time.Since(start); waited != g.wait {
			t.Errorf("waited %s, want %s", waited, g.wait)
		}
		if r.RetryAfter < time.Second {
			t.Errorf("retry after %s, want at least a second", r.RetryAfter)
		}
		if len(g.parked) != 0 || g.queued != 0 {
			t.Errorf("left in line: %d waiters, %d bytes", len(g.parked), g.queued)
		}
	})
}

// TestNobodyWaitsForADiskThatTakesNoBlocks checks that the refusal comes at once and names the
// disk, for those in line and for those who come, and that both end with the next block.
func TestNobodyWaitsForADiskThatTakesNoBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := testGate(1<<20, 1000+slotOverhead, 1)
		must(t, g, signal.Logs, 1000)
		full := errors.New("no space left on device")
		start := time.Now()
		go func() {
			<-time.After(g.wait / 2)
			g.fail(full)
		}()
		for range 2 {
			_, err := g.reserve(context.Background(), signal.Logs, 1000)
			if !errors.Is(err, ErrUnavailable) || !errors.Is(err, full) {
				t.Errorf("got %v, want the disk's error", err)
			}
		}
		if waited := time.Since(start); waited != g.wait/2 {
			t.Errorf("waited %s, want %s, until the disk failed", waited, g.wait/2)
		}
		publish(g, g.shards[signal.Logs][0], time.Millisecond)
		must(t, g, signal.Logs, 1000)
		if _, err := g.reserve(context.Background(), signal.Logs, 1000); !errors.Is(err, ErrBusy) {
			t.Errorf("after a block was published: got %v, want ErrBusy", err)
		}
	})
}

func TestReserveEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := testGate(1<<20, 1000+slotOverhead, 1)
		must(t, g, signal.Logs, 1000)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := g.reserve(ctx, signal.Logs, 1000); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
	})
}

func TestRetryDelayFollowsTheDrainRate(t *testing.T) {
	g := testGate(1<<30, 10<<20, 1)
	must(t, g, signal.Logs, 10<<20-slotOverhead)
	publish(g, g.shards[signal.Logs][0], time.Second) // 10 MiB/s
	g.queued = 50 << 20
	if got := g.delay().Round(100 * time.Millisecond); got != 5*time.Second {
		t.Errorf("50 MiB in line at 10 MiB/s: got %s, want 5s", got)
	}
	g.queued = 1 << 40
	if got := g.delay(); got != 30*time.Second {
		t.Errorf("a line without end: got %s, want the most, 30s", got)
	}
}

func TestFullBudgetSealsTheFullestShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := testGate(10_000, 1<<20, 1)
		must(t, g, signal.Logs, 3000)
		must(t, g, signal.Traces, 5000)
		done := make(chan struct{})
		go func() {
			defer close(done)
			must(t, g, signal.Metrics, 4000)
		}()
		synctest.Wait()
		if !g.shards[signal.Traces][0].full || g.shards[signal.Logs][0].full {
			t.Error("want the fullest shard closed, and only that one")
		}
		publish(g, g.shards[signal.Traces][0], time.Millisecond)
		<-done
	})
}

func TestOneSignalWithoutRoomDoesNotHoldOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := testGate(1<<20, 1000+slotOverhead, 1)
		must(t, g, signal.Logs, 1000)
		go g.reserve(context.Background(), signal.Logs, 1000)
		synctest.Wait()
		must(t, g, signal.Traces, 1000)
		g.shut()
	})
}

func TestLargeExportIsNotStarvedBySmallOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := testGate(10_000, 1<<20, 1)
		must(t, g, signal.Logs, 4000)
		must(t, g, signal.Traces, 4000)
		served := make(chan int, 2)
		for _, n := range []int{6000, 100} { // the small one stands behind the large one
			go func() {
				must(t, g, signal.Metrics, n)
				served <- n
			}()
			synctest.Wait()
		}
		publish(g, g.shards[signal.Traces][0], time.Millisecond)
		synctest.Wait()
		if len(served) > 0 {
			t.Errorf("%d bytes passed the one in front, who waits for the budget", <-served)
		}
		publish(g, g.shards[signal.Logs][0], time.Millisecond)
		synctest.Wait()
		if len(served) != 2 {
			t.Errorf("%d served once there is room for both", len(served))
		}
	})
}

func TestExportLargerThanTheBudgetIsAdmittedAlone(t *testing.T) {
	g := testGate(1000, 1<<20, 1)
	must(t, g, signal.Logs, 5000)
}

func TestCancelGivesRoomBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := testGate(1<<20, 1000+slotOverhead, 1)
		s := must(t, g, signal.Logs, 1000)
		done := make(chan struct{})
		go func() {
			defer close(done)
			must(t, g, signal.Logs, 1000)
		}()
		synctest.Wait()
		g.cancel(s)
		g.settled(g.shards[signal.Logs][0], 0) // the shard looks, and finds nothing in it
		<-done
		if g.used != 1000+slotOverhead {
			t.Errorf("budget used: got %d, want one reservation", g.used)
		}
	})
}

func TestShutRefusesTheLineAndTheLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := testGate(1<<20, 1000+slotOverhead, 1)
		must(t, g, signal.Logs, 1000)
		refused := make(chan error, 1)
		go func() {
			_, err := g.reserve(context.Background(), signal.Logs, 1000)
			refused <- err
		}()
		synctest.Wait()
		g.shut()
		if err := <-refused; !errors.Is(err, ErrUnavailable) {
			t.Errorf("in line: got %v, want ErrUnavailable", err)
		}
		if _, err := g.reserve(context.Background(), signal.Logs, 1); !errors.Is(err, ErrUnavailable) {
			t.Errorf("late: got %v, want ErrUnavailable", err)
		}
		publish(g, g.shards[signal.Logs][0], time.Millisecond)
		<-g.idle
	})
}

func TestPressureComesWithAWaitAndGoesWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := testGate(1<<20, 1000+slotOverhead, 1)
		must(t, g, signal.Logs, 1000)
		done := make(chan struct{})
		go func() { must(t, g, signal.Logs, 1000); close(done) }()
		synctest.Wait()
		if _, busy := g.pressure(); busy {
			t.Error("pressure as soon as one Export waits")
		}
		<-time.After(g.wait/2 + time.Millisecond) // virtual time
		if _, busy := g.pressure(); !busy {
			t.Error("no pressure though the first in line has waited half its time")
		}
		publish(g, g.shards[signal.Logs][0], time.Millisecond)
		<-done
		if _, busy := g.pressure(); busy {
			t.Error("pressure though nobody waits")
		}
	})
}
