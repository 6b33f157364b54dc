package block

import "encoding/binary"

// flat is a flatbuffer that may hold anything. What cannot be read is zero, and bad from then on.
type flat struct {
	b    []byte
	left int // what may still be read; parts that claim the same bytes again and again use it up
	bad  bool
}

// newFlat returns the flatbuffer that b should be. One that is well made has every table and
// every text once; they are read at most twice.
func newFlat(b []byte) *flat { return &flat{b: b, left: 2 * len(b)} }

// spend counts n bytes as read.
func (f *flat) spend(n int) {
	f.left -= n
	f.bad = f.bad || f.left < 0
}

// bytes returns n bytes at a place, or nil.
func (f *flat) bytes(at, n int) []byte {
	if at < 0 || n < 0 || n > len(f.b) || at > len(f.b)-n {
		f.bad = true
		return nil
	}
	return f.b[at : at+n : at+n]
}

func (f *flat) u16(at int) uint16 {
	if b := f.bytes(at, 2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (f *flat) u32(at int) uint32 {
	if b := f.bytes(at, 4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (f *flat) u64(at int) uint64 {
	if b := f.bytes(at, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// follow returns where the offset at a place points to.
func (f *flat) follow(at int) int { return at + int(f.u32(at)) }

// root returns the table that the flatbuffer is made of.
func (f *flat) root() table { return f.table(f.follow(0)) }

// table returns the table at a place.
func (f *flat) table(at int) table {
	slots := at - int(int32(f.u32(at)))
	size := int(f.u16(slots))
	f.spend(4)
	if f.bytes(slots, size) == nil || size < 4 || f.bad {
		f.bad = true
		return table{f: f}
	}
	return table{f: f, at: at, slots: slots + 4, n: size/2 - 2}
}

// table is a table of a flatbuffer: slots that hold a value or are absent.
type table struct {
	f     *flat
	at    int
	slots int // where the n places of the values are, relative to at
	n     int
}

// place returns where the value of a slot is, or 0 when it is absent: no value lies there.
func (t table) place(slot int) int {
	if slot >= t.n {
		return 0
	}
	rel := int(t.f.u16(t.slots + 2*slot))
	if rel == 0 {
		return 0
	}
	return t.at + rel
}

func (t table) bool(slot int) bool { return t.u8(slot) != 0 }

func (t table) u8(slot int) uint8 {
	if at := t.place(slot); at != 0 {
		if b := t.f.bytes(at, 1); b != nil {
			return b[0]
		}
	}
	return 0
}

func (t table) i16(slot int) int16 {
	if at := t.place(slot); at != 0 {
		return int16(t.f.u16(at))
	}
	return 0
}

func (t table) i32(slot int) int32 {
	if at := t.place(slot); at != 0 {
		return int32(t.f.u32(at))
	}
	return 0
}

func (t table) i64(slot int) int64 {
	if at := t.place(slot); at != 0 {
		return int64(t.f.u64(at))
	}
	return 0
}

// table returns the table in a slot.
func (t table) table(slot int) (v table, ok bool) {
	at := t.place(slot)
	if at == 0 {
		return table{f: t.f}, false
	}
	return t.f.table(t.f.follow(at)), true
}

// text returns the string in a slot.
func (t table) text(slot int) string {
	at, n := t.vector(slot, 1)
	t.f.spend(n)
	if t.f.bad {
		return ""
	}
	return string(t.f.bytes(at, n))
}

// vector returns where the n elements of a vector are, all of them within the flatbuffer.
func (t table) vector(slot, size int) (at, n int) {
	at = t.place(slot)
	if at == 0 {
		return 0, 0
	}
	at = t.f.follow(at)
	n = int(t.f.u32(at))
	at += 4
	if n > len(t.f.b)/size || t.f.bytes(at, n*size) == nil {
		t.f.bad = true
		return 0, 0
	}
	return at, n
}

// tables returns the tables of a vector, one after the other.
func (t table) tables(slot int) func(yield func(int, table) bool) {
	at, n := t.vector(slot, 4)
	return func(yield func(int, table) bool) {
		for i := 0; i < n && !t.f.bad; i++ {
			if !yield(i, t.f.table(t.f.follow(at+4*i))) {
				return
			}
		}
	}
}
