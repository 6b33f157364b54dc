package wal_test

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"slices"
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
		survive(t, b, followed)
	})
}

// survive plays b as a segment, alone or with another behind it, and returns the numbers of the
// frames that came back.
func survive(t *testing.T, b []byte, followed bool) (numbers []int64) {
	t.Helper()
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
		return nil // a newer version
	}
	defer l.Close()
	bytes := int64(0)
	r, err := l.Replay(func(f frame.Frame) error {
		bytes += int64(frame.Size(len(f.Payload)))
		numbers = append(numbers, f.Received)
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
	if l, err = openFuzzed(t, mem); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var again []int64
	second, err := l.Replay(func(f frame.Frame) error { again = append(again, f.Received); return nil })
	if err != nil || !slices.Equal(again, append(numbers, 77)) || second.Torn != 0 {
		t.Fatalf("the first recovery gave %v, %+v\nthe second %v, %+v, %v", numbers, r, again, second, err)
	}
	return numbers
}

// FuzzForgedSegment builds segments whose checksums are right and whose contents lie: each byte
// of plan adds a piece.
func FuzzForgedSegment(f *testing.F) {
	header := segmentOf(f, shut(f))[:4096]
	epoch := binary.LittleEndian.Uint64(header[16:])
	f.Add([]byte{0, 0, 0, 6}, false)
	f.Add([]byte{0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 6, 0, 7, 0, 6, 1}, true)
	f.Add([]byte{0, 8, 16, 24, 3, 3, 5, 0, 2}, false)
	f.Fuzz(func(t *testing.T, plan []byte, followed bool) {
		b := bytes.Clone(header)
		whole := make(map[int64]bool)
		for n, step := range plan[:min(len(plan), 200)] {
			kind, arg := step%8, int(step/8)
			fr := numbered(n, arg*9, block(1))
			fr.Received = int64(n) + 100
			fr.Epoch, fr.Synced = epoch, uint64(len(b))
			switch at := len(b); kind {
			case 0: // whole
				b = frame.Append(b, fr)
				whole[fr.Received] = true
			case 1: // of another life
				fr.Epoch -= 1 << 32
				b = frame.Append(b, fr)
			case 2: // a length that reaches too far
				b = frame.Append(b, fr)
				h := frame.HeaderSum(nil, frame.Frame{Block: block(1), Epoch: epoch, Payload: make([]byte, 1<<16)}, 0)
				copy(b[at:], h)
			case 3: // a broken payload
				fr.Payload = append(fr.Payload, 1)
				b = frame.Append(b, fr)
				b[at+frame.HeaderSize] ^= 1
			case 4: // a broken header
				b = frame.Append(b, fr)
				b[at+40] ^= 1
			case 5: // zeros
				b = append(b, make([]byte, arg*8)...)
			case 6: // a mark
				b = frame.Append(b, frame.Frame{Epoch: epoch, Synced: uint64(len(b))})
			case 7: // a lie about what was synced
				fr.Synced = uint64(arg * 1000)
				b = frame.Append(b, fr)
				whole[fr.Received] = true
			}
		}
		for _, n := range survive(t, b, followed) {
			if n >= 100 && !whole[n] {
				t.Fatalf("frame %d came back and was not whole", n)
			}
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
