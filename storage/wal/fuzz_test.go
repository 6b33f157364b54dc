package wal_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"mira/storage/frame"
	"mira/storage/vfs"
	"mira/storage/wal"
)

// allocated returns how many bytes call allocates.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// segmentOf returns the bytes of the first segment of a file system.
func segmentOf(t testing.TB, fs vfs.FS) (out []byte) {
	t.Helper()
	change(t, fs, first, func(b []byte) []byte { out = bytes.Clone(b); return b })
	return out
}

// FuzzSegment: whatever a segment holds, the log opens, replays no more than the bytes can hold,
// starts, takes a frame, and gives it back after a restart. That b is the last segment or not
// must make no other difference.
func FuzzSegment(f *testing.F) {
	for _, mem := range []*vfs.Mem{killed(f), shut(f), overrun(f)} {
		b := segmentOf(f, mem)
		f.Add(b, false)
		f.Add(b, true)
		f.Add(b[:4096+300], false)
		f.Add(b[4096:], true)
		twice := append(bytes.Clone(b), b[4096:]...)
		f.Add(twice, false)
	}
	f.Add([]byte{}, true)
	f.Fuzz(func(t *testing.T, b []byte, followed bool) {
		mem := vfs.NewMem()
		if followed {
			mem = overrun(t)
		} else if err := vfs.MkdirAll(mem, "/data/wal"); err != nil {
			t.Fatal(err)
		}
		file, err := mem.Create(first)
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
		change(t, mem, first, func([]byte) []byte { return b })
		l, err := openFuzzed(t, mem)
		if err != nil {
			return // a newer version
		}
		defer l.Close()
		bytes := int64(0)
		r, err := l.Replay(func(f frame.Frame) error {
			bytes += int64(frame.Size(len(f.Payload)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if bytes != r.Bytes || bytes > int64(len(b))+8192 || r.DamagedBytes > int64(len(b)) || len(r.Damaged) > 1 {
			t.Fatalf("%d bytes gave %d, report %+v", len(b), bytes, r)
		}
		if err := l.Start(); err != nil {
			t.Fatal(err)
		}
		appendAll(t, l, 77, 77, 10, block(1<<40))
		closed(t, l)
		l, err = openFuzzed(t, mem)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		last := int64(0)
		again, err := l.Replay(func(f frame.Frame) error { last = f.Received; return nil })
		if err != nil || last != 77 {
			t.Fatalf("last frame is %d, %v", last, err)
		}
		if again.Torn != 0 || again.Frames != r.Frames+1 {
			t.Fatalf("the first recovery gave %+v, the second %+v", r, again)
		}
	})
}

func openFuzzed(t *testing.T, fs vfs.FS) (*wal.Log, error) {
	t.Helper()
	l, err := wal.Open(small(fs))
	if err != nil && !strings.Contains(err.Error(), "newer version") {
		t.Fatal(err)
	}
	return l, err
}
