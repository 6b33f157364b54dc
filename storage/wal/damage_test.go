package wal_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mira/storage/frame"
	"mira/storage/signal"
	"mira/storage/vfs"
	"mira/storage/wal"
)

const first = "/data/wal/0000000000000001.wal"

// change edits a file in place.
func change(t testing.TB, fs vfs.FS, name string, edit func(b []byte) []byte) {
	t.Helper()
	f, err := fs.OpenReadWrite(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && size > 0 {
		t.Fatal(err)
	}
	b = edit(b)
	if err := f.Truncate(int64(len(b))); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}

// place returns where frame n of that many equal ones starts.
func place(n, length int) int { return 4096 + (n-1)*frame.Size(length) }

// killed is a log of one segment with frames 1 to 10 of 100 bytes whose process was killed.
func killed(t testing.TB) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	l, _, _ := started(t, small(mem))
	appendAll(t, l, 1, 10, 100, block(1))
	return mem.CrashClone(vfs.Cut{Mode: vfs.Keep})
}

// shut is the same after a Close.
func shut(t testing.TB) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	l, _, _ := started(t, small(mem))
	appendAll(t, l, 1, 10, 100, block(1))
	closed(t, l)
	return mem
}

// overrun is a log whose frames 1 and 2 fill its first segment and 3 its second.
func overrun(t testing.TB) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	l, _, _ := started(t, small(mem))
	appendAll(t, l, 1, 3, 1500, block(1))
	return mem.CrashClone(vfs.Cut{Mode: vfs.Keep})
}

func flip(at int) func([]byte) []byte {
	return func(b []byte) []byte { b[at] ^= 0x10; return b }
}

func zero(from, to int) func([]byte) []byte {
	return func(b []byte) []byte { clear(b[from:to]); return b }
}

// forged changes a byte of a segment's header and makes its checksum right again.
func forged(at int) func([]byte) []byte {
	return func(b []byte) []byte {
		b[at]++
		binary.LittleEndian.PutUint32(b[60:], frame.Sum(b[:60]))
		return b
	}
}

func chop(to int) func([]byte) []byte {
	return func(b []byte) []byte { return b[:to] }
}

// outcome is what a recovery must find in a segment that somebody edited.
type outcome struct {
	frames  []int
	torn    int
	damaged int
}

// recovers edits the first segment and recovers twice: the second recovery finds what the first
// decided, and a segment that held no frame is in the quarantine by then.
func recovers(t *testing.T, mem *vfs.Mem, edit func([]byte) []byte, want outcome) {
	t.Helper()
	change(t, mem, first, edit)
	for round := range 2 {
		l, got, r := started(t, small(mem))
		wantNumbers(t, got, want.frames)
		if r.Torn != want.torn || len(r.Damaged) != want.damaged {
			t.Errorf("recovery %d: torn %d, damaged %v; want %+v: %v", round+1, r.Torn, r.Damaged, want, r.Damage)
		}
		if len(r.Damage) < want.damaged || (r.TornBytes > 0) != (want.torn > 0) {
			t.Errorf("recovery %d: bytes missing in %+v", round+1, r)
		}
		closed(t, l)
		want.torn = 0
		if len(want.frames) == 0 {
			want.damaged = 0
		}
	}
}

