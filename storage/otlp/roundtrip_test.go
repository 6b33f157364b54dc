package otlp

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// drawMessage draws a message of kind m as canonical bytes: any subset of its fields, lists of
// up to three, one member of the oneof, values up to depth levels deep.
func drawMessage(t *rapid.T, m id, depth int) (b []byte) {
	members := []int{0}
	for num := range schema[m] {
		if schema[m][num].is(choice) {
			members = append(members, num)
		}
	}
	member := rapid.SampledFrom(members).Draw(t, "member")
	for num := range schema[m] {
		f := &schema[m][num]
		switch {
		case f.kind == unknown, f.is(choice) && num != member, f.is(deeper) && depth == 0:
			continue
		}
		most := 1
		if f.is(list) {
			most = 3
		}
		for range rapid.IntRange(0, most).Draw(t, f.name) {
			b = drawField(t, b, num, f, depth)
		}
	}
	return b
}

func drawField(t *rapid.T, b []byte, num int, f *spec, depth int) []byte {
	switch f.kind {
	case nested:
		if f.is(deeper) {
			depth--
		}
		return AppendBytes(b, num, drawMessage(t, f.of, depth))
	case text:
		return AppendBytes(b, num, rapid.String().Draw(t, "text"))
	case binaries:
		return AppendBytes(b, num, rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
	case traceID:
		return AppendBytes(b, num, rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "trace id"))
	case spanID:
		return AppendBytes(b, num, rapid.SampledFrom([]string{"", "\0000000000", "spanspan"}).Draw(t, "span id"))
	case double:
		extremes := rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, math.MaxFloat64, 5e-324, 1e21, 1e-7})
		return AppendFixed64(b, num, math.Float64bits(rapid.OneOf(rapid.Float64(), extremes).Draw(t, "double")))
	case boolean:
		return AppendVarint(b, num, uint64(rapid.IntRange(0, 1).Draw(t, "bool")))
	case int32s, enum:
		return AppendVarint(b, num, uint64(rapid.Int32().Draw(t, "int32")))
	case sint32s:
		return AppendVarint(b, num, protowire.EncodeZigZag(int64(rapid.Int32().Draw(t, "sint32"))))
	case uint32s:
		return AppendVarint(b, num, uint64(rapid.Uint32().Draw(t, "uint32")))
	case fixed32s:
		return AppendFixed32(b, num, rapid.Uint32().Draw(t, "fixed32"))
	case fixed64s, sfixed64s:
		return AppendFixed64(b, num, rapid.Uint64().Draw(t, "fixed64"))
	}
	return AppendVarint(b, num, rapid.Uint64().Draw(t, "uint64"))
}

func TestRequestsSurviveJSON(t *testing.T) {
	for m := range roots {
		rapid.Check(t, func(t *rapid.T) {
			pb := drawMessage(t, m, 2)
			body, err := appendJSON([]byte("kept"), pb, m)
			if err != nil || !bytes.HasPrefix(body, []byte("kept")) || !json.Valid(body[4:]) {
				t.Fatalf("to JSON: %q, %v", body, err)
			}
			back, _, err := fromJSON(nil, body[4:], m)
			if err != nil || !equalMessages(t, m, back, pb) {
				t.Fatalf("%s\nand back: %v\n got %x\nwant %x", body, err, back, pb)
			}
			samePdata(t, m, body[4:], pb)
		})
	}
}

// samePdata checks that the Collector reads from our JSON what it reads from the wire.
func samePdata(t rapid.TB, m id, body, pb []byte) {
	t.Helper()
	wire, text := newPdata(m), newPdata(m)
	if err := wire.UnmarshalProto(pb); err != nil {
		t.Fatalf("pdata, wire: %v", err)
	}
	if err := text.UnmarshalJSON(body); err != nil {
		t.Fatalf("pdata, JSON: %v\n%s", err, body)
	}
	want, _ := wire.MarshalProto()
	got, _ := text.MarshalProto()
	if !bytes.Equal(got, want) {
		t.Fatalf("pdata reads something else\n%s\n got %x\nwant %x", body, got, want)
	}
}

// TestSplitMessagesMerge tears requests apart: a singular message in two pieces, scalars and
// whole oneofs overwritten. What protobuf makes of them is what JSON shows.
func TestSplitMessagesMerge(t *testing.T) {
	for m := range roots {
		rapid.Check(t, func(t *rapid.T) {
			pb := tear(t, drawMessage(t, m, 1), m)
			if _, err := check(pb, m); err != nil {
				t.Fatal(err)
			}
			body, err := appendJSON(nil, pb, m)
			if err != nil {
				t.Fatal(err)
			}
			back, _, err := fromJSON(nil, body, m)
			if err != nil || !equalMessages(t, m, back, pb) {
				t.Fatalf("%s\nand back: %v\n got %x\nwant %x", body, err, back, pb)
			}
		})
	}
}

