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
	slots   []uint64 // hash in the upper half, position + 1 in the lower; 0 is free
	max     int      // entries it may hold
}

func newDict(max int) *dict {
	return &dict{offsets: make([]int32, 1, 16), slots: make([]uint64, 16), max: max}
}

func (d *dict) len() int { return len(d.offsets) - 1 }

func (d *dict) at(i int32) []byte { return d.data[d.offsets[i]:d.offsets[i+1]] }

// reset empties the dictionary and keeps its memory.
func (d *dict) reset() {
	d.offsets = d.offsets[:1]
	d.data = d.data[:0]
	clear(d.slots)
}

// find returns the position of v, or -1.
func (d *dict) find(h uint32, v []byte) int32 {
	mask := uint32(len(d.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		e := d.slots[i]
		if e == 0 {
			return -1
		}
		if uint32(e>>32) == h {
			if at := int32(uint32(e)) - 1; string(d.at(at)) == string(v) {
				return at
			}
		}
	}
}

// add appends v, which find did not find, and returns its position, or -1 when d is full.
func (d *dict) add(h uint32, v []byte) int32 {
	at := int32(d.len())
	if int(at) >= d.max {
		return -1
	}
	if 2*int(at+1) > len(d.slots) {
		d.grow()
	}
	d.data = append(d.data, v...)
	d.offsets = append(d.offsets, int32(len(d.data)))
	d.put(uint64(h)<<32 | uint64(at+1))
	return at
}

func (d *dict) put(e uint64) {
	mask := uint32(len(d.slots) - 1)
	i := uint32(e>>32) & mask
	for d.slots[i] != 0 {
		i = (i + 1) & mask
	}
	d.slots[i] = e
}

func (d *dict) grow() {
	old := d.slots
	d.slots = make([]uint64, 2*len(old))
	for _, e := range old {
		if e != 0 {
			d.put(e)
		}
	}
}

func (d *dict) memBytes() int {
	return 4*cap(d.offsets) + cap(d.data) + 8*cap(d.slots)
}

// The hash folds 64x64-bit products: a few cycles for the short strings that attributes are,
// where a general hash costs more than everything else done with the value. Senders choose the
// values, so the seed is random.
const (
	mix1 = 0xd6e8feb86659fd93
	mix2 = 0xa0761d6478bd642f
)

var seed = rand.Uint64() | 1

func hash(b []byte) uint32 {
	h := seed ^ uint64(len(b))*mix1
	for len(b) > 16 {
		hi, lo := bits.Mul64(binary.LittleEndian.Uint64(b)^mix1, binary.LittleEndian.Uint64(b[8:])^h)
		h = hi ^ lo
		b = b[16:]
	}
	var x, y uint64
	switch n := len(b); {
	case n >= 8:
		x, y = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		x, y = uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		x = uint64(b[0])<<16 | uint64(b[n>>1])<<8 | uint64(b[n-1])
	}
	hi, lo := bits.Mul64(x^mix2, y^h)
	lo ^= hi
	return uint32(lo ^ lo>>32)
}