// T18, T19, T21, T25, T34: what is lost, what is reported, what stays.
func TestTornTailsAreToldFromDamage(t *testing.T) {
	type want = outcome
	without := func(n ...int) []int {
		return slices.DeleteFunc(upTo(10), func(k int) bool { return slices.Contains(n, k) })
	}
	f := func(name string, mem *vfs.Mem, edit func([]byte) []byte, want outcome) {
		t.Helper()
		t.Run(name, func(t *testing.T) { recovers(t, mem, edit, want) })
	}
	at := func(n int) int { return place(n, 100) }
	f("untouched, killed", killed(t), flip(4095), want{frames: upTo(10)})
	f("untouched, shut", shut(t), flip(4095), want{frames: upTo(10)})
	f("last frame cut in its payload", killed(t), chop(at(10)+70), want{frames: upTo(9), torn: 1})
	f("last frame cut in its header", killed(t), chop(at(10)+50), want{frames: upTo(9), torn: 1})
	f("last frame half zeros", killed(t), zero(at(10)+80, at(11)), want{frames: upTo(9), torn: 1})
	f("last frame all zeros", killed(t), zero(at(10), at(11)), want{frames: upTo(9)})
	f("zeros up to the end", killed(t), zero(at(10)+8, 8192), want{frames: upTo(9), torn: 1})
	f("zeros before synced frames", killed(t), zero(at(4), at(5)), want{frames: without(4), damaged: 1})
	f("a sector of zeros", killed(t), zero(at(4)-4, at(4)+508), want{frames: without(4, 5, 6, 7), damaged: 1})
	f("a bit of a payload", killed(t), flip(at(4)+70), want{frames: without(4), damaged: 1})
	f("a bit of a header", killed(t), flip(at(4)+20), want{frames: without(4), damaged: 1})
	f("a bit of a magic", killed(t), flip(at(4)), want{frames: without(4), damaged: 1})
	f("a bit of a length", killed(t), flip(at(4)+6), want{frames: without(4), damaged: 1})
	f("a length that reaches too far", killed(t), func(b []byte) []byte {
		forged(6)(b[at(4) : at(4)+64])
		return b
	}, want{frames: without(4), damaged: 1})
	f("a bit of the first frame", killed(t), flip(at(1)+70), want{frames: without(1), damaged: 1})
	f("a bit of the last frame, killed", killed(t), flip(at(10)+70), want{frames: upTo(9), torn: 1})
	f("a bit of the last frame, shut", shut(t), flip(at(10)+70), want{frames: upTo(9), damaged: 1})
	f("the last frame all zeros, shut", shut(t), zero(at(10), at(11)), want{frames: upTo(9), damaged: 1})
	f("a bit of the mark", shut(t), flip(at(11)+20), want{frames: upTo(10), torn: 1})
	f("a bit of the header", killed(t), flip(20), want{frames: upTo(10), damaged: 1})
	f("a number that cannot be", killed(t), forged(14), want{frames: upTo(10), damaged: 1})
	f("no header", killed(t), zero(0, 4096), want{frames: upTo(10), damaged: 1})
	f("no header and no first frame", killed(t), zero(0, at(2)), want{frames: without(1), damaged: 1})
	f("two damaged places and a torn tail", killed(t), func(b []byte) []byte {
		return chop(at(10) + 70)(flip(at(3) + 70)(flip(at(7) + 70)(b)))
	}, want{frames: without(3, 7, 10), torn: 1, damaged: 1})
	f("all zeros", killed(t), zero(0, 8192), want{damaged: 1})
	f("no bytes", killed(t), chop(0), want{damaged: 1})
	f("half a header", killed(t), chop(40), want{damaged: 1})
	f("less than a header block", killed(t), chop(2000), want{damaged: 1})
	f("header block alone", killed(t), chop(4096), want{})
}

// A segment that is not the last one cannot be torn.
func TestAllIsDamageInFrontOfTheLastSegment(t *testing.T) {
	f := func(name string, edit func([]byte) []byte, want ...int) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			mem := overrun(t)
			change(t, mem, first, edit)
			got, r := look(t, small(mem))
			wantNumbers(t, got, want)
			if !slices.Equal(r.Damaged, []string{first}) || r.Torn != 0 || len(r.Damage) == 0 || !strings.Contains(r.Damage[0].Error(), first) {
				t.Errorf("report %+v", r)
			}
		})
	}
	at := func(n int) int { return place(n, 1500) }
	f("last frame's payload", flip(at(2)+70), 1, 3)
	f("last frame's header", flip(at(2)+20), 1, 3)
	f("last frame zeros", zero(at(2), at(3)), 1, 3)
	f("last frame and mark zeros", zero(at(2), at(3)+64), 1, 3)
	f("cut", chop(at(2)+700), 1, 3)
	f("the mark", flip(at(3)+20), 1, 2, 3)
}

func TestMissingSegmentIsAGap(t *testing.T) {
	mem := vfs.NewMem()
	l, _, _ := started(t, small(mem))
	appendAll(t, l, 1, 10, 1500, block(1))
	closed(t, l)
	if err := mem.Remove("/data/wal/0000000000000003.wal"); err != nil {
		t.Fatal(err)
	}
	l, got, r := started(t, small(mem))
	wantNumbers(t, got, append(upTo(4), between(7, 10)...))
	if r.Gaps != 1 || len(r.Damaged) > 0 {
		t.Errorf("report %+v, want one gap", r)
	}
	appendAll(t, l, 11, 11, 10, block(1))
}

