package column

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"mira/storage/signal"
)

// bad stands for bytes that are not UTF-8 while protobuf, which refuses those, holds the string.
// It has their length, so that it can be replaced on the wire.
const (
	bad    = "\x01\x02\x03"
	notUTF = "\xff\xfe\xfd"
)

func spoil(b []byte) []byte  { return bytes.ReplaceAll(b, []byte(bad), []byte(notUTF)) }
func mend(b []byte) []byte   { return bytes.ReplaceAll(b, []byte(notUTF), []byte(bad)) }
func asItIs(b []byte) []byte { return b }

// generator makes messages and their encodings.
type generator struct {
	t       *rapid.T
	badUTF  bool // some strings stand for invalid UTF-8
	mangled bool // encodings are legal but not what an encoder writes
	keys    *rapid.Generator[string]
}

func newGenerator(t *rapid.T, badUTF, mangled bool) *generator {
	keys := []string{"", "a", "b", "c", "a:int", "a:int:2", "http.method", "ключ", "long" + strings.Repeat("k", 200)}
	if badUTF {
		keys = append(keys, bad, "a"+bad)
	}
	return &generator{t: t, badUTF: badUTF, mangled: mangled, keys: rapid.SampledFrom(keys)}
}

func (g *generator) oneIn(n int) bool { return rapid.IntRange(1, n).Draw(g.t, "one in") == 1 }

// message fills a message with anything that Check accepts.
func (g *generator) message(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if depth <= 0 && f.Kind() == protoreflect.MessageKind || strings.HasSuffix(string(f.Name()), "strindex") && !g.oneIn(20) {
			continue
		}
		switch {
		case f.IsList():
			l := m.Mutable(f).List()
			for range rapid.IntRange(0, 3).Draw(g.t, string(f.Name())) {
				if f.Kind() == protoreflect.MessageKind {
					e := l.NewElement()
					g.message(e.Message(), depth-1)
					l.Append(e)
				} else {
					l.Append(g.scalar(f))
				}
			}
		case g.oneIn(2):
		case f.Kind() == protoreflect.MessageKind:
			g.message(m.Mutable(f).Message(), depth-1)
		default:
			m.Set(f, g.scalar(f))
		}
	}
}

func (g *generator) scalar(f protoreflect.FieldDescriptor) protoreflect.Value {
	u := func() uint64 {
		return rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{
			0, 1, 127, 128, 1 << 31, math.MaxUint32, math.MaxInt64, math.MaxUint64, 1 << 63,
			math.Float64bits(math.NaN()), 0x7ff8000000000123, math.Float64bits(math.Inf(-1)),
		})).Draw(g.t, "number")
	}
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(u()&1 == 1)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(g.text(f))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(g.bytes(f))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(u()))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(u()))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(u()))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(int64(u()))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(math.Float64frombits(u()))
	default:
		return protoreflect.ValueOfUint64(u())
	}
}

func (g *generator) text(f protoreflect.FieldDescriptor) string {
	if f.Name() == "key" {
		return g.keys.Draw(g.t, "key")
	}
	values := []string{"", "x", "GET", "日本語", "nul\x00", "<&>\u2028", strings.Repeat("long value ", 30)}
	if g.badUTF {
		values = append(values, bad, "x"+bad+"y"+bad)
	}
	return rapid.SampledFrom(values).Draw(g.t, "text")
}

func (g *generator) bytes(f protoreflect.FieldDescriptor) []byte {
	n := 8
	switch {
	case strings.HasSuffix(string(f.Name()), "trace_id"):
		n = 16
	case !strings.HasSuffix(string(f.Name()), "span_id"):
		n = rapid.SampledFrom([]int{0, 1, 200}).Draw(g.t, "length")
	}
	return bytes.Repeat([]byte{rapid.SampledFrom([]byte{0, 7}).Draw(g.t, "byte")}, n*rapid.IntRange(0, 1).Draw(g.t, "set"))
}

