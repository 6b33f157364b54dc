package column

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// dict is a growing dictionary: the distinct values of a series in the order of first use, and
// a hash table over them. Its order never depends on the hash, so a random seed is safe.
type dict struct {
	offsets []int32
	data    []byte
	slots   []slotOf
	max     int // entries it may hold
}

// slotOf is a slot of the hash table. Most values are short, and then fingerprint and size are
// the value itself: finding it touches one cache line.
type slotOf struct {
	fingerprint
	size  int32
	entry int32 // position + 1; 0 is free
}

func newDict(max int) *dict {
	return &dict{offsets: make([]int32, 1, 16), slots: make([]slotOf, 16), max: max}
}

func (d *dict) len() int { return len(d.offsets) - 1 }

func (d *dict) at(i int32) []byte { return d.data[d.offsets[i]:d.offsets[i+1]] }

// reset empties the dictionary and keeps its memory.
func (d *dict) reset() {
	if len(d.slots) > 1024 && len(d.slots) > 16*d.len() {
		d.slots = make([]slotOf, 16)
	} else {
		clear(d.slots)
	}
	d.offsets = append(emptied(d.offsets), 0)
	d.data = emptied(d.data)
}

// find returns the position of v, or -1.
func (d *dict) find(f fingerprint, v []byte) int32 {
	mask := uint32(len(d.slots) - 1)
	for i := f.hash(len(v)) & mask; ; i = (i + 1) & mask {
		s := &d.slots[i]
		if s.entry == 0 {
			return -1
		}
		if s.fingerprint == f && int(s.size) == len(v) && (len(v) <= exact || string(d.at(s.entry-1)) == string(v)) {
			return s.entry - 1
		}
	}
}

// add appends v, which find did not find, and returns its position, or -1 when d is full.
func (d *dict) add(f fingerprint, v []byte) int32 {
	at := int32(d.len())
	if int(at) >= d.max {
		return -1
	}
	if 2*int(at+1) > len(d.slots) {
		d.grow()
	}
	d.data = append(d.data, v...)
	d.offsets = append(d.offsets, int32(len(d.data)))
	d.put(slotOf{f, int32(len(v)), at + 1})
	return at
}

func (d *dict) put(s slotOf) {
	mask := uint32(len(d.slots) - 1)
	i := s.hash(int(s.size)) & mask
	for d.slots[i].entry != 0 {
		i = (i + 1) & mask
	}
	d.slots[i] = s
}

func (d *dict) grow() {
	old := d.slots
	d.slots = make([]slotOf, 2*len(old))
	for _, s := range old {
		if s.entry != 0 {
			d.put(s)
		}
	}
}

func (d *dict) memBytes() int {
	return 4*cap(d.offsets) + cap(d.data) + 24*cap(d.slots)
}

// fingerprint is two words made of a value's bytes. Values of the same length up to exact bytes
// differ if and only if their fingerprints do.
type fingerprint struct{ x, y uint64 }

const exact = 16

// fingerprintOf folds 64x64-bit products: a few cycles for the short strings that attributes
// are, where a general hash costs more than everything else done with the value. Senders choose
// the values, so the seeds are random.
func fingerprintOf(b []byte) fingerprint {
	var h uint64
	for len(b) > exact {
		hi, lo := bits.Mul64(binary.LittleEndian.Uint64(b)^seed1, binary.LittleEndian.Uint64(b[8:])^h^seed2)
		h = hi ^ lo
		b = b[16:]
	}
	switch n := len(b); {
	case n >= 8:
		return fingerprint{binary.LittleEndian.Uint64(b) ^ h, binary.LittleEndian.Uint64(b[n-8:])}
	case n >= 4:
		return fingerprint{uint64(binary.LittleEndian.Uint32(b)) ^ h, uint64(binary.LittleEndian.Uint32(b[n-4:]))}
	case n > 0:
		return fingerprint{uint64(b[0])<<16 ^ uint64(b[n>>1])<<8 ^ uint64(b[n-1]) ^ h, 0}
	}
	return fingerprint{h, 0}
}

func (f fingerprint) hash(size int) uint32 {
	hi, lo := bits.Mul64(f.x^seed1, f.y^seed2^uint64(size)<<56)
	lo ^= hi
	return uint32(lo ^ lo>>32)
}

var seed1, seed2 = rand.Uint64(), rand.Uint64()