func TestSwappedAndCopiedSegmentsAreReplayedOnce(t *testing.T) {
	mem := vfs.NewMem()
	l, _, _ := started(t, small(mem))
	appendAll(t, l, 1, 8, 1500, block(1))
	closed(t, l)
	name := func(n int) string { return fmt.Sprintf("/data/wal/%016x.wal", n) }
	for _, move := range [][2]string{{name(1), "/data/x"}, {name(3), name(1)}, {"/data/x", name(3)}} {
		if err := mem.Rename(move[0], move[1]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := mem.Create(name(9)); err != nil {
		t.Fatal(err)
	}
	var second []byte
	change(t, mem, name(2), func(b []byte) []byte { second = bytes.Clone(b); return b })
	change(t, mem, name(9), func([]byte) []byte { return second })
	l, got, r := started(t, small(mem))
	wantNumbers(t, got, upTo(8))
	if !slices.Equal(r.Damaged, []string{name(9)}) {
		t.Errorf("damaged: %v, want the copy", r.Damaged)
	}
	if names := files(t, mem, "/data/quarantine"); !slices.Equal(names, []string{"0000000000000009.wal"}) {
		t.Errorf("quarantine holds %v", names)
	}
	l.Release(block(1))
	if s := l.Stats(); s.Segments != 1 {
		t.Errorf("%d segments live, want 1", s.Segments)
	}
}

// T22: a damaged segment is moved aside when its blocks are safe, byte for byte, and never deleted.
func TestDamagedSegmentGoesToQuarantineOnceReleased(t *testing.T) {
	mem := overrun(t)
	var before []byte
	change(t, mem, first, func(b []byte) []byte {
		before = flip(place(2, 1500) + 70)(b)
		return before
	})
	l, _, r := started(t, small(mem))
	if !slices.Equal(r.Damaged, []string{first}) {
		t.Fatalf("damaged: %v", r.Damaged)
	}
	if names := files(t, mem, "/data/wal"); !slices.Contains(names, "0000000000000001.wal") {
		t.Errorf("the damaged segment left before its blocks were released: %v", names)
	}
	l.Release(block(1))
	after := mem.CrashClone(vfs.Cut{Mode: vfs.Drop})
	change(t, after, "/data/quarantine/0000000000000001.wal", func(b []byte) []byte {
		if !bytes.Equal(b, before) {
			t.Error("the segment changed on its way to the quarantine")
		}
		return b
	})
	got, r := look(t, small(after))
	if len(got) > 0 || len(r.Damaged) > 0 {
		t.Errorf("after the quarantine: %v, %+v", got, r)
	}
}

// A place of the disk that cannot be read costs what it covers.
func TestUnreadablePageIsDamage(t *testing.T) {
	mem := vfs.NewMem()
	o := wal.Options{FS: mem, Dir: "/data/wal", SegmentBytes: 64 << 10}
	l, _, _ := started(t, o)
	appendAll(t, l, 1, 30, 1000, block(1))
	closed(t, l)
	f := func(page int64, want []int) {
		t.Helper()
		o.FS = &vfs.Faulty{FS: mem, Before: func(op vfs.Op) error {
			bad := page * 4096
			if op.Kind == vfs.OpRead && op.Name == first && op.Off < bad+4096 && op.Off+op.Len > bad {
				return syscall.EIO
			}
			return nil
		}}
		got, r := look(t, o)
		wantNumbers(t, got, want)
		if len(r.Damage) != 1 || r.Torn != 0 {
			t.Errorf("page %d: report %+v", page, r)
		}
	}
	f(3, append(upTo(7), between(13, 30)...)) // holds parts of frames 8 to 12
	f(8, upTo(26))                            // holds parts of 27 to 30, and the mark
	f(0, upTo(30))
}

// Frames, gaps and what only looks like a frame lie across the places where the reader reads on.
func TestReplayReadsAcrossItsChunks(t *testing.T) {
	mem := vfs.NewMem()
	o := wal.Options{FS: mem, Dir: "/data/wal", SegmentBytes: 16 << 20}
	l, _, _ := started(t, o)
	at, places := 4096, []int{0}
	for n := 1; n <= 40; n++ {
		f := numbered(n, 0, block(1))
		f.Payload = bytes.Repeat([]byte("x"+frame.Magic+"yy"), n*2000) // starts like a frame at every place, sooner or later
		if _, err := l.Append(f, signal.Buffered, nil); err != nil {
			t.Fatal(err)
		}
		places = append(places, at)
		at += frame.Size(len(f.Payload))
	}
	closed(t, l)
	if at < 3<<20 {
		t.Fatalf("only %d bytes", at)
	}
	change(t, mem, first, func(b []byte) []byte {
		for n := 3; n <= 39; n += 4 {
			b = flip(places[n] + 20)(b)
		}
		return b
	})
	l, err := wal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var got []int
	r, err := l.Replay(func(f frame.Frame) error {
		if len(f.Payload) != int(f.Received)*2000*6 {
			t.Errorf("frame %d has %d bytes", f.Received, len(f.Payload))
		}
		got = append(got, int(f.Received))
		return nil
	})
	if err != nil || len(r.Damage) != 10 {
		t.Errorf("%d damaged places, %v", len(r.Damage), err)
	}
	wantNumbers(t, got, slices.DeleteFunc(upTo(40), func(n int) bool { return n%4 == 3 }))
}

func TestSegmentOfANewerVersionIsRefusedAndUntouched(t *testing.T) {
	mem := shut(t)
	change(t, mem, first, forged(7))
	_, err := wal.Open(small(mem))
	if err == nil || !strings.Contains(err.Error(), "newer version") || !strings.Contains(err.Error(), first) {
		t.Errorf("got %v, want the file and its version", err)
	}
}

func TestFilesOfOthersAreLeftAlone(t *testing.T) {
	mem := shut(t)
	for _, name := range []string{"note.txt", "1.wal", "0000000000000001.WAL", "ffffffffffffffff.wal"} {
		f, err := mem.Create("/data/wal/" + name)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if err := mem.Mkdir("/data/wal/0000000000000009.wal"); err != nil {
		t.Fatal(err)
	}
	l, got, r := started(t, small(mem))
	wantNumbers(t, got, upTo(10))
	if len(r.Damaged) > 0 {
		t.Errorf("damaged: %v", r.Damaged)
	}
	l.Release(block(1))
	if names := files(t, mem, "/data/wal"); len(names) != 7 {
		t.Errorf("the directory holds %v, want five foreign names, a segment and a spare", names)
	}
}

// Somebody who sends Exports cannot plant a frame: not even where damage makes the reader look
// for the next one inside a payload.
func TestFrameInsideAPayloadIsNotBelieved(t *testing.T) {
	mem := vfs.NewMem()
	l, _, _ := started(t, small(mem))
	planted := frame.Frame{Block: block(66), Epoch: 1, Synced: 1 << 40, Received: 66}
	f := numbered(1, 0, block(1))
	for epoch := range uint64(4) {
		planted.Epoch = epoch
		f.Payload = frame.Append(f.Payload, planted)
	}
	if _, err := l.Append(f, signal.Sync, nil); err != nil {
		t.Fatal(err)
	}
	appendAll(t, l, 2, 3, 100, block(1))
	closed(t, l)
	change(t, mem, first, flip(4096+20))
	got, r := look(t, small(mem))
	wantNumbers(t, got, []int{2, 3})
	if len(r.Damaged) != 1 {
		t.Errorf("report %+v", r)
	}
}

// T36: zeros are the end of the log because no frame starts there, not because their sum is 0.
func TestEmptyPayloadsComeBack(t *testing.T) {
	mem := vfs.NewMem()
	l, _, _ := started(t, small(mem))
	appendAll(t, l, 1, 20, 0, block(1))
	got, _ := look(t, small(mem.CrashClone(vfs.Cut{Mode: vfs.Drop})))
	wantNumbers(t, got, upTo(20))
}

// T45: a hundred segments take the memory of one chunk.
func TestReplayOfManySegmentsIsBoundedInMemory(t *testing.T) {
	mem := vfs.NewMem()
	o := wal.Options{FS: mem, Dir: "/data/wal", SegmentBytes: 1 << 20}
	l, _, _ := started(t, o)
	for n := 1; n <= 1500; n++ {
		if _, err := l.Append(numbered(n, 64<<10, block(n)), signal.Buffered, nil); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, l)
	l, err := wal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var r wal.Report
	took := allocated(func() {
		r, err = l.Replay(func(frame.Frame) error { return nil })
	})
	if err != nil || r.Frames != 1500 || r.Segments < 100 {
		t.Errorf("report %+v, %v", r, err)
	}
	if took > 4<<20 {
		t.Errorf("replaying %d bytes allocated %d", r.Bytes, took)
	}
}
