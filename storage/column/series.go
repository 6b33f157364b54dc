package column

import (
	"math"
	"slices"
	"unicode/utf8"
)

// series is one growing column. Values are set at a row; rows between the last value and that
// one become null then, so a column that a record does not have costs nothing until it comes
// again, and a column first seen at row n has n nulls before it.
//
// A value set twice in the same row (a singular protobuf field that is repeated) replaces the
// first. Everything before the row being filled is never touched again, except for the last
// byte of the bitmaps: a snapshot copies those and shares the rest.
type series struct {
	n     int // values, nulls included
	typ   Type
	nulls bool // there is a null: valid counts
	width int  // Column.Width

	valid   []byte
	dict    *dict // String, Bytes: not nil while dictionary-encoded
	index   []int32
	ints    []int64
	floats  []float64
	bits    []byte
	offsets []int32
	data    []byte
	elem    *series
	fields  []*series
	names   []string // of fields

	retired *dict // the dictionary given up for plain values; reset takes it back
}

func newSeries(typ Type, width int) *series {
	s := &series{}
	s.init(typ, width, 0)
	return s
}

// init makes s an empty column. A String or Bytes column with dictMax > 0 starts dictionary-
// encoded and becomes plain when it has more distinct values.
func (s *series) init(typ Type, width, dictMax int) {
	s.typ, s.width = typ, width
	switch {
	case dictMax > 0:
		s.dict = newDict(dictMax)
	case typ == String || typ == Bytes || typ == List:
		s.offsets = make([]int32, 1, 16)
	}
}

// reset empties the column and keeps its memory.
func (s *series) reset() {
	s.n, s.nulls = 0, false
	s.valid, s.index, s.ints, s.floats = emptied(s.valid), emptied(s.index), emptied(s.ints), emptied(s.floats)
	s.bits, s.data = emptied(s.bits), emptied(s.data)
	if s.offsets != nil {
		s.offsets = append(emptied(s.offsets), 0)
	}
	if s.retired != nil {
		s.dict, s.retired = s.retired, nil
	}
	if s.dict != nil {
		s.dict.reset()
	}
	if s.elem != nil {
		s.elem.reset()
	}
	for _, f := range s.fields {
		f.reset()
	}
}

// emptied keeps the memory of a slice for the next block, unless this one hardly used it: what
// one strange block needed is not held for ever.
func emptied[E any](a []E) []E {
	if cap(a) > 4*len(a)+1024 {
		return nil
	}
	return a[:0]
}

func (s *series) int(row int, v int64) {
	if s.n != row {
		s.seek(row)
	}
	s.ints = append(s.ints, v)
	s.n++
	if s.nulls {
		s.mark()
	}
}

func (s *series) double(row int, bits uint64) {
	if s.n != row {
		s.seek(row)
	}
	s.floats = append(s.floats, math.Float64frombits(bits))
	s.n++
	if s.nulls {
		s.mark()
	}
}

func (s *series) bool(row int, v bool) {
	if s.n != row {
		s.seek(row)
	}
	s.bits = appendBits(s.bits, s.n, 1, v)
	s.n++
	if s.nulls {
		s.mark()
	}
}

// fixed sets a value of s.width bytes.
func (s *series) fixed(row int, v []byte) {
	if s.n != row {
		s.seek(row)
	}
	s.data = append(s.data, v...)
	s.n++
	if s.nulls {
		s.mark()
	}
}

// str sets a string. It reports false, and leaves the row without a value, if v is not UTF-8.
// A value that is in the dictionary has been checked.
func (s *series) str(row int, v []byte) bool {
	if s.n != row {
		s.seek(row)
	}
	if s.dict != nil {
		f := fingerprintOf(v)
		at := s.dict.find(f, v)
		if at >= 0 {
			s.entry(at)
			return true
		}
		if !utf8.Valid(v) {
			return false
		}
		s.insert(f, v)
		return true
	}
	if !utf8.Valid(v) {
		return false
	}
	s.value(v)
	return true
}

// bytes sets a value of bytes.
func (s *series) bytes(row int, v []byte) {
	if s.n != row {
		s.seek(row)
	}
	if s.dict == nil {
		s.value(v)
		return
	}
	f := fingerprintOf(v)
	if at := s.dict.find(f, v); at >= 0 {
		s.entry(at)
		return
	}
	s.insert(f, v)
}

// insert appends a value that the dictionary lacks.
func (s *series) insert(f fingerprint, v []byte) {
	if s.promising() {
		if at := s.dict.add(f, v); at >= 0 {
			s.entry(at)
			return
		}
	}
	s.plain()
	s.value(v)
}

// promising reports whether the dictionary should go on. Ten thousand users in a block are worth one:
// their indices are a third of their names. Random ids are not, and show it early: when a dictionary
// is a quarter full, an eighth more rows than it has values must have come.
func (s *series) promising() bool {
	n := s.dict.len()
	return n != s.dict.max/4 || s.n >= n+n/8
}

// entry appends a value by its place in the dictionary.
func (s *series) entry(at int32) {
	s.index = append(s.index, at)
	s.n++
	if s.nulls {
		s.mark()
	}
}

// value appends a plain value.
func (s *series) value(v []byte) {
	s.data = append(s.data, v...)
	s.offsets = append(s.offsets, int32(len(s.data)))
	s.n++
	if s.nulls {
		s.mark()
	}
}

// plain gives the dictionary up: it no longer saves anything. The values so far move to memory
// that nothing used since the last reset, so that a snapshot keeps what it shares.
func (s *series) plain() {
	d := s.dict
	s.retired, s.dict = d, nil
	s.offsets = append(slices.Grow(s.offsets[:0], 2*(s.n+1)), 0)
	s.data = slices.Grow(s.data[:0], 2*len(d.data))
	for i, at := range s.index {
		if !s.null(i) {
			s.data = append(s.data, d.at(at)...)
		}
		s.offsets = append(s.offsets, int32(len(s.data)))
	}
	s.index = nil
}

