package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// grpcSender sends over a connection of its own.
type grpcSender struct {
	conn  *grpc.ClientConn
	shelf shelf
	tier  string
	wire  atomic.Int64
}

// registerCompressors tells grpc-go how to write gzip and zstd. It must be
// called once, before the first connection.
var registerCompressors = sync.OnceFunc(func() {
	encoding.RegisterCompressor(compressor{"gzip"})
	encoding.RegisterCompressor(compressor{"zstd"})
})

func newGRPCSender(c *config, s shelf) (*grpcSender, error) {
	registerCompressors()
	g := &grpcSender{shelf: s, tier: c.durability}
	calls := []grpc.CallOption{grpc.ForceCodecV2(rawCodec{})}
	if c.compression != "none" {
		calls = append(calls, grpc.UseCompressor(c.compression))
	}
	conn, err := grpc.NewClient("passthrough:///"+c.target,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(calls...),
		grpc.WithDisableRetry(), // retries are loadgen's own, so that they are counted
		grpc.WithDisableServiceConfig(),
		grpc.WithWriteBufferSize(128<<10),
		grpc.WithStatsHandler(g),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}),
		// A server that is restarted is met again at once, not after a minute.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.5, MaxDelay: time.Second},
			MinConnectTimeout: 5 * time.Second,
		}))
	if err != nil {
		return nil, fmt.Errorf("grpc target %s: %w", c.target, err)
	}
	g.conn = conn
	return g, nil
}

func (g *grpcSender) close() { _ = g.conn.Close() }

func (g *grpcSender) send(ctx context.Context, s signal, body *[]byte) answer {
	if g.tier != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "mira-durability", g.tier)
	}
	var header, trailer metadata.MD
	var response []byte
	g.wire.Store(0)
	err := g.conn.Invoke(ctx, faces[s].method, mem.NewBuffer(body, g.shelf), &response, grpc.Header(&header), grpc.Trailer(&trailer))
	a := answer{wire: g.wire.Load()}
	if err != nil {
		a.refusedBy(status.Convert(err), len(trailer.Get("content-type")) > 0)
		return a
	}
	a.read(response)
	if v := header.Get("mira-durability"); len(v) > 0 {
		a.tier = v[0]
	}
	return a
}

// refusedBy reads a gRPC status. grpc-go makes up statuses for its own failures,
// UNAVAILABLE above all; one the server sent comes Trailers-Only, whose
// content-type arrives as a trailer, or carries details.
func (a *answer) refusedBy(st *status.Status, fromServer bool) {
	a.code, a.detail = codeNames[st.Code()], st.Message()
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			a.after, fromServer = info.GetRetryDelay().AsDuration(), true
			a.retry = a.retry || st.Code() == codes.ResourceExhausted
		}
	}
	switch st.Code() {
	case codes.Unavailable, codes.Aborted, codes.OutOfRange, codes.DataLoss:
		a.retry, a.certain = true, fromServer
	case codes.Canceled, codes.DeadlineExceeded:
		a.retry = true // stored or not: nobody can say
	default:
		a.certain = fromServer
	}
}

var codeNames = map[codes.Code]string{
	codes.OK: "OK", codes.Canceled: "CANCELLED", codes.Unknown: "UNKNOWN", codes.InvalidArgument: "INVALID_ARGUMENT",
	codes.DeadlineExceeded: "DEADLINE_EXCEEDED", codes.NotFound: "NOT_FOUND", codes.AlreadyExists: "ALREADY_EXISTS",
	codes.PermissionDenied: "PERMISSION_DENIED", codes.ResourceExhausted: "RESOURCE_EXHAUSTED",
	codes.FailedPrecondition: "FAILED_PRECONDITION", codes.Aborted: "ABORTED", codes.OutOfRange: "OUT_OF_RANGE",
	codes.Unimplemented: "UNIMPLEMENTED", codes.Internal: "INTERNAL", codes.Unavailable: "UNAVAILABLE",
	codes.DataLoss: "DATA_LOSS", codes.Unauthenticated: "UNAUTHENTICATED",
}

// TagRPC and its sisters make the sender a stats.Handler, which is how grpc-go
// tells the size of a request on the wire.
func (g *grpcSender) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC adds up the request's bytes.
func (g *grpcSender) HandleRPC(_ context.Context, s stats.RPCStats) {
	if p, ok := s.(*stats.OutPayload); ok {
		g.wire.Add(int64(p.WireLength))
	}
}

// TagConn does nothing.
func (g *grpcSender) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn does nothing.
func (g *grpcSender) HandleConn(context.Context, stats.ConnStats) {}

// rawCodec hands over bytes that are encoded already.
type rawCodec struct{}

// Name is the content subtype that OTLP servers expect.
func (rawCodec) Name() string { return "proto" }

// Marshal passes the request on; the transport frees it.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{v.(mem.Buffer)}, nil
}

// Unmarshal copies the response, which is a few bytes.
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// compressor is one of the two that collectors use.
type compressor struct{ name string }

// Name is the value of grpc-encoding.
func (c compressor) Name() string { return c.name }

// Compress starts a compressed stream onto w.
func (c compressor) Compress(w io.Writer) (io.WriteCloser, error) {
	z := compressors[c.name].Get().(resettable)
	z.Reset(w)
	return pooled{z, c.name}, nil
}

// Decompress reads responses, should a server compress its few bytes.
func (c compressor) Decompress(r io.Reader) (io.Reader, error) {
	if c.name == "gzip" {
		return gzip.NewReader(r)
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	return z, err
}