// encode writes a message, as an encoder would or mangled.
func (g *generator) encode(m protoreflect.Message) []byte {
	if g.mangled {
		return g.mangle(m)
	}
	b, err := proto.Marshal(m.Interface())
	if err != nil {
		panic(err)
	}
	return b
}

// mangle writes a message in an order, and with repetitions and forms, that protobuf allows and
// nobody writes.
func (g *generator) mangle(m protoreflect.Message) []byte {
	var parts [][]byte
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		parts = append(parts, g.mangleField(f, v))
		return true
	})
	if len(parts) > 1 {
		parts = rapid.Permutation(parts).Draw(g.t, "order")
	}
	if g.oneIn(8) {
		parts = append(parts, protowire.AppendVarint(g.tag(nil, 500, protowire.VarintType), 9))
	}
	if g.oneIn(8) { // an unknown field, which an encoder of a later version may put first
		parts = append([][]byte{protowire.AppendString(g.tag(nil, 77, protowire.BytesType), "unknown")}, parts...)
	}
	return bytes.Join(parts, nil)
}

func (g *generator) mangleField(f protoreflect.FieldDescriptor, v protoreflect.Value) (b []byte) {
	switch {
	case f.IsList() && f.IsPacked():
		return g.manglePacked(f, v.List())
	case f.IsList():
		for i := range v.List().Len() {
			b = g.mangleValue(b, f, v.List().Get(i))
		}
		return b
	case f.Kind() == protoreflect.MessageKind && g.oneIn(4):
		// In two parts, which merge.
		whole := g.mangle(v.Message())
		cut := 0
		for i := 0; i < len(whole); {
			_, _, n := protowire.ConsumeField(whole[i:])
			i += n
			if g.oneIn(2) {
				cut = i
			}
		}
		b = g.length(g.tag(b, f.Number(), protowire.BytesType), whole[:cut])
		return g.length(g.tag(b, f.Number(), protowire.BytesType), whole[cut:])
	case f.Kind() != protoreflect.MessageKind && g.oneIn(4):
		b = g.mangleValue(b, f, g.scalar(f)) // replaced by the next
	}
	return g.mangleValue(b, f, v)
}

// manglePacked writes a packed scalar in chunks, and some elements on their own.
func (g *generator) manglePacked(f protoreflect.FieldDescriptor, l protoreflect.List) (b []byte) {
	for i := 0; i < l.Len(); {
		if g.oneIn(3) {
			b = g.mangleValue(b, f, l.Get(i))
			i++
			continue
		}
		var chunk []byte
		for n := rapid.IntRange(0, 2).Draw(g.t, "chunk"); n > 0 && i < l.Len(); n-- {
			chunk = g.value(chunk, f, l.Get(i))
			i++
		}
		b = g.length(g.tag(b, f.Number(), protowire.BytesType), chunk)
	}
	return b
}

func (g *generator) mangleValue(b []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	if f.Kind() == protoreflect.MessageKind {
		return g.length(g.tag(b, f.Number(), protowire.BytesType), g.mangle(v.Message()))
	}
	return g.value(g.tag(b, f.Number(), wireTypes[f.Kind()]), f, v)
}

var wireTypes = map[protoreflect.Kind]protowire.Type{
	protoreflect.StringKind: protowire.BytesType, protoreflect.BytesKind: protowire.BytesType,
	protoreflect.Fixed64Kind: protowire.Fixed64Type, protoreflect.Sfixed64Kind: protowire.Fixed64Type, protoreflect.DoubleKind: protowire.Fixed64Type,
	protoreflect.Fixed32Kind: protowire.Fixed32Type,
}