// open begins the list of a row, or goes on with it. The caller appends to s.elem and then
// calls close.
func (s *series) open(row int) {
	if s.n > row {
		return
	}
	if s.n != row {
		s.seek(row)
	}
	s.offsets = append(s.offsets, s.offsets[s.n])
	s.n++
	if s.nulls {
		s.mark()
	}
}

// close takes what s.elem holds into the open list. A list without elements is null.
func (s *series) close() {
	s.offsets[s.n] = int32(s.elem.n)
	if s.offsets[s.n] == s.offsets[s.n-1] {
		s.truncate(s.n - 1)
	}
}

func (s *series) null(i int) bool { return s.nulls && s.valid[i>>3]&(1<<(i&7)) == 0 }

// mark makes the value just appended valid.
func (s *series) mark() {
	i := s.n - 1
	if i&7 == 0 {
		s.valid = append(s.valid, 0)
	}
	s.valid[i>>3] |= 1 << (i & 7)
}

// drop takes the value of a row back.
func (s *series) drop(row int) {
	if s.n > row {
		s.truncate(row)
	}
}

// seek makes row the next one to be set.
func (s *series) seek(row int) {
	if s.n > row {
		s.truncate(row)
		return
	}
	s.skip(row - s.n)
}

// skip appends k nulls.
func (s *series) skip(k int) {
	if !s.nulls {
		s.nulls = true
		s.valid = appendBits(s.valid[:0], 0, s.n, true)
	}
	s.valid = appendBits(s.valid, s.n, k, false)
	s.n += k
	switch s.typ {
	case Int, Uint, Time:
		s.ints = extend(s.ints, k, 0)
	case Double:
		s.floats = extend(s.floats, k, 0)
	case Bool:
		s.bits = appendBits(s.bits, s.n-k, k, false)
	case Fixed:
		s.data = extend(s.data, k*s.width, 0)
	case String, Bytes, List:
		if s.dict != nil {
			s.index = extend(s.index, k, 0)
		} else {
			s.offsets = extend(s.offsets, k, s.offsets[len(s.offsets)-1])
		}
	case Struct: // its fields follow when a snapshot is taken
	}
}

// repeat appends the last value, which is not null, k times more.
func (s *series) repeat(k int) {
	last := s.n - 1
	if s.nulls {
		s.valid = appendBits(s.valid, s.n, k, true)
	}
	s.n += k
	switch s.typ {
	case Int, Uint, Time:
		s.ints = extend(s.ints, k, s.ints[last])
	case Double:
		s.floats = extend(s.floats, k, s.floats[last])
	case Bool:
		s.bits = appendBits(s.bits, last+1, k, s.bits[last>>3]&(1<<(last&7)) != 0)
	case String, Bytes: // always dictionary-encoded where values repeat
		s.index = extend(s.index, k, s.index[last])
	}
}

// again repeats the value of a row k times behind it, if there is one.
func (s *series) again(row, k int) {
	if s.n == row+1 && !s.null(row) {
		s.repeat(k)
	}
}

// truncate forgets every value from n on.
func (s *series) truncate(n int) {
	if s.n <= n {
		return
	}
	s.n = n
	if s.nulls {
		s.valid = cutBits(s.valid, n)
	}
	switch s.typ {
	case Int, Uint, Time:
		s.ints = s.ints[:n]
	case Double:
		s.floats = s.floats[:n]
	case Bool:
		s.bits = cutBits(s.bits, n)
	case Fixed:
		s.data = s.data[:n*s.width]
	case String, Bytes:
		if s.dict != nil {
			s.index = s.index[:n]
			return
		}
		s.offsets = s.offsets[:n+1]
		s.data = s.data[:s.offsets[n]]
	case List:
		s.offsets = s.offsets[:n+1]
		s.elem.truncate(int(s.offsets[n]))
	case Struct:
		for _, f := range s.fields {
			f.truncate(n)
		}
	}
}

func (s *series) memBytes() int {
	m := cap(s.valid) + 4*cap(s.index) + 8*cap(s.ints) + 8*cap(s.floats) + cap(s.bits) + 4*cap(s.offsets) + cap(s.data)
	if s.dict != nil {
		m += s.dict.memBytes()
	}
	if s.retired != nil {
		m += s.retired.memBytes()
	}
	if s.elem != nil {
		m += s.elem.memBytes()
	}
	for _, f := range s.fields {
		m += f.memBytes()
	}
	return m
}

// extend appends v to a slice k times.
func extend[E any](a []E, k int, v E) []E {
	n := len(a)
	a = slices.Grow(a, k)[:n+k]
	for i := n; i < len(a); i++ {
		a[i] = v
	}
	return a
}

// appendBits appends k equal bits to a bitmap of n bits. Bits behind its end are zero.
func appendBits(b []byte, n, k int, one bool) []byte {
	end := n + k
	if !one {
		return extend(b, (end+7)>>3-len(b), 0)
	}
	for ; n < end && n&7 != 0; n++ {
		b[n>>3] |= 1 << (n & 7)
	}
	b = extend(b, (end-n)>>3, 0xff)
	if n < end && end&7 != 0 {
		b = append(b, 1<<(end&7)-1)
	}
	return b
}

// cutBits shortens a bitmap to n bits.
func cutBits(b []byte, n int) []byte {
	b = b[:(n+7)>>3]
	if n&7 != 0 {
		b[n>>3] &= 1<<(n&7) - 1
	}
	return b
}
