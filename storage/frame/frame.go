// Package frame is the form of one Export in the log: Append writes it, Parse reads it; pure bytes.
//
// A frame proves itself. Its header names the segment's life it belongs to (epoch), so that what
// a recycled file still holds from an earlier life is never taken for new; it carries a checksum
// of itself, so that a length is believed before anything is allocated for it; and a checksum of
// the payload. All numbers are little-endian. A frame starts at a multiple of 8 and is filled up
// with zeros to the next one.
//
//	     0       1       2       3       4       5       6       7
//	 0 ┌───────────────┬───────┬───────┬───────────────────────────────┐
//	   │  'm'     'f'  │version│ kind  │        payload length         │
//	 8 ├───────────────┴───────┴───────┴───────────────────────────────┤
//	   │                             epoch                             │
//	16 ├───────────────────────────────────────────────────────────────┤
//	   │              synced: bytes of this segment on disk            │
//	24 ├───────────────────────────────────────────────────────────────┤
//	   │                           block seq                           │
//	32 ├───────────────────────────────────────────────────────────────┤
//	   │                received, Unix nanoseconds, signed             │
//	40 ├───────────────────────────────┬───────────────┬───────┬───────┤
//	   │          block node           │  block shard  │signal │   0   │
//	48 ├───────────────────────────────┼───────────────┴───────┴───────┤
//	   │            records            │       CRC32C of payload       │
//	56 ├───────────────────────────────┼───────────────────────────────┤
//	   │               0               │     CRC32C of bytes 0-59      │
//	64 ├───────────────────────────────┴───────────────────────────────┤
//	   │                   payload, then zeros to 8                    │
//	   └───────────────────────────────────────────────────────────────┘
//
// Version is 1. Kind 1 is an Export. Kind 2 is a mark: signal and length are 0 and nothing but
// epoch and synced is meant; it tells recovery how far the disk had got.
package frame

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"mira/storage/signal"
)

// Sizes and bounds of the form.
const (
	HeaderSize = 64        // bytes in front of a payload
	Align      = 8         // a frame takes a multiple of this
	MaxPayload = 256 << 20 // no longer payload is written or believed
)

// Magic is how every frame of every kind starts: two letters and the version.
const Magic = "mf\x01"

