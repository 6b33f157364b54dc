package main

import (
	"io"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // a Collector's default
	"google.golang.org/grpc/mem"
)

// sink takes every unary gRPC call and drops it: the cheapest thing that a Collector can send to,
// in the Collector's favour.
type sink struct {
	addr string
	srv  *grpc.Server
}

func startSink() (*sink, error) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return nil, err
	}
	s := &sink{addr: l.Addr().String(), srv: grpc.NewServer(
		grpc.ForceServerCodecV2(dropping{}), grpc.UnknownServiceHandler(swallow), grpc.MaxRecvMsgSize(1<<30),
	)}
	go s.srv.Serve(l)
	return s, nil
}

func (s *sink) stop() { s.srv.Stop() }

func swallow(_ any, stream grpc.ServerStream) error {
	if err := stream.RecvMsg(nil); err != nil && err != io.EOF {
		return err
	}
	return stream.SendMsg(nil)
}

// dropping is a codec to which every message is empty.
type dropping struct{}

var _ encoding.CodecV2 = dropping{}

// Marshal implements encoding.CodecV2.
func (dropping) Marshal(any) (mem.BufferSlice, error) { return nil, nil }

// Unmarshal implements encoding.CodecV2.
func (dropping) Unmarshal(mem.BufferSlice, any) error { return nil }

// Name implements encoding.CodecV2.
func (dropping) Name() string { return "proto" }
