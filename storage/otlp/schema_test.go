package otlp

import (
	"testing"

	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// roots are the published descriptors of the three requests. LogsData has the fields of
// ExportLogsServiceRequest, and the same goes for the other two.
var roots = map[id]protoreflect.MessageDescriptor{
	logsRequest:    (&logspb.LogsData{}).ProtoReflect().Descriptor(),
	tracesRequest:  (&tracepb.TracesData{}).ProtoReflect().Descriptor(),
	metricsRequest: (&metricspb.MetricsData{}).ProtoReflect().Descriptor(),
}

var kinds = map[protoreflect.Kind]kind{
	protoreflect.BoolKind: boolean, protoreflect.Int32Kind: int32s, protoreflect.Int64Kind: int64s,
	protoreflect.Uint32Kind: uint32s, protoreflect.Uint64Kind: uint64s, protoreflect.Sint32Kind: sint32s,
	protoreflect.EnumKind: enum, protoreflect.Fixed32Kind: fixed32s, protoreflect.Fixed64Kind: fixed64s,
	protoreflect.Sfixed64Kind: sfixed64s, protoreflect.DoubleKind: double, protoreflect.StringKind: text,
	protoreflect.BytesKind: binaries, protoreflect.MessageKind: nested,
}

func TestSchemaIsThePublishedOne(t *testing.T) {
	seen := map[id]bool{}
	for m, d := range roots {
		compareMessage(t, m, d, seen)
	}
	if len(seen) != int(messages) {
		t.Errorf("messages: reached %d, the schema has %d", len(seen), messages)
	}
}

func compareMessage(t *testing.T, m id, d protoreflect.MessageDescriptor, seen map[id]bool) {
	if seen[m] {
		return
	}
	seen[m] = true
	n := 0
	for num := range schema[m] {
		f := &schema[m][num]
		if f.kind == unknown {
			continue
		}
		n++
		fd := d.Fields().ByNumber(protoreflect.FieldNumber(num))
		if fd == nil {
			t.Errorf("%s has no field %d, the schema calls it %s", d.FullName(), num, f.name)
			continue
		}
		compareField(t, f, fd)
		if fd.Message() != nil {
			compareMessage(t, f.of, fd.Message(), seen)
		}
	}
	if n != d.Fields().Len() {
		t.Errorf("%s has %d fields, the schema %d", d.FullName(), d.Fields().Len(), n)
	}
}

func compareField(t *testing.T, f *spec, fd protoreflect.FieldDescriptor) {
	if f.name != string(fd.Name()) || f.json != fd.JSONName() {
		t.Errorf("%s: schema says %s, %s", fd.FullName(), f.name, f.json)
	}
	want := kinds[fd.Kind()]
	switch fd.Name() {
	case "trace_id":
		want = traceID
	case "span_id", "parent_span_id":
		want = spanID
	}
	if f.kind != want {
		t.Errorf("%s: kind %d, want %d", fd.FullName(), f.kind, want)
	}
	oneof := fd.ContainingOneof()
	roles := []struct {
		name string
		got  bool
		want bool
	}{
		{"list", f.is(list), fd.IsList()},
		{"optional", f.is(optional), fd.HasOptionalKeyword()},
		{"choice", f.is(choice), oneof != nil && !oneof.IsSynthetic()},
		{"deeper", f.is(deeper), fd.Name() == "array_value" || fd.Name() == "kvlist_value"},
		{"record", f.is(record), fd.Name() == "log_records" || fd.Name() == "spans" || fd.Name() == "data_points"},
		{"packable", f.packable(), fd.IsPacked()},
	}
	for _, r := range roles {
		if r.got != r.want {
			t.Errorf("%s: %s is %v, want %v", fd.FullName(), r.name, r.got, r.want)
		}
	}
}
