package receiver

import (
	_ "embed"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
	reflectpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// descriptors are those of the three Export services, a google.protobuf.FileDescriptorSet made of
// go.opentelemetry.io/proto/otlp by `go test ./receiver -run Descriptors -update`. Linking that
// module instead would bring the HTTP gateway that its services come with.
//
//go:embed otlp.binpb
var descriptors []byte

// register lets clients such as grpcurl list, describe and call what s serves.
func register(s *grpc.Server) {
	reflectpb.RegisterServerReflectionServer(s, reflection.NewServerV1(reflection.ServerOptions{
		Services: s, DescriptorResolver: resolver{},
	}))
}

var files = sync.OnceValues(func() (*protoregistry.Files, error) {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(descriptors, &set); err != nil {
		return nil, fmt.Errorf("read descriptors: %w", err)
	}
	return protodesc.NewFiles(&set)
})

// resolver finds the Export services among the descriptors, and everything else (health, and
// reflection itself) among what the program is linked with.
type resolver struct{}

func (resolver) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if f, err := files(); err == nil {
		if d, err := f.FindFileByPath(path); err == nil {
			return d, nil
		}
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

func (resolver) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if f, err := files(); err == nil {
		if d, err := f.FindDescriptorByName(name); err == nil {
			return d, nil
		}
	}
	return protoregistry.GlobalFiles.FindDescriptorByName(name)
}
