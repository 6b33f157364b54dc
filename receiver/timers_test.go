package receiver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"

	"mira/pipeline"
	"mira/storage/otlp"
	"mira/storage/signal"
)

func TestRejectionsAreLoggedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		l := &rejectLog{log: logTo(&b)}
		c := &call{signal: signal.Traces, transport: overHTTP, peer: "127.0.0.1:7", agent: "evil\x1b[31m\n" + strings.Repeat("x", 1000)}
		for range 5 {
			l.add(c, pipeline.ErrBusy)
		}
		l.add(c, &otlp.Error{Reason: "traces: cut off"})
		pass(logEvery)
		l.add(c, pipeline.ErrBusy)
		l.add(c, &panicError{"boom", []byte("stack here")})
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if len(lines) != 4 {
			t.Fatalf("%d lines, want 4:\n%s", len(lines), b.String())
		}
		for i, want := range []string{`"reason":"busy"`, `"reason":"malformed"`, `"unlogged":4`, `stack here`} {
			if !strings.Contains(lines[i], want) || !strings.Contains(lines[i], `"signal":"traces"`) || !strings.Contains(lines[i], "127.0.0.1:7") {
				t.Errorf("line %d: %s", i, lines[i])
			}
			if strings.Contains(lines[i], "\x1b") || len(lines[i]) > 700 {
				t.Errorf("line %d is not tame: %q", i, lines[i])
			}
		}
	})
}

// overMemory serves gRPC on a connection in memory, so that time can be the test's.
func overMemory(t *testing.T, o Options, run func(t *testing.T, r *Receiver, conn *grpc.ClientConn, dial func() (net.Conn, error)), co ...grpc.DialOption) {
	synctest.Test(t, func(t *testing.T) {
		r, err := New(&fakeSink{}, o)
		if err != nil {
			t.Fatal(err)
		}
		l := bufconn.Listen(1 << 20)
		srv := r.NewGRPC()
		var served sync.WaitGroup
		served.Go(func() { _ = srv.Serve(l) })
		dialer := func(context.Context, string) (net.Conn, error) { return l.Dial() }
		conn, err := grpc.NewClient("passthrough:///mira", append(co, grpc.WithContextDialer(dialer),
			grpc.WithTransportCredentials(insecure.NewCredentials()))...)
		if err != nil {
			t.Fatal(err)
		}
		run(t, r, conn, l.Dial)
		_ = conn.Close()
		srv.Stop()
		served.Wait()
	})
}

func TestTenSecondPingsGoOnForAnHour(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 1)
	overMemory(t, Options{}, func(t *testing.T, r *Receiver, conn *grpc.ClientConn, _ func() (net.Conn, error)) {
		for range 60 {
			if _, err := export1(t.Context(), conn, signal.Logs, pb); err != nil {
				t.Fatal(err)
			}
			pass(time.Minute)
		}
		if n := r.stats.open[overGRPC].Load(); n != 1 {
			t.Errorf("%d connections, want the first one still", n)
		}
	}, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second, PermitWithoutStream: true}))
}

func TestOldGRPCConnectionsGetGoAwayAndCallsGoOn(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 1)
	overMemory(t, Options{MaxConnectionAge: time.Minute, MaxConnectionAgeGrace: time.Second}, func(t *testing.T, _ *Receiver, conn *grpc.ClientConn, _ func() (net.Conn, error)) {
		for range 20 {
			if _, err := export1(t.Context(), conn, signal.Logs, pb, grpc.WaitForReady(true)); err != nil {
				t.Fatal(err)
			}
			pass(17 * time.Second)
		}
	})
}

func TestBodyAtTheMinimumRateIsNotCutOff(t *testing.T) {
	overMemory(t, Options{}, func(t *testing.T, r *Receiver, _ *grpc.ClientConn, dial func() (net.Conn, error)) {
		pb, _ := sample(t, signal.Logs, 20_000)
		for _, c := range []struct {
			every time.Duration // for 256 KiB
			want  codes.Code
		}{{7 * time.Second, codes.OK}, {12 * time.Second, codes.DeadlineExceeded}} {
			nc, err := dial()
			if err != nil {
				t.Fatal(err)
			}
			h := &h2{Conn: nc, Framer: http2.NewFramer(nc, nc), t: t, mute: true}
			h.Framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
			h.enc = hpack.NewEncoder(&h.buf)
			_, _ = io.WriteString(nc, http2.ClientPreface)
			_ = h.WriteSettings()
			h.begin(1)
			var wrote sync.WaitGroup
			wrote.Go(func() {
				for whole := framed5(0, pb); len(whole) > 0; {
					for n := 0; n < 256<<10 && len(whole) > 0; n += 16 << 10 {
						part := whole[:min(len(whole), 16<<10)]
						whole = whole[len(part):]
						if h.WriteData(1, len(whole) == 0, part) != nil {
							return
						}
					}
					pass(c.every)
				}
			})
			got := h.await(1)
			if got.last("grpc-status") != fmt.Sprint(int(c.want)) {
				t.Errorf("256 KiB every %v: got %v", c.every, got.headers)
			}
			_ = nc.Close()
			wrote.Wait()
		}
	})
}

// pass lets time go by, inside a bubble.
func pass(d time.Duration) { <-time.After(d) }
