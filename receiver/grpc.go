package receiver

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/types/known/emptypb"

	"mira/pipeline"
	"mira/storage/signal"
)

// NewGRPC returns a server with the three Export services, grpc.health.v1 and, when asked
// for, reflection. The caller serves it, and stops it after Drain.
func (r *Receiver) NewGRPC() *grpc.Server {
	s := grpc.NewServer(r.grpcOptions()...)
	for _, sig := range signal.All {
		s.RegisterService(r.service(sig), &exporter{r, sig})
	}
	healthpb.RegisterHealthServer(s, r.health)
	if r.o.Reflection {
		register(s)
	}
	return s
}

// grpcOptions are the measured settings: a read buffer of eight frames, and a window of 1 MiB to a
// call. What a window holds is in memory before any budget knows of it: 4 MiB cost 96 connections
// 150 MiB more and no connection was faster for it; 64 KiB would halve the throughput.
func (r *Receiver) grpcOptions() []grpc.ServerOption {
	creds := r.o.Creds
	if creds == nil {
		creds = insecure.NewCredentials()
	}
	return []grpc.ServerOption{
		grpc.Creds(&doorCreds{creds, r.stats.open[overGRPC], r.o.HTTPAddr}),
		grpc.MaxRecvMsgSize(1 << 20), // of health and reflection; Export reads its own message
		grpc.InitialWindowSize(1 << 20),
		grpc.InitialConnWindowSize(16 << 20),
		grpc.ReadBufferSize(128 << 10),
		grpc.NumStreamWorkers(32), // handlers on goroutines whose stacks have grown already
		grpc.MaxHeaderListSize(uint32(r.o.MaxGRPCHeaderBytes)),
		grpc.MaxConcurrentStreams(uint32(r.o.MaxStreams)),
		grpc.ConnectionTimeout(r.o.HeaderTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle:     r.o.IdleTimeout,
			MaxConnectionAge:      r.o.MaxConnectionAge,
			MaxConnectionAgeGrace: r.o.MaxConnectionAgeGrace,
			Time:                  r.o.KeepaliveTime,
			Timeout:               r.o.KeepaliveTimeout,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime:             r.o.KeepaliveMinTime,
			PermitWithoutStream: true,
		}),
		grpc.InTapHandle(r.tap),
		grpc.ChainUnaryInterceptor(plainUnary),
		grpc.ChainStreamInterceptor(plainStream),
	}
}

// plainUnary and plainStream keep grpc-go from answering in the coding of the request, which
// the client need not accept.
func plainUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	sendPlain(ctx)
	return next(ctx, req)
}

func plainStream(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	sendPlain(s.Context())
	return next(srv, s)
}

func sendPlain(ctx context.Context) {
	if m, ok := grpc.ServerTransportStreamFromContext(ctx).(messages); ok && m.RecvCompress() != "" {
		_ = grpc.SetSendCompressor(ctx, "identity")
	}
}

// exporter is one Export service.
type exporter struct {
	r      *Receiver
	signal signal.Signal
}

// export is what a service must implement; it exists for RegisterService to check.
type export interface {
	export(ctx context.Context) (any, error)
}

func (r *Receiver) service(sig signal.Signal) *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: wires[sig].service,
		HandlerType: (*export)(nil),
		Metadata:    wires[sig].file,
		Methods: []grpc.MethodDesc{{
			MethodName: "Export",
			Handler: func(srv any, ctx context.Context, _ func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				return srv.(export).export(ctx)
			},
		}},
	}
}

// messages is what grpc-go's own stream can do beyond grpc.ServerTransportStream. Reading the
// message here and not through a codec lets the receiver see its length and its coding before
// it spends memory, decode it within a budget, and choose the status of what goes wrong; a
// codec's errors are INTERNAL whatever they are.
type messages interface {
	ReadMessageHeader(header []byte) error
	Read(n int) (mem.BufferSlice, error)
	RecvCompress() string
}

// watch is the clock of a body that is still arriving.
type watch struct {
	cancel context.CancelFunc
	late   atomic.Bool
}

type watchKey struct{}

// tap runs when the headers of a call are here, before the call costs anything.
func (r *Receiver) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	sig := signalOf(info.FullMethodName)
	if !sig.Valid() {
		return ctx, nil
	}
	err := r.closed()
	if err == nil {
		err = protobufOnly(info.Header)
	}
	if err != nil {
		c := r.newCall(ctx, sig, info.Header)
		r.finish(c, err)
		return ctx, grpcError(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	return context.WithValue(ctx, watchKey{}, &watch{cancel: cancel}), nil
}

func signalOf(method string) signal.Signal {
	service, method, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	for sig, w := range wires {
		if w.service == service && method == "Export" {
			return sig
		}
	}
	return 0
}

// protobufOnly refuses application/grpc+json and the like; grpc-go would take it for protobuf.
func protobufOnly(md metadata.MD) error {
	for _, v := range md["content-type"] {
		sub, _, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(v), "application/grpc"), ";")
		if sub = strings.TrimSpace(sub); sub != "" && sub != "+proto" {
			return fmt.Errorf("%w: %q", errMediaType, cut(v, 64))
		}
	}
	return nil
}

