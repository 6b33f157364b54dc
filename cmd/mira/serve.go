package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"

	"mira/api"
	"mira/pipeline"
	"mira/pipeline/explain"
	"mira/receiver"
	"mira/storage"
	"mira/storage/signal"
	"mira/storage/stage"
)

// serveCommand runs the server until ctx ends.
func serveCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, err := parseConfig(args, os.Environ(), stderr)
	if err != nil {
		if code := flagExit(err); code == exitOK {
			return code
		}
		fmt.Fprintf(stderr, "mira: %v\n", err)
		return exitUsage
	}
	logger := newLogger(c.logLevel, stderr)
	if err := serve(ctx, c, logger, stdout); err != nil {
		logger.Error().Err(err).Msg("mira stopped")
		return exitOf(err)
	}
	return exitOK
}

// levelOf returns the level of that name.
func levelOf(name string) (zerolog.Level, error) {
	l, err := zerolog.ParseLevel(name)
	if err != nil || l == zerolog.NoLevel {
		return l, fmt.Errorf("log-level: %q, want debug, info, warn or error", name)
	}
	return l, nil
}

// newLogger writes one line per event to w: JSON, or readable when w is a terminal. The level has
// been checked.
func newLogger(level string, w io.Writer) zerolog.Logger {
	l, _ := levelOf(level)
	if isTerminal(w) {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: time.RFC3339}
	}
	return zerolog.New(w).Level(l).With().Timestamp().Logger()
}

// server is everything that runs.
type server struct {
	c        config
	logger   zerolog.Logger
	started  time.Time
	stages   *stage.Set
	watch    *explain.Watch
	store    *storage.Store
	pipeline *pipeline.Pipeline
	receiver *receiver.Receiver
	grpc     *grpc.Server
	http     []*http.Server // the port of OTLP/HTTP, and that of the API where it has one
	draining atomic.Pointer[time.Time]
	failed   chan error // a listener ended by itself
}

// listeners are the ports, bound before anything is read from disk so that a taken one is found at once.
type listeners struct{ grpc, http, api net.Listener }

func (c config) listen() (l listeners, err error) {
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.grpc, err = net.Listen("tcp", c.listenGRPC); err != nil {
		return l, fmt.Errorf("listen-grpc: %w", err)
	}
	if l.http, err = net.Listen("tcp", c.listenHTTP); err != nil {
		return l, fmt.Errorf("listen-http: %w", err)
	}
	if c.listenAPI != "" {
		if l.api, err = net.Listen("tcp", c.listenAPI); err != nil {
			return l, fmt.Errorf("listen-api: %w", err)
		}
	}
	return l, nil
}

func (l listeners) close() {
	for _, x := range []net.Listener{l.grpc, l.http, l.api} {
		if x != nil {
			_ = x.Close() // a server may have closed it
		}
	}
}

// serve opens the data directory, replays the log, serves until ctx ends, and leaves everything
// published.
func serve(ctx context.Context, c config, logger zerolog.Logger, stdout io.Writer) error {
	// A goroutine back from an fdatasync must not wait for one that compresses: a few more Ps than CPUs.
	runtime.GOMAXPROCS(runtime.NumCPU() + c.extraProcs())
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	s := &server{c: c, logger: logger, started: time.Now(), failed: make(chan error, 3), stages: new(stage.Set)}
	store, err := storage.Open(storage.Options{Dir: c.dataDir, Logger: logger, SegmentBytes: int64(c.segmentBytes), Stages: s.stages})
	if err != nil {
		return err
	}
	s.store = store
	defer func() {
		if err := store.Close(); err != nil {
			logger.Error().Err(err).Msg("data directory not closed cleanly")
		}
	}()
	l, err := c.listen()
	if err != nil {
		return err
	}
	defer l.close()
	if err := s.open(); err != nil {
		return err
	}
	defer s.pipeline.Close()
	s.watch = explain.New(explain.Sources{Stages: s.stages, Usage: cpuUsage, State: s.state, Settings: s.settings()})
	defer s.watch.Close()
	if err := s.start(l); err != nil {
		return err
	}
	s.announce(l, stdout)
	select {
	case <-ctx.Done():
		return s.stop()
	case err := <-s.failed:
		return errors.Join(err, s.stop())
	}
}

// open replays the log. Nearly all that a replay allocates it keeps, so the garbage collector would
// only be in its way: it took a quarter of the time.
func (s *server) open() (err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	s.pipeline, err = pipeline.Open(pipeline.Options{
		Store: s.store, Logger: s.logger, BlockBytes: int64(s.c.blockBytes), BlockAge: s.c.blockAge,
		Memory: int64(s.c.ingestMemory), AdmitWait: s.c.admitWait, Shards: s.c.shards,
		Stages: s.stages,
	})
	return err
}

