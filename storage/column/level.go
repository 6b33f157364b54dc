package column

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"

	"mira/storage/otlp"
)

// maxKey bounds the length of an attribute key that becomes the name of a column.
const maxKey = 1024

// level is the columns of one OTLP message of a row: the record, or the scope, resource or
// metric that a run of records shares.
type level struct {
	id     Level
	name   string // of the message, with a dot; "" for a record
	prefix string // of its attribute columns
	b      *Builder
	reader *reader
	fields []column // the fixed ones, in the order of the schema

	// Attributes come in the order of the previous record, nearly always: each slot knows which
	// one followed it last time, and the time before.
	root  slot
	at    *slot
	slots []*slot          // in order of first use
	keys  map[string]*slot // the first slot of every key
	spare map[spareKey]*slot

	overflow series
	over     []byte // the overflow of the row being filled
	lost     uint64 // its fields, by number, that went there

	schema *series // resource, scope: the schema_url beside the message
	last   []byte  // the message of the last run
	url    []byte  // and its schema_url
}

// column is a fixed column.
type column struct {
	name string
	*series
}

// slot is an attribute column.
type slot struct {
	series
	key       string
	name      string
	head      string // a KeyValue with this key, up to the length of its value; see attribute
	tag       byte   // of the kind in an AnyValue
	kind      Kind
	next, alt *slot
	twin      *slot // the same key with another type; a ring
}

type spareKey struct {
	key  string
	kind Kind
}

func (l *level) init(b *Builder, id Level, name, attrs string) {
	l.b, l.id, l.name, l.prefix = b, id, name, name+attrs
	l.at = &l.root
	l.keys = make(map[string]*slot)
	l.overflow.init(Bytes, 0, l.dictMax(Bytes))
}

// dictMax returns how many distinct values a column of this level may have and stay
// dictionary-encoded. Where values repeat down the rows a dictionary never holds more than the
// Exports did, and plain values could hold a multiple of it, so there is no limit.
func (l *level) dictMax(t Type) int {
	switch {
	case l.id != LevelRecord && (t == String || t == Bytes):
		return math.MaxInt32
	case t == String:
		return l.b.o.DictMax
	default:
		return 0
	}
}

// begin starts a row.
func (l *level) begin() {
	l.at = &l.root
}

// end finishes a row.
func (l *level) end(row int) {
	if len(l.over) > 0 {
		l.overflow.bytes(row, l.over)
		l.over, l.lost = l.over[:0], 0
	}
}

// spill sends a field to overflow.
func (l *level) spill(raw []byte) { l.over = append(l.over, raw...) }

// attribute puts a KeyValue in the column of its key and type. raw is the whole field.
//
// Encoders write key, value and one field in the value, nothing else, with lengths of one byte.
// When the key is the one that followed last time, comparing with that is all the parsing there
// is.
func (l *level) attribute(raw, p []byte, row int) {
	if s := l.at.next; s != nil && len(p) > len(s.head)+2 && string(p[:len(s.head)]) == s.head && s.canonical(p[len(s.head):], row) {
		l.at = s
		return
	}
	l.unforeseen(raw, p, row)
}

// canonical sets the value of a row from what follows the head of a KeyValue: a length, a tag,
// and a value of the slot's kind. It reports false when it is anything else.
func (s *slot) canonical(p []byte, row int) bool {
	if int(p[0]) != len(p)-1 || p[0] >= 0x80 || p[1] != s.tag || s.n > row || s.twin != nil {
		return false
	}
	switch s.kind {
	case KindString:
		return int(p[2]) == len(p)-3 && s.str(row, p[3:])
	case KindInt:
		v, next := otlp.Uvarint(p, 2)
		if next != len(p) {
			return false
		}
		s.int(row, int64(v))
		return true
	case KindDouble:
		if len(p) != 10 {
			return false
		}
		s.double(row, binary.LittleEndian.Uint64(p[2:]))
		return true
	case KindBool:
		if len(p) != 3 || p[2] >= 0x80 {
			return false
		}
		s.bool(row, p[2] != 0)
		return true
	default:
		return false
	}
}