func (r *Receiver) newCall(ctx context.Context, sig signal.Signal, md metadata.MD) *call {
	c := &call{signal: sig, transport: overGRPC, start: time.Now()}
	if p, ok := peer.FromContext(ctx); ok {
		c.peer = p.Addr.String()
	}
	if agent := md["user-agent"]; len(agent) > 0 {
		c.agent = agent[0]
	}
	return c
}

// export answers one call. Headers are set on success only: an error then goes out in the
// first and only header frame, as clients want it that retry nothing else.
func (e *exporter) export(ctx context.Context) (any, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	c := e.r.newCall(ctx, e.signal, md)
	receipt, err := e.r.exportMessage(ctx, c, md)
	e.r.finish(c, err)
	if err != nil {
		return nil, grpcError(err)
	}
	if receipt.Block.Signal.Valid() {
		_ = grpc.SetHeader(ctx, metadata.Pairs(
			headerDurability, receipt.Tier.String(),
			headerReceipt, receipt.String(),
		))
	}
	sendPlain(ctx)
	return &emptypb.Empty{}, nil // no bytes: an answer with partial_success unset
}

func grpcError(err error) error {
	if s, ok := errors.AsType[*transportError](err); ok {
		return s.status
	}
	return status.FromProto(rpcStatus(err, classify(err))).Err()
}

func (r *Receiver) exportMessage(ctx context.Context, c *call, md metadata.MD) (_ pipeline.Receipt, err error) {
	if c.tier, err = r.tier(md[headerDurability]); err != nil {
		return pipeline.Receipt{}, err
	}
	l, err := r.readMessage(ctx, c)
	if err != nil {
		return pipeline.Receipt{}, err
	}
	return r.submit(ctx, c, l)
}

// readMessage reads the one message of a unary call, inflated.
func (r *Receiver) readMessage(ctx context.Context, c *call) (*load, error) {
	s, ok := grpc.ServerTransportStreamFromContext(ctx).(messages)
	w, watched := ctx.Value(watchKey{}).(*watch)
	if !ok || !watched {
		return nil, fmt.Errorf("%w: no message stream", errFraming)
	}
	clock := time.AfterFunc(r.o.BodyGrace, func() {
		w.late.Store(true)
		w.cancel()
	})
	defer clock.Stop()
	pace := func(received int) { clock.Reset(time.Until(c.start.Add(r.allowed(received)))) }
	l, err := r.readPayload(ctx, c, s, pace)
	if err != nil && w.late.Load() {
		return nil, errSlow
	}
	return l, err
}

func (r *Receiver) readPayload(ctx context.Context, c *call, s messages, pace func(int)) (*load, error) {
	length, z, err := r.messageHeader(s)
	if err != nil {
		return nil, err
	}
	l, err := r.receive(ctx, &message{s, length}, int64(length), pace)
	if err != nil {
		return nil, readError(err)
	}
	c.wire = 5 + length
	if err := s.ReadMessageHeader(make([]byte, 5)); !errors.Is(err, io.EOF) {
		l.drop()
		if err != nil {
			return nil, readError(err)
		}
		return nil, fmt.Errorf("%w: more than one message", errFraming)
	}
	if z == nil {
		return l, nil
	}
	defer l.drop()
	return r.inflate(ctx, z, l.b)
}

// messageHeader reads the five bytes before a message: flag and length.
func (r *Receiver) messageHeader(s messages) (length int, z *coding, err error) {
	var h [5]byte
	if err := s.ReadMessageHeader(h[:]); errors.Is(err, io.EOF) {
		return 0, nil, fmt.Errorf("%w: no message", errFraming)
	} else if err != nil {
		return 0, nil, readError(err)
	}
	size := binary.BigEndian.Uint32(h[1:])
	if uint64(size) > uint64(r.o.MaxRequestBytes) {
		return 0, nil, r.tooLarge("message")
	}
	switch h[0] {
	case 0:
		return int(size), nil, nil
	case 1:
		name := s.RecvCompress()
		if z = grpcCodings[name]; z == nil {
			return 0, nil, fmt.Errorf("%w: compressed flag with grpc-encoding %q", errFraming, cut(name, 64))
		}
		return int(size), z, nil
	default:
		return 0, nil, fmt.Errorf("%w: flag byte %d", errFraming, h[0])
	}
}

// message reads the payload of a message from its stream, copying each received frame once.
type message struct {
	s    messages
	left int
}

func (m *message) Read(p []byte) (int, error) {
	if m.left == 0 {
		return 0, io.EOF
	}
	frames, err := m.s.Read(min(len(p), m.left))
	if err != nil {
		return 0, err
	}
	n := frames.CopyTo(p)
	frames.Free()
	m.left -= n
	return n, nil
}

// transportError is a status that grpc-go made: the connection broke, the deadline passed.
type transportError struct {
	status error
	cause  error
}

func (e *transportError) Error() string { return e.status.Error() }
func (e *transportError) Unwrap() error { return e.cause }

// readError sorts out what reading a stream may return.
func readError(err error) error {
	switch st, isStatus := status.FromError(err); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: message ended early", errFraming)
	case !isStatus: // the connection broke
		return context.Canceled
	case st.Code() == codes.DeadlineExceeded:
		return &transportError{err, context.DeadlineExceeded}
	default:
		return &transportError{err, context.Canceled}
	}
}