const (
	kindExport = 1
	kindMark   = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrShort says that the bytes end before the frame does.
var ErrShort = errors.New("frame: more bytes needed")

// CorruptError says why bytes are no frame. Where they lie is for the caller to add.
type CorruptError struct {
	Reason string
}

// Error returns the reason.
func (e *CorruptError) Error() string { return "frame: " + e.Reason }

// Frame is one Export on its way to a block, or a mark when Block has no signal.
type Frame struct {
	Block    signal.BlockID // the block that the Export lands in
	Epoch    uint64         // the segment's life; a stale frame of a recycled file has another
	Synced   uint64         // the bytes of this segment known to be durable when the frame was written
	Received int64          // arrival, Unix nanoseconds: the time of a record that has none
	Records  uint32         // how many records Payload holds
	Payload  []byte         // the OTLP Export…ServiceRequest, protobuf
}

// Mark reports whether f is a mark, which holds no Export.
func (f Frame) Mark() bool { return f.Block.Signal == 0 }

// Head is what a frame's header says of its payload.
type Head struct {
	Length int    // bytes of payload, at most MaxPayload
	Sum    uint32 // CRC32C of the payload; 0 is a sum like any other
}

// Size returns the bytes that a frame with so long a payload takes, padding included.
func Size(length int) int {
	return (HeaderSize + length + Align - 1) &^ (Align - 1)
}

// Sum returns the checksum that a header keeps of its payload.
func Sum(payload []byte) uint32 { return crc32.Checksum(payload, castagnoli) }

// Append appends the whole frame of f, padding included. The payload is at most MaxPayload long.
func Append(dst []byte, f Frame) []byte {
	size := len(dst) + Size(len(f.Payload))
	dst = append(Header(dst, f), f.Payload...)
	for len(dst) < size {
		dst = append(dst, 0)
	}
	return dst
}

// Header appends the header of f alone, for a writer that hands header and payload to the system
// as two buffers. The padding is the writer's to add.
func Header(dst []byte, f Frame) []byte { return HeaderSum(dst, f, Sum(f.Payload)) }

// HeaderSum is Header for a caller that has the payload's Sum already: summing is the one part
// that takes longer the longer the payload is, and need not be done by the goroutine that writes.
func HeaderSum(dst []byte, f Frame, sum uint32) []byte {
	kind := byte(kindExport)
	if f.Mark() {
		kind = kindMark
	}
	at := len(dst)
	le := binary.LittleEndian
	dst = append(dst, Magic...)
	dst = append(dst, kind)
	dst = le.AppendUint32(dst, uint32(len(f.Payload)))
	dst = le.AppendUint64(dst, f.Epoch)
	dst = le.AppendUint64(dst, f.Synced)
	dst = le.AppendUint64(dst, f.Block.Seq)
	dst = le.AppendUint64(dst, uint64(f.Received))
	dst = le.AppendUint32(dst, f.Block.Node)
	dst = le.AppendUint16(dst, f.Block.Shard)
	dst = append(dst, byte(f.Block.Signal), 0)
	dst = le.AppendUint32(dst, f.Records)
	dst = le.AppendUint32(dst, sum)
	dst = le.AppendUint32(dst, 0)
	return le.AppendUint32(dst, Sum(dst[at:]))
}

// Parse reads the frame at the start of b and the n bytes that it takes. The payload is part of
// b. The error is ErrShort or a *CorruptError. What the padding holds is not looked at: nobody
// loses an Export over a byte that means nothing.
func Parse(b []byte) (f Frame, n int, err error) {
	f, h, err := ParseHeader(b)
	if err != nil {
		return Frame{}, 0, err
	}
	if n = Size(h.Length); len(b) < n {
		return Frame{}, 0, ErrShort
	}
	end := HeaderSize + h.Length
	f.Payload = b[HeaderSize:end:end]
	if Sum(f.Payload) != h.Sum {
		return Frame{}, 0, &CorruptError{"payload does not match its checksum"}
	}
	return f, n, nil
}

// ParseHeader reads a header alone. The frame that it returns has no payload yet.
func ParseHeader(b []byte) (Frame, Head, error) {
	bad := func(reason string) (Frame, Head, error) { return Frame{}, Head{}, &CorruptError{reason} }
	if len(b) < HeaderSize {
		return Frame{}, Head{}, ErrShort
	}
	b = b[:HeaderSize]
	le := binary.LittleEndian
	if string(b[:2]) != Magic[:2] {
		return bad("no frame starts here")
	}
	if Sum(b[:60]) != le.Uint32(b[60:]) {
		return bad("header does not match its checksum")
	}
	if b[2] != Magic[2] {
		return bad("unknown version")
	}
	f := Frame{
		Block: signal.BlockID{
			Signal: signal.Signal(b[46]),
			Shard:  le.Uint16(b[44:]),
			Node:   le.Uint32(b[40:]),
			Seq:    le.Uint64(b[24:]),
		},
		Epoch:    le.Uint64(b[8:]),
		Synced:   le.Uint64(b[16:]),
		Received: int64(le.Uint64(b[32:])),
		Records:  le.Uint32(b[48:]),
	}
	length := le.Uint32(b[4:])
	switch {
	case length > MaxPayload:
		return bad("payload longer than any")
	case b[47] != 0 || le.Uint32(b[56:]) != 0:
		return bad("reserved bytes in use")
	case b[3] == kindExport && f.Block.Signal.Valid():
	case b[3] == kindMark && f.Mark() && length == 0:
	default:
		return bad("unknown kind or signal")
	}
	return f, Head{Length: int(length), Sum: le.Uint32(b[52:])}, nil
}