// gcPercent is low because nearly all memory is large buffers that are reused: a collection has
// little to mark, and less garbage between two of them is less memory and more of it in cache.
const gcPercent = 50

// extraProcs is how many goroutines may compress beside the CPUs' own work.
func (c config) extraProcs() int { return min(2, runtime.NumCPU()) }

// start serves all ports.
func (s *server) start(l listeners) error {
	r, err := receiver.New(s.pipeline, receiver.Options{
		MaxRequestBytes: int(s.c.maxRequestBytes), Durability: signal.Tier(s.c.durability), StrongestDurability: signal.Tier(s.c.durability),
		AdmitWait: s.c.admitWait, H2C: s.c.h2c, Reflection: s.c.reflection,
		CORS: receiver.CORS{Origins: s.c.corsOrigins}, Log: s.logger, Stages: s.stages,
		GRPCAddr: l.grpc.Addr().String(), HTTPAddr: l.http.Addr().String(),
	})
	if err != nil {
		return err
	}
	s.receiver = r
	s.grpc = r.NewGRPC()
	go func() { s.ended("OTLP/gRPC", s.grpc.Serve(l.grpc)) }()
	otlp, rest := r.NewHTTP(), api.New(api.Options{
		Source: s.store, Checks: s.checks, Metrics: s.writeMetrics, Status: s.status, Ingest: s.watch.Report, Logger: s.logger,
		Follow: func(sig signal.Signal) (api.Follower, error) { return s.pipeline.Follow(sig) },
	})
	if l.api == nil {
		s.serveHTTP("HTTP", l.http, both(otlp, rest))
		return nil
	}
	s.serveHTTP("OTLP/HTTP", l.http, otlp)
	s.serveHTTP("API", l.api, rest)
	return nil
}

func (s *server) serveHTTP(name string, l net.Listener, h http.Handler) {
	srv := s.receiver.NewServer(h)
	s.http = append(s.http, srv)
	go func() { s.ended(name, srv.Serve(l)) }()
}

// ended takes what a listener's loop returned; ending by Shutdown is no failure.
func (s *server) ended(name string, err error) {
	if err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, grpc.ErrServerStopped) {
		s.failed <- fmt.Errorf("%s: %w", name, err)
	}
}

// both serves OTLP under /v1 and everything else beside it.
func both(otlp, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.URL.Path) >= 3 && r.URL.Path[:3] == "/v1" {
			otlp.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// announce tells where the server listens: in mira.addr, on stdout and in the log.
func (s *server) announce(l listeners, stdout io.Writer) {
	a := storage.Address{GRPC: l.grpc.Addr().String(), HTTP: l.http.Addr().String(), PID: os.Getpid()}
	if l.api != nil {
		a.API = l.api.Addr().String()
	}
	if err := s.store.WriteAddress(a); err != nil {
		s.logger.Warn().Err(err).Msg("addresses not written to the data directory")
	}
	event := s.logger.Info().Str("grpc", a.GRPC).Str("http", a.HTTP).Str("data_dir", s.c.dataDir).
		Dur("start_ms", time.Since(s.started))
	fmt.Fprintf(stdout, "%s\n  OTLP/gRPC  %s\n  OTLP/HTTP  http://%s\n", version(), a.GRPC, a.HTTP)
	if a.API != "" {
		event = event.Str("api", a.API)
		fmt.Fprintf(stdout, "  API        http://%s\n", a.API)
	}
	event.Msg("listening")
}

// stop answers what is in flight, refuses the rest, publishes what is open; all within the
// shutdown timeout.
func (s *server) stop() error {
	now := time.Now()
	s.draining.Store(&now)
	s.logger.Info().Msg("shutting down")
	ctx, cancel := context.WithTimeout(context.Background(), s.c.shutdownTimeout)
	defer cancel()
	s.receiver.Drain()
	s.pipeline.StopFollowing() // a tail would hold its server open
	err := s.stopServers(ctx)
	err = errors.Join(err, s.pipeline.Drain(ctx), s.store.RemoveAddress())
	if err == nil {
		s.logger.Info().Dur("took_ms", time.Since(now)).Msg("everything is published")
	}
	return err
}

// stopServers lets running calls finish, until ctx ends.
func (s *server) stopServers(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(done)
	}()
	var err error
	for _, h := range s.http {
		err = errors.Join(err, h.Shutdown(ctx))
	}
	select {
	case <-done:
	case <-ctx.Done():
		s.grpc.Stop()
		<-done
	}
	return err
}
