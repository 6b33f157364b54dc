package otlp

import (
	"errors"
	"math"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"
)

// pdataCount decodes b with the Collector's decoder and counts its records.
func pdataCount(m id, b []byte) (int, error) {
	switch m {
	case logsRequest:
		r := plogotlp.NewExportRequest()
		err := r.UnmarshalProto(b)
		return r.Logs().LogRecordCount(), err
	case tracesRequest:
		r := ptraceotlp.NewExportRequest()
		err := r.UnmarshalProto(b)
		return r.Traces().SpanCount(), err
	}
	r := pmetricotlp.NewExportRequest()
	err := r.UnmarshalProto(b)
	return r.Metrics().DataPointCount(), err
}

// A model is a slow second opinion on Check: it knows the published descriptors and protowire,
// none of our tables. It also notes where pdata is known to deviate from protobuf.
type model struct {
	records int
	odd     bool // a corner in which pdata and protobuf part
}

var errModel = errors.New("refused by the model")

// message walks one message. Where we follow protobuf and pdata does not, it sets odd:
//
//   - groups: pdata takes the first field inside a group for the group's end;
//   - field numbers: pdata drops their upper bits, and takes any below 2^31;
//   - wire types 6 and 7 of an unknown field: pdata skips nothing when the body ends there;
//   - depth: pdata counts messages and stops at 100, we count arrays and maps and stop at 64;
//   - the same member of a metric's oneof twice: protobuf merges, pdata keeps the last;
//   - a varint of ten bytes may have bits beyond the 64th: protobuf refuses it in Go, pdata drops them.
//
// Where we follow pdata and Go's protobuf does not:
//
//   - a known field with another wire type is an error, not an unknown field;
//   - ids have their length, strings need not be UTF-8.
func (r *model) message(b []byte, d protoreflect.MessageDescriptor, depth int) error {
	start, last := r.records, protoreflect.FieldNumber(0)
	for len(b) > 0 {
		tag, n := r.varint(b)
		if n < 0 {
			return errModel
		}
		num, typ := protowire.Number(tag>>3), protowire.Type(tag&7)
		if tag>>3 > math.MaxInt32>>2 || typ == protowire.StartGroupType || typ > 5 {
			r.odd = true
		}
		if tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) || typ > 5 {
			return errModel
		}
		b = b[n:]
		size := r.valueSize(num, typ, b)
		if size < 0 {
			return errModel
		}
		before := r.records
		fd := d.Fields().ByNumber(num)
		if fd != nil {
			if err := r.value(fd, typ, b[:size], depth); err != nil {
				return err
			}
		}
		if fd != nil && fd.ContainingOneof() != nil && d.Name() == "Metric" {
			switch last {
			case 0:
			case num:
				r.odd = true
			default:
				r.records = start + r.records - before
			}
			last = num
		}
		b = b[size:]
	}
	return nil
}

func (r *model) value(fd protoreflect.FieldDescriptor, typ protowire.Type, v []byte, depth int) error {
	want := wireTypes[kinds[fd.Kind()]]
	if fd.IsPacked() && typ == protowire.BytesType {
		v = content(v)
		for len(v) > 0 {
			n := r.valueSize(1, want, v)
			if n < 0 {
				return errModel
			}
			v = v[n:]
		}
		return nil
	}
	if typ != want {
		return errModel
	}
	switch fd.Name() {
	case "trace_id":
		if n := len(content(v)); n != 0 && n != 16 {
			return errModel
		}
	case "span_id", "parent_span_id":
		if n := len(content(v)); n != 0 && n != 8 {
			return errModel
		}
	case "log_records", "spans", "data_points":
		r.records++
	case "array_value", "kvlist_value":
		if depth++; depth > 30 {
			r.odd = true
		}
		if depth > MaxDepth {
			return errModel
		}
	}
	if fd.Message() == nil {
		return nil
	}
	return r.message(content(v), fd.Message(), depth)
}

var wireTypes = map[kind]protowire.Type{
	boolean: protowire.VarintType, int32s: protowire.VarintType, int64s: protowire.VarintType, uint32s: protowire.VarintType,
	uint64s: protowire.VarintType, sint32s: protowire.VarintType, enum: protowire.VarintType,
	fixed32s: protowire.Fixed32Type, fixed64s: protowire.Fixed64Type, sfixed64s: protowire.Fixed64Type, double: protowire.Fixed64Type,
	text: protowire.BytesType, binaries: protowire.BytesType, nested: protowire.BytesType,
}

// varint is protowire.ConsumeVarint, which refuses bits beyond the 64th.
func (r *model) varint(b []byte) (v uint64, n int) {
	if v, n = protowire.ConsumeVarint(b); n < 0 && len(b) >= 10 {
		r.odd = true
	}
	return v, n
}

func content(v []byte) []byte {
	_, n := protowire.ConsumeVarint(v)
	return v[n:]
}

// valueSize is how many bytes the value at b takes, or -1.
func (r *model) valueSize(num protowire.Number, typ protowire.Type, b []byte) int {
	switch typ {
	case protowire.VarintType:
		_, n := r.varint(b)
		return n
	case protowire.BytesType:
		v, n := r.varint(b)
		if n < 0 || v > uint64(len(b)-n) {
			return -1
		}
		return n + int(v)
	case protowire.Fixed32Type, protowire.Fixed64Type:
		n := protowire.ConsumeFieldValue(num, typ, b)
		return n
	case protowire.StartGroupType:
		return r.groupSize(num, b, 1)
	}
	return -1
}

func (r *model) groupSize(group protowire.Number, b []byte, depth int) int {
	size := 0
	for depth <= maxGroups {
		tag, n := r.varint(b[size:])
		if n < 0 || tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) {
			return -1
		}
		size += n
		num, typ := protowire.Number(tag>>3), protowire.Type(tag&7)
		if typ == protowire.EndGroupType {
			if num != group {
				return -1
			}
			return size
		}
		if typ == protowire.StartGroupType {
			n = r.groupSize(num, b[size:], depth+1)
		} else {
			n = r.valueSize(num, typ, b[size:])
		}
		if n < 0 {
			return -1
		}
		size += n
	}
	return -1
}

// judge compares Check with the model always, and with pdata where pdata follows protobuf.
func judge(t rapid.TB, m id, b []byte) {
	t.Helper()
	got, err := check(b, m)
	r := &model{}
	if modelErr := r.message(b, roots[m], 0); (err == nil) != (modelErr == nil) {
		t.Fatalf("verdict: got %v, the model says %v\n%x", err, modelErr, b)
	}
	if err == nil && got != r.records {
		t.Fatalf("records: got %d, the model counts %d\n%x", got, r.records, b)
	}
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(b) || !utf8.ValidString(e.Reason) || e.Reason == "" {
			t.Fatalf("error: got %#v", err)
		}
	}
	if r.odd {
		return
	}
	want, pdataErr := pdataCount(m, b)
	if (err == nil) != (pdataErr == nil) {
		t.Fatalf("verdict: got %v, pdata says %v\n%x", err, pdataErr, b)
	}
	if err == nil && got != want {
		t.Fatalf("records: got %d, pdata counts %d\n%x", got, want, b)
	}
}

func FuzzCheckLogs(f *testing.F)    { fuzzCheck(f, logsRequest) }
func FuzzCheckTraces(f *testing.F)  { fuzzCheck(f, tracesRequest) }
func FuzzCheckMetrics(f *testing.F) { fuzzCheck(f, metricsRequest) }

func fuzzCheck(f *testing.F, m id) {
	for _, b := range corpus(m) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { judge(t, m, b) })
}
