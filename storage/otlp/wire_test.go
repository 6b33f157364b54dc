package otlp

import (
	"bytes"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

func TestFieldReadsWhatProtowireReads(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 300)
	var b []byte
	b = AppendVarint(b, 1, 5)
	b = AppendVarint(b, 2, 1<<63+7)
	b = AppendFixed64(b, 3, 1<<60)
	b = AppendFixed32(b, 16, 1<<31)
	b = AppendBytes(b, 4, "short")
	b = AppendBytes(b, 400, long)
	b = append(protowire.AppendTag(b, 7, protowire.StartGroupType), 0x08, 0x01, 0x3c)
	n := 0
	for i := 0; uint(i) < uint(len(b)); n++ {
		num, typ, val, next := Field(b, i)
		wantNum, wantTyp, size := protowire.ConsumeField(b[i:])
		if num != int(wantNum) || int(typ) != int(wantTyp) || next != i+size {
			t.Fatalf("field at %d: got %d/%d ending at %d, want %d/%d at %d", i, num, typ, next, wantNum, wantTyp, i+size)
		}
		if num == 400 && !bytes.Equal(b[val:next], long) {
			t.Errorf("content of the long field: got %q", b[val:next])
		}
		i = next
	}
	if n != 7 {
		t.Errorf("fields: got %d, want 7", n)
	}
}

func TestFieldRefusesWhatIsNotAField(t *testing.T) {
	f := func(name string, b ...byte) {
		t.Helper()
		if num, typ, _, next := Field(b, 0); next != -1 {
			t.Errorf("%s: got field %d type %d ending at %d, want -1", name, num, typ, next)
		}
	}
	f("nothing")
	f("tag alone", 0x08)
	f("length past the end", 0x0a, 2, 'x')
	f("huge length", 0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01)
	f("field number zero", 0x02, 0)
	f("field number too large", 0x80, 0x80, 0x80, 0x80, 0x10, 0)
	f("wire type 6", 0x0e, 0)
	f("end without a group", 0x0c)
	f("group without its end", 0x0b, 0x08, 0x01)
	f("group with another's end", 0x0b, 0x14)
	f("varint of eleven bytes", 0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00)
	f("varint with a 65th bit", 0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02)
	f("short fixed64", 0x09, 1, 2, 3, 4, 5, 6, 7)
	f("short fixed32", 0x0d, 1, 2, 3)
	if _, _, _, next := Field([]byte{8, 1}, -1); next != -1 {
		t.Errorf("index -1: got %d", next)
	}
}

func TestGroupsNestOnlySoDeep(t *testing.T) {
	nested := func(n int) []byte {
		return append(bytes.Repeat([]byte{0x0b}, n), bytes.Repeat([]byte{0x0c}, n)...)
	}
	if _, _, _, next := Field(nested(maxGroups), 0); next != 2*maxGroups {
		t.Errorf("%d groups: got next %d", maxGroups, next)
	}
	if _, _, _, next := Field(nested(maxGroups+1), 0); next != -1 {
		t.Errorf("%d groups: got next %d, want -1", maxGroups+1, next)
	}
}

func TestEndPutsEveryLengthInFrontOfItsContent(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, 16383, 16384, 70000} {
		content := bytes.Repeat([]byte{0xab}, n)
		b, outer := Begin([]byte("before"), 20)
		b, inner := Begin(b, 2)
		b = End(append(b, content...), inner)
		b = End(b, outer)
		want := AppendBytes([]byte("before"), 20, AppendBytes(nil, 2, content))
		if !bytes.Equal(b, want) {
			t.Errorf("%d bytes of content: got %d bytes, want %d", n, len(b), len(want))
		}
	}
}

func TestZigzag(t *testing.T) {
	for _, v := range []int64{0, -1, 1, -2147483648, 2147483647, -1 << 63} {
		if got := Zigzag(protowire.EncodeZigZag(v)); got != v {
			t.Errorf("got %d, want %d", got, v)
		}
	}
}

func float64bits(v float64) uint64 { return math.Float64bits(v) }
