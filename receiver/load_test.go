package receiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestBudgetServesInOrderAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		if n, err := b.acquire(t.Context(), 8); n != 8 || err != nil {
			t.Fatal(n, err)
		}
		var order []int
		var mu sync.Mutex
		var all sync.WaitGroup
		for i, n := range []int{9, 2, 100} { // 2 would fit, but is not first; 100 is all there is
			all.Go(func() {
				got, err := b.acquire(t.Context(), n)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				b.release(got)
			})
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.acquire(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if b.try(3) || !b.try(2) {
			t.Errorf("try took what is not there, or not what is")
		}
		b.release(10)
		all.Wait()
		if fmt.Sprint(order) != "[0 1 2]" || b.used() != 0 {
			t.Errorf("order %v, %d in use", order, b.used())
		}
	})
}

func TestWaiterThatGivesUpDoesNotBlockThoseBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		_, _ = b.acquire(t.Context(), 5)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _, _ = b.acquire(ctx, 10) })
		synctest.Wait()
		all.Go(func() {
			if _, err := b.acquire(t.Context(), 5); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		cancel()
		all.Wait()
	})
}

func TestFullMemoryIsARetryableRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := New(&fakeSink{}, Options{MaxRequestBytes: 1 << 20, ReceiveBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		hog, err := r.admit(t.Context(), r.receiving, 1<<20, 0)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = r.receive(t.Context(), strings.NewReader("x"), 1, func(int) {})
		if v := classify(err); v.reason != "memory" || v.http != 503 || time.Since(start) != 5*time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		hog.drop()
		l, err := r.receive(t.Context(), strings.NewReader("x"), 1, func(int) {})
		if err != nil || string(l.b) != "x" {
			t.Errorf("got %v", err)
		}
		l.drop()
		if used := r.receiving.used(); used != 0 {
			t.Errorf("%d bytes of budget are lost", used)
		}
	})
}

// TestReceiveReadsAnySizeFromAnyReader goes through the places a body may take.
func TestReceiveReadsAnySizeFromAnyReader(t *testing.T) {
	r, err := New(&fakeSink{}, Options{MaxRequestBytes: 20 << 20, ReceiveBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]byte, 20<<20+1)
	for i := range all {
		all[i] = byte(i * 7 >> 3)
	}
	for _, n := range []int{0, 1, firstBytes - 1, firstBytes, firstBytes + 1, 1 << 20, placeBytes, placeBytes + 1, 20 << 20, 20<<20 + 1} {
		for _, size := range []int64{int64(n), -1} {
			if size > 20<<20 {
				continue // refused before receive
			}
			l, err := r.receive(t.Context(), &uneven{bytes.NewReader(all[:n])}, size, func(int) {})
			if n > 20<<20 {
				if !errors.Is(err, errTooLarge) {
					t.Errorf("%d of %d: got %v", n, size, err)
				}
				continue
			}
			if err != nil || !bytes.Equal(l.b, all[:n]) {
				t.Fatalf("%d of %d: got %v", n, size, err)
			}
			l.drop()
			if used := r.receiving.used(); used != 0 {
				t.Fatalf("%d of %d: %d bytes of budget are lost", n, size, used)
			}
		}
	}
	if _, err := r.receive(t.Context(), bytes.NewReader(all[:9]), 10, func(int) {}); !errors.Is(err, errTruncated) {
		t.Errorf("a short body: got %v", err)
	}
	if used := r.receiving.used(); used != 0 {
		t.Errorf("%d bytes of budget are lost", used)
	}
}

// uneven reads in odd portions.
type uneven struct{ io.Reader }

func (u *uneven) Read(p []byte) (int, error) {
	return u.Reader.Read(p[:min(len(p), 1+rand.IntN(300<<10))])
}
