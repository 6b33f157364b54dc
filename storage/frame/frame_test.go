package frame_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"os"
	"reflect"
	"strings"
	"testing"

	"mira/storage/frame"
	"mira/storage/signal"
)

// example is the frame of testdata/frame.golden.
func example() frame.Frame {
	return frame.Frame{
		Block:    signal.BlockID{Signal: signal.Traces, Shard: 0x0203, Node: 0x0a1b2c3d, Seq: 0x1122334455667788},
		Epoch:    0xfeedface00000007,
		Synced:   0x1000,
		Received: 1_800_000_000_123_456_789,
		Records:  3,
		Payload:  []byte("hello, log"),
	}
}

// golden reads annotated bytes: hexadecimal up to a '#', which starts a remark.
func golden(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var digits strings.Builder
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGoldenBytesStayReadable(t *testing.T) {
	mark := frame.Frame{Epoch: 0xfeedface00000007, Synced: 0x1058}
	for name, want := range map[string]frame.Frame{
		"testdata/export.golden": example(),
		"testdata/mark.golden":   mark,
	} {
		b := golden(t, name)
		if got := frame.Append(nil, want); !bytes.Equal(got, b) {
			t.Errorf("%s: Append wrote\n%x\nwant\n%x", name, got, b)
		}
		got, n, err := frame.Parse(b)
		if len(got.Payload) == 0 {
			got.Payload = nil
		}
		if err != nil || n != len(b) || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: Parse got %+v, %d, %v; want %+v, %d", name, got, n, err, want, len(b))
		}
	}
}

func TestHeaderAndPayloadAreTheFrame(t *testing.T) {
	for length := range 20 {
		f := example()
		f.Payload = bytes.Repeat([]byte{7}, length)
		b := append(frame.Header([]byte("before"), f), f.Payload...)
		b = append(b, make([]byte, frame.Size(length)-frame.HeaderSize-length)...)
		if want := frame.Append([]byte("before"), f); !bytes.Equal(b, want) {
			t.Errorf("payload of %d: got %x, want %x", length, b, want)
		}
		if frame.Size(length)%frame.Align != 0 {
			t.Errorf("Size(%d) = %d, not aligned", length, frame.Size(length))
		}
	}
}

func TestEveryTruncationIsShort(t *testing.T) {
	b := frame.Append(nil, example())
	for n := range b {
		if _, _, err := frame.Parse(b[:n]); err != frame.ErrShort {
			t.Errorf("%d of %d bytes: got %v, want ErrShort", n, len(b), err)
		}
	}
}

func TestEveryFlippedBitIsFound(t *testing.T) {
	f := example()
	whole := frame.Append(nil, f)
	pad := frame.HeaderSize + len(f.Payload)
	for bit := range len(whole) * 8 {
		b := bytes.Clone(whole)
		b[bit/8] ^= 1 << (bit % 8)
		_, _, err := frame.Parse(b)
		var corrupt *frame.CorruptError
		switch {
		case bit/8 >= pad && err != nil:
			t.Errorf("bit %d of the padding: got %v, want no error", bit, err)
		case bit/8 < pad && !errors.As(err, &corrupt):
			t.Errorf("bit %d: got %v, want a CorruptError", bit, err)
		}
	}
}

// T36: a checksum that happens to be 0 is a checksum, not the mark of an empty place.
func TestPayloadWhoseChecksumIsZeroIsRead(t *testing.T) {
	f := example()
	f.Payload = []byte{0xab, 0x9b, 0xe0, 0x9b}
	if sum := frame.Sum(f.Payload); sum != 0 {
		t.Fatalf("sum of the prepared payload is %08x, want 0", sum)
	}
	b := frame.Append(nil, f)
	if got, _, err := frame.Parse(b); err != nil || !bytes.Equal(got.Payload, f.Payload) {
		t.Errorf("got %x, %v; want the payload back", got.Payload, err)
	}
	f.Payload = nil
	if sum := frame.Sum(nil); sum != 0 {
		t.Fatalf("sum of nothing is %08x, want 0", sum)
	}
	if _, _, err := frame.Parse(frame.Append(nil, f)); err != nil {
		t.Errorf("empty payload: %v", err)
	}
}

