package receiver

import (
	"bytes"
	"flag"
	"os"
	"testing"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

var update = flag.Bool("update", false, "rewrite the descriptors from the published module")

// TestDescriptorsAreThePublishedOnes holds the embedded descriptors against the module's.
func TestDescriptorsAreThePublishedOnes(t *testing.T) {
	set, seen := &descriptorpb.FileDescriptorSet{}, map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	add(collogs.File_opentelemetry_proto_collector_logs_v1_logs_service_proto)
	add(coltrace.File_opentelemetry_proto_collector_trace_v1_trace_service_proto)
	add(colmetrics.File_opentelemetry_proto_collector_metrics_v1_metrics_service_proto)
	want, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("otlp.binpb", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(descriptors, want) {
		t.Error("otlp.binpb differs from the published descriptors; run with -update")
	}
}

func TestReflectionDescribesTheExportServices(t *testing.T) {
	for _, name := range []protoreflect.FullName{
		"opentelemetry.proto.collector.logs.v1.LogsService",
		"opentelemetry.proto.collector.trace.v1.TraceService",
		"opentelemetry.proto.collector.metrics.v1.MetricsService",
		"grpc.health.v1.Health",
	} {
		d, err := resolver{}.FindDescriptorByName(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s, ok := d.(protoreflect.ServiceDescriptor); !ok || s.Methods().Len() == 0 {
			t.Errorf("%s: got %v, want a service with methods", name, d)
		}
		if _, err := (resolver{}).FindFileByPath(d.ParentFile().Path()); err != nil {
			t.Errorf("file of %s: %v", name, err)
		}
	}
}