// tear rewrites b with singular messages drawn again behind themselves.
func tear(t *rapid.T, b []byte, m id) (out []byte) {
	for i := 0; uint(i) < uint(len(b)); {
		num, _, val, next := Field(b, i)
		f := &schema[m][num]
		if f.kind == nested {
			out = AppendBytes(out, num, tear(t, b[val:next], f.of))
		} else {
			out = append(out, b[i:next]...)
		}
		if !f.is(list) && rapid.IntRange(0, 2).Draw(t, "again") == 0 {
			out = drawField(t, out, num, f, 1)
		}
		i = next
	}
	if m == anyValue && len(out) > 0 && rapid.Bool().Draw(t, "other") {
		out = append(out, drawMessage(t, m, 1)...)
	}
	return out
}

func TestInvalidTextBecomesReplacementCharacters(t *testing.T) {
	f := func(s, want string) {
		t.Helper()
		got, err := AppendValueJSON(nil, AppendBytes(nil, 1, s))
		if want = `{"stringValue":"` + want + `"}`; string(got) != want || err != nil {
			t.Errorf("%q: got %s and %v, want %s", s, got, err, want)
		}
	}
	f("", "")
	f("a\xffb", "a\uFFFDb")
	f("\xff\xfe", "\uFFFD\uFFFD")
	f("\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD")
	f("caf\xc3", "caf\uFFFD")
	f("\uFFFD é \U0001F600", "\uFFFD é \U0001F600")
	f("\"\\\n\r\t\x00\x1f\x7f<>&\u2028", `\"\\\n\r\t\u0000\u001f`+"\x7f<>&\u2028")
}

func TestPiecesToJSON(t *testing.T) {
	f := func(name string, got []byte, err error, want string) {
		t.Helper()
		if string(got) != want || err != nil {
			t.Errorf("%s:\n got %s, %v\nwant %s", name, got, err, want)
		}
	}
	attribute := appendAttribute(nil, 1, "k", 3, uint64(math.MaxUint64))
	got, err := AppendResourceJSON(nil, AppendVarint(attribute, 2, 7))
	f("resource", got, err, `{"attributes":[{"key":"k","value":{"intValue":"-1"}}],"droppedAttributesCount":7}`)
	got, err = AppendScopeJSON(nil, AppendBytes(nil, 1, "n"))
	f("scope", got, err, `{"name":"n"}`)
	got, err = AppendLogRecordJSON(nil, AppendBytes(AppendFixed64(nil, 1, 1), 9, "0123456789abcdef"))
	f("log record", got, err, `{"timeUnixNano":"1","traceId":"30313233343536373839616263646566"}`)
	got, err = AppendSpanJSON(nil, AppendVarint(AppendBytes(nil, 5, "s"), 6, 2))
	f("span", got, err, `{"name":"s","kind":2}`)
	point := AppendBytes(AppendFixed64(nil, 5, 0), 6, "")
	got, err = AppendMetricJSON(nil, AppendBytes(nil, 9, AppendBytes(nil, 1, point)))
	f("metric", got, err, `{"histogram":{"dataPoints":[{"sum":0}]}}`)
	got, err = AppendValueJSON(nil, AppendBytes(nil, 7, "\xfb\xff"))
	f("bytes", got, err, `{"bytesValue":"+/8="}`)
	got, err = AppendValueJSON(nil, AppendBytes(nil, 5, ""))
	f("empty array", got, err, `{"arrayValue":{}}`)
	got, err = AppendValueJSON(nil, nil)
	f("unset", got, err, `{}`)
	if got, err := AppendValueJSON([]byte("kept"), tower(MaxDepth+1)); err == nil || string(got) != "kept" {
		t.Errorf("too deep: got %s, %v", got, err)
	}
}

func TestJSONRoundTripAtMaxDepth(t *testing.T) {
	pb := chain(logsRequest, AppendBytes(nil, 5, tower(MaxDepth)))
	body, err := AppendLogsJSON(nil, pb)
	if err != nil {
		t.Fatal(err)
	}
	back, _, err := LogsFromJSON(nil, body)
	if err != nil || !proto.Equal(decode(t, back), decode(t, pb)) {
		t.Errorf("%s: %v", body, err)
	}
}

func decode(t *testing.T, pb []byte) proto.Message {
	t.Helper()
	msg := newMessage(logsRequest)
	if err := proto.Unmarshal(pb, msg); err != nil {
		t.Fatal(err)
	}
	return msg
}