// unforeseen is attribute for every key and every encoding.
func (l *level) unforeseen(raw, p []byte, row int) {
	key, kind, num, val := parseKeyValue(p)
	s := l.at.next
	if s == nil || s.kind != kind || s.key != string(key) {
		if s = l.find(key, kind); s == nil {
			l.spill(raw)
			return
		}
	}
	l.at = s
	if s.n > row || s.twin != nil && s.taken(row) {
		l.spill(raw) // a second value for the key
		return
	}
	ok := true
	switch kind {
	case KindString:
		ok = s.str(row, val)
	case KindInt:
		s.int(row, int64(num))
	case KindDouble:
		s.double(row, num)
	case KindBool:
		s.bool(row, num != 0)
	case KindBytes:
		s.bytes(row, val)
	case KindAny:
		if ok = validMessage(val, msgAnyValue); ok {
			s.bytes(row, val)
		}
	}
	if !ok {
		l.spill(raw)
	}
}

// taken reports whether another type of the key has a value in this row.
func (s *slot) taken(row int) bool {
	for t := s.twin; t != s; t = t.twin {
		if t.n > row {
			return true
		}
	}
	return false
}

// find returns the slot of a key and type that is not the one predicted, making it if need be.
// It returns nil when the attribute has to go to overflow.
func (l *level) find(key []byte, kind Kind) *slot {
	at := l.at
	if s := at.alt; s != nil && s.kind == kind && s.key == string(key) {
		return s
	}
	first := l.keys[string(key)]
	s := first
	for s != nil && s.kind != kind {
		if s = s.twin; s == first {
			s = nil
		}
	}
	if s == nil {
		if s = l.newSlot(key, kind); s == nil {
			return nil
		}
		switch {
		case first == nil:
			l.keys[s.key] = s
		case first.twin == nil:
			first.twin, s.twin = s, first
		default:
			first.twin, s.twin = s, first.twin
		}
	}
	at.next, at.alt = s, at.next
	return s
}

func (l *level) newSlot(key []byte, kind Kind) *slot {
	if int(kind) >= len(kinds) || len(key) > maxKey || l.b.FullColumns() || !utf8.Valid(key) {
		return nil
	}
	s := l.spare[spareKey{string(key), kind}]
	if s == nil {
		s = &slot{key: string(key), kind: kind, tag: kinds[kind].tag}
		s.head = string(otlp.AppendTag(otlp.AppendBytes(nil, kvKey, s.key), kvValue, otlp.Bytes))
		typ := kinds[kind].typ
		s.init(typ, typ.width(), l.dictMax(typ))
	}
	s.name = freeName(l.b.names, l.prefix+s.key, kind)
	l.slots = append(l.slots, s)
	l.b.columns++
	return s
}

// fill gives the rows from first to end the values of a message, and of the schema_url beside
// it.
func (l *level) fill(first, end int, msg, url []byte) {
	if first == end {
		return
	}
	if first > 0 && bytes.Equal(msg, l.last) && bytes.Equal(url, l.url) {
		l.repeat(first-1, end-first)
		return
	}
	l.last, l.url = append(l.last[:0], msg...), append(l.url[:0], url...)
	l.begin()
	l.reader.read(msg, first)
	if len(url) > 0 && !l.schema.str(first, url) {
		l.over = otlp.AppendBytes(l.over, schemaURL, url)
	}
	l.end(first)
	l.repeat(first, end-first-1)
}

// repeat appends what a row has k times more. It is the last row every column can have.
func (l *level) repeat(row, k int) {
	for i := range l.fields {
		l.fields[i].again(row, k)
	}
	for _, s := range l.slots {
		s.again(row, k)
	}
	l.overflow.again(row, k)
}

// reset empties the level and keeps its memory.
func (l *level) reset() {
	for i := range l.fields {
		l.fields[i].reset()
	}
	l.spare = make(map[spareKey]*slot, len(l.slots))
	for _, s := range l.slots {
		s.reset()
		s.next, s.alt, s.twin = nil, nil, nil
		l.spare[spareKey{s.key, s.kind}] = s
	}
	clear(l.keys)
	l.slots = l.slots[:0]
	l.root = slot{}
	l.overflow.reset()
	l.last, l.url = l.last[:0], l.url[:0]
}

func (l *level) memBytes() int {
	m := l.overflow.memBytes() + cap(l.over) + cap(l.last) + cap(l.url)
	for i := range l.fields {
		m += l.fields[i].memBytes()
	}
	for _, s := range l.slots {
		m += s.memBytes()
	}
	return m
}

// freeName returns a name that is not in taken yet, and puts it there: base; or, when another type
// of the key has that, base:<type>; or, when a key is spelled like that, base:<type>:<n>.
func freeName(taken map[string]bool, base string, kind Kind) string {
	name := base
	if taken[name] {
		name = base + ":" + kinds[kind].name
	}
	for n := 2; taken[name]; n++ {
		name = base + ":" + kinds[kind].name + ":" + strconv.Itoa(n)
	}
	taken[name] = true
	return name
}