func (g *generator) value(b []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return g.varint(b, protowire.EncodeBool(v.Bool()))
	case protoreflect.StringKind:
		return g.length(b, []byte(v.String()))
	case protoreflect.BytesKind:
		return g.length(b, v.Bytes())
	case protoreflect.EnumKind:
		return g.varint(b, uint64(v.Enum()))
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return g.varint(b, uint64(v.Int()))
	case protoreflect.Sint32Kind:
		return g.varint(b, uint64(uint32(protowire.EncodeZigZag(v.Int()))))
	case protoreflect.Fixed32Kind:
		return binary.LittleEndian.AppendUint32(b, uint32(v.Uint()))
	case protoreflect.Sfixed64Kind:
		return binary.LittleEndian.AppendUint64(b, uint64(v.Int()))
	case protoreflect.Fixed64Kind:
		return binary.LittleEndian.AppendUint64(b, v.Uint())
	case protoreflect.DoubleKind:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Float()))
	default:
		return g.varint(b, v.Uint())
	}
}

func (g *generator) tag(b []byte, n protowire.Number, t protowire.Type) []byte {
	return g.varint(b, uint64(n)<<3|uint64(t))
}

func (g *generator) length(b, v []byte) []byte { return append(g.varint(b, uint64(len(v))), v...) }

// varint writes a varint, sometimes longer than it need be.
func (g *generator) varint(b []byte, v uint64) []byte {
	b = protowire.AppendVarint(b, v)
	if v < 1<<50 && g.oneIn(6) {
		b[len(b)-1] |= 0x80
		b = append(b, 0x80, 0)
	}
	return b
}

// requests draws a few requests of s and what protobuf reads from them.
func (g *generator) requests(s signal.Signal) (payloads [][]byte, want []string) {
	for range rapid.IntRange(1, 3).Draw(g.t, "requests") {
		m := newRequest(s)
		g.message(m.ProtoReflect(), 9)
		b := g.encode(m.ProtoReflect())
		read, err := decode(s, b)
		if err != nil {
			g.t.Fatalf("protobuf refuses the test's own request: %v", err)
		}
		payloads = append(payloads, b)
		want = append(want, records(read)...)
	}
	return payloads, want
}

func TestEveryRequestComesBack(t *testing.T) {
	for _, s := range signal.All {
		for name, mangled := range map[string]bool{"canonical": false, "mangled": true} {
			t.Run(s.String()+" "+name, rapid.MakeCheck(func(t *rapid.T) {
				g := newGenerator(t, false, mangled)
				payloads, want := g.requests(s)
				checkRoundTrip(t, s, build(t, s, g.options(), payloads...), want, asItIs)
			}))
		}
	}
}

func (g *generator) options() Options {
	return Options{
		MaxColumns: rapid.SampledFrom([]int{1, 3, 256}).Draw(g.t, "columns"),
		DictMax:    rapid.SampledFrom([]int{1, 2, 4096}).Draw(g.t, "dictionary"),
	}
}

func TestInvalidUTF8ComesBackAsItCame(t *testing.T) {
	for _, s := range signal.All {
		for name, mangled := range map[string]bool{"canonical": false, "mangled": true} {
			t.Run(s.String()+" "+name, rapid.MakeCheck(func(t *rapid.T) {
				g := newGenerator(t, true, mangled)
				payloads, want := g.requests(s)
				for i := range payloads {
					payloads[i] = spoil(payloads[i])
				}
				table := build(t, s, g.options(), payloads...)
				checkRoundTrip(t, s, table, want, mend)
				// Made valid, protobuf itself takes it.
				want = want[:0]
				for i := range payloads {
					m, err := decode(s, bytes.ReplaceAll(payloads[i], []byte(notUTF), []byte("\uFFFD")))
					if err != nil {
						t.Fatalf("the test's own request: %v", err)
					}
					want = append(want, records(m)...)
				}
				got := reread(t, s, table.AppendRequest(nil, s, allRows(table), true))
				if i := difference(got, want); i >= 0 {
					t.Fatalf("%v: record %d made valid\n got %s\nwant %s", s, i, at(got, i), at(want, i))
				}
			}))
		}
	}
}
