package otlp

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// An exportRequest is what the three request types of pdata have in common.
type exportRequest interface {
	UnmarshalJSON(data []byte) error
	UnmarshalProto(data []byte) error
	MarshalJSON() ([]byte, error)
	MarshalProto() ([]byte, error)
}

func newPdata(m id) exportRequest {
	switch m {
	case logsRequest:
		return plogotlp.NewExportRequest()
	case tracesRequest:
		return ptraceotlp.NewExportRequest()
	}
	return pmetricotlp.NewExportRequest()
}

var odd = regexp.MustCompile(`_|null|\\|""\s*:`)

// pdataReads reports what pdata makes of body, when it takes body for what it is. Where it is
// known to see something else, ok is false:
//
//   - it reads original names, so anything with an underscore may mean more to it;
//   - it takes null in a oneof for a set member;
//   - it knows more escapes in strings and makes something else of half a surrogate pair;
//   - of an integer with a fraction it takes what stands before the point;
//   - it takes a member with an empty name for the end of its object.
func pdataReads(m id, body []byte) (pb []byte, ok bool) {
	if odd.Match(body) {
		return nil, false
	}
	r := newPdata(m)
	if r.UnmarshalJSON(body) != nil {
		return nil, false
	}
	pb, err := r.MarshalProto()
	return pb, err == nil
}

// judgeJSON checks what must hold for any body.
func judgeJSON(t rapid.TB, m id, body []byte) {
	t.Helper()
	pb, _, err := fromJSON(nil, body, m)
	if err != nil {
		if !utf8.ValidString(err.Error()) || len(pb) != 0 {
			t.Fatalf("error %q with %d bytes", err, len(pb))
		}
		return
	}
	if !json.Valid(body) {
		t.Fatalf("accepted, and encoding/json refuses it: %q", body)
	}
	if _, err := check(pb, m); err != nil {
		t.Fatalf("%q: Check refuses the result: %v", body, err)
	}
	back, err := appendJSON(nil, pb, m)
	if err != nil || !json.Valid(back) || !utf8.Valid(back) {
		t.Fatalf("%q: back to JSON: %q, %v", body, back, err)
	}
	if utf8.Valid(body) {
		if again, _, err := fromJSON(nil, back, m); err != nil || !equalMessages(t, m, again, pb) {
			t.Fatalf("%q: there and back again: %q, %v", body, back, err)
		}
	}
	want, ok := pdataReads(m, body)
	if !ok {
		return
	}
	r := newPdata(m)
	if err := r.UnmarshalProto(pb); err != nil {
		t.Fatalf("%q: pdata refuses the result: %v", body, err)
	}
	if got, _ := r.MarshalProto(); !bytes.Equal(got, want) {
		t.Fatalf("%q:\n got %x\npdata %x", body, got, want)
	}
}

func equalMessages(t rapid.TB, m id, a, b []byte) bool {
	t.Helper()
	x, y := newMessage(m), newMessage(m)
	if err := proto.Unmarshal(a, x); err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(b, y); err != nil {
		t.Fatal(err)
	}
	return proto.Equal(x, y)
}

func jsonCorpus(m id) (out [][]byte) {
	for member := range 6 {
		b, err := appendJSON(nil, sample(nil, m, member, 2), m)
		if err != nil {
			panic(err)
		}
		out = append(out, b)
		r := newPdata(m)
		if r.UnmarshalProto(sample(nil, m, member, 2)) == nil {
			b, _ := r.MarshalJSON()
			out = append(out, b)
		}
	}
	for _, s := range []string{
		`{}`, `{"x":[{"y":[1,-2.5e-3,true,false,null,"z"]}]}`, ` { "resourceLogs" : [ ] } `,
		`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"","body":{"bytesValue":"-_8"},"flags":"7","timeUnixNano":1e3}]}]}]}`,
		`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"histogram":{"dataPoints":[{"explicitBounds":["NaN",-0,"Infinity"]}]}}]}]}]}`,
		`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"\ud83d\ude00 \ud800","kind":3,"links":[{"spanId":"00000000000000FF"}]}]}]}]}`,
		`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":` + jsonTower(5) + `}]}]}]}`,
	} {
		out = append(out, []byte(s))
	}
	return out
}

func FuzzLogsFromJSON(f *testing.F)    { fuzzJSON(f, logsRequest) }
func FuzzTracesFromJSON(f *testing.F)  { fuzzJSON(f, tracesRequest) }
func FuzzMetricsFromJSON(f *testing.F) { fuzzJSON(f, metricsRequest) }

func fuzzJSON(f *testing.F, m id) {
	for _, b := range jsonCorpus(m) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { judgeJSON(t, m, b) })
}

// TestDamagedJSONIsRefusedOrReadAsPdataReadsIt cuts and mixes the corpus without end.
func TestDamagedJSONIsRefusedOrReadAsPdataReadsIt(t *testing.T) {
	for m := range roots {
		corpus := jsonCorpus(m)
		rapid.Check(t, func(rt *rapid.T) {
			b := bytes.Clone(rapid.SampledFrom(corpus).Draw(rt, "body"))
			damage(rt, &b, []string{"{", "}", "[", "]", ",", ":", "0", "-1", "1.5", "1e3", `"`, "null", "true", `"NaN"`, "{}", "[]", `"7"`})
			judgeJSON(rt, m, b)
		})
	}
}

// damage puts pieces into b or takes bytes out, a few times.
func damage(rt *rapid.T, b *[]byte, pieces []string) {
	for range rapid.IntRange(1, 3).Draw(rt, "times") {
		if len(*b) == 0 {
			return
		}
		at := rapid.IntRange(0, len(*b)-1).Draw(rt, "at")
		end := min(len(*b), at+rapid.IntRange(0, 12).Draw(rt, "length"))
		piece := rapid.SampledFrom(pieces).Draw(rt, "piece")
		*b = append((*b)[:at:at], append([]byte(piece), (*b)[end:]...)...)
	}
}

// TestDamagedRequestsAreJudgedAlike is the same for the wire.
func TestDamagedRequestsAreJudgedAlike(t *testing.T) {
	pieces := []string{"", "\x00", "\x0a\x00", "\x12\x00", "\x08\x01", "\x80", "\xff\x01", "\x0b\x0c", "\x0d\x01\x02\x03\x04", "\x09\x01\x02\x03\x04\x05\x06\x07\x08"}
	for m := range roots {
		corpus := corpus(m)
		rapid.Check(t, func(rt *rapid.T) {
			b := bytes.Clone(rapid.SampledFrom(corpus).Draw(rt, "request"))
			damage(rt, &b, pieces)
			judge(rt, m, b)
		})
	}
}
