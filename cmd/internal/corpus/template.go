package corpus

import (
	"encoding/binary"
	"math/bits"
)

// stampKind says what is written over a place of a template before a send.
type stampKind uint8

const (
	stampTime   stampKind = iota // fixed64: base + off
	stampSpan                    // 8 bytes that belong to base + off alone
	stampTrace                   // 16 bytes that belong to base + off alone
	stampHex                     // 32 hex digits that belong to base + off alone
	stampWorker                  // 5 decimal digits: the worker
)

func (k stampKind) size() int {
	return [...]int{stampTime: 8, stampSpan: 8, stampTrace: 16, stampHex: 32, stampWorker: 5}[k]
}

// stamp is one place of a template.
type stamp struct {
	at   uint32 // where in the body
	off  uint32 // nanoseconds after the Export's base time
	kind stampKind
}

// Slot is the time one record has for itself, in nanoseconds: 8192 records
// spread over a millisecond, and a worker stays behind the clock up to 7.8
// million records a second.
const Slot = 128

// Offset is the time of record i after its Export's base. The jitter makes the
// low digits look like a clock's, and is a function of i so that a reader can
// tell a right time from a near one.
func Offset(i int) uint32 {
	return uint32(i)*Slot + uint32(i)*2654435761>>25
}

// Template is one encoded Export request. It is shared by all workers and never
// written to after it was built.
type Template struct {
	body    []byte
	stamps  []stamp
	records int
}

// Len returns the bytes of the request.
func (t *Template) Len() int { return len(t.body) }

// Records returns how many records the request holds.
func (t *Template) Records() int { return t.records }

// Fill copies the template over dst, which has its length, and stamps it as the
// Export with this base time of this worker.
func (t *Template) Fill(dst []byte, worker int, base, salt uint64) {
	copy(dst, t.body)
	for _, s := range t.stamps {
		at := dst[s.at:]
		v := base + uint64(s.off)
		switch s.kind {
		case stampTime:
			binary.LittleEndian.PutUint64(at, v)
		case stampSpan:
			binary.LittleEndian.PutUint64(at, mix(v^salt))
		case stampTrace:
			binary.LittleEndian.PutUint64(at, mix(v^salt))
			binary.LittleEndian.PutUint64(at[8:], mix(v+salt))
		case stampHex:
			putHex(at, mix(v+salt))
			putHex(at[16:], mix(v^salt))
		case stampWorker:
			putDecimal(at[:5], worker)
		}
	}
}

// mix spreads a number over 64 bits, one to one: different times stay
// different, and look as random as real ids do. It is the finisher of splitmix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Salt parts the ids of one worker of one run from those of all others.
func Salt(run string, worker int) uint64 {
	h := uint64(worker) + 1
	for i := range len(run) {
		h = mix(bits.RotateLeft64(h, 8) ^ uint64(run[i]))
	}
	return h
}

func putHex(dst []byte, v uint64) {
	const digits = "0123456789abcdef"
	for i := 15; i >= 0; i-- {
		dst[i] = digits[v&15]
		v >>= 4
	}
}

func putDecimal(dst []byte, v int) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = byte('0' + v%10)
		v /= 10
	}
}