func TestZerosAreNoFrame(t *testing.T) {
	var corrupt *frame.CorruptError
	if _, _, err := frame.Parse(make([]byte, 4096)); !errors.As(err, &corrupt) {
		t.Errorf("got %v, want a CorruptError", err)
	}
}

// forge changes header bytes and makes the header's checksum right again.
func forge(b []byte, change func(b []byte)) []byte {
	b = bytes.Clone(b)
	change(b)
	sum := crc32.Checksum(b[:60], crc32.MakeTable(crc32.Castagnoli))
	b[60], b[61], b[62], b[63] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
	return b
}

// T34: a length is bounded before it is used, though its checksum is right.
func TestForgedHeaderIsRefused(t *testing.T) {
	whole := frame.Append(nil, example())
	f := func(name, reason string, change func(b []byte)) {
		t.Helper()
		_, _, err := frame.Parse(forge(whole, change))
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: got %v, want %q", name, err, reason)
		}
	}
	f("length", "longer than any", func(b []byte) { b[7] = 0xff })
	f("version", "unknown version", func(b []byte) { b[2] = 2 })
	f("kind", "unknown kind", func(b []byte) { b[3] = 9 })
	f("signal", "unknown kind or signal", func(b []byte) { b[46] = 4 })
	f("export without a signal", "unknown kind or signal", func(b []byte) { b[46] = 0 })
	f("mark with a payload", "unknown kind or signal", func(b []byte) { b[3], b[46] = 2, 0 })
	f("reserved byte", "reserved", func(b []byte) { b[47] = 1 })
	f("reserved word", "reserved", func(b []byte) { b[59] = 1 })
}

func FuzzFrame(f *testing.F) {
	f.Add(frame.Append(nil, example()))
	f.Add(frame.Append(nil, frame.Frame{Epoch: 1, Synced: 4096}))
	f.Add(make([]byte, frame.HeaderSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, n, err := frame.Parse(b)
		if err != nil {
			var corrupt *frame.CorruptError
			if err != frame.ErrShort && !errors.As(err, &corrupt) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		used := frame.HeaderSize + len(got.Payload)
		if n > len(b) || n != frame.Size(len(got.Payload)) {
			t.Fatalf("frame takes %d of %d bytes", n, len(b))
		}
		if again := frame.Append(nil, got); !bytes.Equal(again[:used], b[:used]) {
			t.Fatalf("read %x\nwrote %x", b[:used], again[:used])
		}
	})
}

// FuzzRoundTrip is the other direction: whatever a frame holds comes back.
func FuzzRoundTrip(f *testing.F) {
	f.Add(uint8(1), uint16(2), uint32(3), uint64(4), uint64(5), uint64(6), int64(7), uint32(8), []byte("payload"))
	f.Fuzz(func(t *testing.T, sig uint8, shard uint16, node uint32, seq, epoch, synced uint64, received int64, records uint32, payload []byte) {
		want := frame.Frame{
			Block:    signal.BlockID{Signal: signal.Signal(sig%3 + 1), Shard: shard, Node: node, Seq: seq},
			Epoch:    epoch,
			Synced:   synced,
			Received: received,
			Records:  records,
			Payload:  payload,
		}
		b := frame.Append(nil, want)
		got, n, err := frame.Parse(append(b, 1, 2, 3))
		if err != nil || n != len(b) || !bytes.Equal(got.Payload, payload) {
			t.Fatalf("got %d bytes, %v", n, err)
		}
		got.Payload, want.Payload = nil, nil
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

func BenchmarkHeader(b *testing.B) {
	f := example()
	sum := frame.Sum(f.Payload)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = frame.HeaderSum(buf[:0], f, sum)
	}
}

func BenchmarkParse(b *testing.B) {
	f := example()
	f.Payload = make([]byte, 64<<10)
	buf := frame.Append(nil, f)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := frame.Parse(buf); err != nil {
			b.Fatal(err)
		}
	}
}
