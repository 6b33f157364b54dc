package wal_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mira/storage/frame"
	"mira/storage/signal"
	"mira/storage/vfs"
	"mira/storage/wal"
)

// BenchmarkAppend is what an acknowledgement costs on the disk of the temporary directory. Each
// block is released a few segments later, so that files go round as they do in service.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{200, 64 << 10, 1_250_000} {
		for _, senders := range []int{1, 32} {
			b.Run(fmt.Sprintf("%dB/%d", size, senders), func(b *testing.B) {
				benchAppend(b, vfs.OS{}, size, senders)
			})
		}
	}
}

// BenchmarkAppendMem is the same without a disk: what the log itself costs.
func BenchmarkAppendMem(b *testing.B) {
	for _, senders := range []int{1, 32} {
		b.Run(fmt.Sprint(senders), func(b *testing.B) { benchAppend(b, null{vfs.NewMem()}, 200, senders) })
	}
}

func benchAppend(b *testing.B, fs vfs.FS, size, senders int) {
	l, _, _ := started(b, wal.Options{FS: fs, Dir: filepath.Join(b.TempDir(), "wal")})
	body := payload(1, size)
	var sent atomic.Int64
	send := func() {
		n := int(sent.Add(1))
		at := n * size >> 25 // a block is 32 MiB
		_, err := l.Append(frame.Frame{Block: block(at), Records: 1, Payload: body}, signal.Sync, nil)
		if err != nil {
			b.Error(err)
		}
		if (n-1)*size>>25 != at && at > 4 {
			l.Release(block(at - 4))
		}
	}
	for range 200_000_000 / max(size, 100_000) { // the first files are new, in service they are reused
		send()
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	before := l.Stats()
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				began := time.Now()
				send()
				took[i] = time.Since(began)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
	s := l.Stats()
	b.ReportMetric(float64(s.Frames-before.Frames)/float64(max(1, s.Groups-before.Groups)), "frames/sync")
}

// null is an FS whose files take everything and keep nothing.
type null struct{ vfs.FS }

type nullFile struct{ vfs.File }

func (n null) Create(name string) (vfs.File, error) {
	f, err := n.FS.Create(name)
	return nullFile{f}, err
}

func (n null) OpenReadWrite(name string) (vfs.File, error) {
	f, err := n.FS.OpenReadWrite(name)
	return nullFile{f}, err
}

func (nullFile) Sync() error { return nil }

func (nullFile) Writev(_ int64, bufs [][]byte) (n int64, err error) {
	for _, b := range bufs {
		n += int64(len(b))
	}
	return n, nil
}

// BenchmarkBareWrite is the floor: one pwrite and one fdatasync into a file written before.
func BenchmarkBareWrite(b *testing.B) {
	for _, size := range []int{200, 64 << 10, 1_250_000} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			f, err := vfs.OS{}.Create(filepath.Join(b.TempDir(), "file"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt(make([]byte, 64<<20), 0); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
			body := payload(1, size)
			took := make([]time.Duration, 0, b.N)
			at := int64(0)
			b.SetBytes(int64(size))
			for b.Loop() {
				began := time.Now()
				if _, err := f.WriteAt(body, at); err != nil {
					b.Fatal(err)
				}
				if err := f.Sync(); err != nil {
					b.Fatal(err)
				}
				if at += int64(size); at+int64(size) > 64<<20 {
					at = 0
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
		})
	}
}

func BenchmarkReplay(b *testing.B) {
	for _, size := range []int{200, 64 << 10, 1_250_000} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			o := wal.Options{FS: vfs.OS{}, Dir: filepath.Join(b.TempDir(), "wal")}
			l, _, _ := started(b, o)
			f := frame.Frame{Block: block(1), Records: 1, Payload: payload(1, size)}
			for range (256 << 20) / max(size, 4096) {
				if _, err := l.Append(f, signal.Buffered, nil); err != nil {
					b.Fatal(err)
				}
			}
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				l, err := wal.Open(o)
				if err != nil {
					b.Fatal(err)
				}
				r, err := l.Replay(func(frame.Frame) error { return nil })
				if err != nil || r.Frames == 0 {
					b.Fatal(r, err)
				}
				b.SetBytes(r.Bytes)
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
