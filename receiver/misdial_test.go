package receiver

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"mira/storage/signal"
)

func TestHTTPOnTheGRPCPortIsToldWhereToGo(t *testing.T) {
	_, js := sample(t, signal.Logs, 1)
	d := open(t, &fakeSink{}, Options{HTTPAddr: "localhost:4999"})
	for name, do := range map[string]func() (*http.Response, error){
		"GET": func() (*http.Response, error) { return http.Get("http://" + d.grpc + "/v1/logs") },
		"POST": func() (*http.Response, error) {
			return http.Post("http://"+d.grpc+"/v1/logs", "application/json", strings.NewReader(string(js)))
		},
		"PUT": func() (*http.Response, error) {
			req, err := http.NewRequest(http.MethodPut, "http://"+d.grpc, strings.NewReader(strings.Repeat("x", 10<<10)))
			if err != nil {
				return nil, err
			}
			return http.DefaultClient.Do(req)
		},
	} {
		res, err := do()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != 400 || !strings.Contains(string(text), "OTLP/HTTP is on localhost:4999") {
			t.Errorf("%s: got %d %q, %v", name, res.StatusCode, text, err)
		}
	}
	if n := d.stats.open[overGRPC].Load(); n != 0 {
		t.Errorf("%d gRPC connections are counted as open, want none", n)
	}
}

func TestSilenceAndGarbageOnTheGRPCPortEnd(t *testing.T) {
	d := open(t, &fakeSink{}, Options{HeaderTimeout: 200 * time.Millisecond})
	for _, text := range []string{"", "P", "PR", "\x16\x03\x01\x00\x05hello", "PRI * HTTP/1.0\r\n\r\nxxxxxxxxx"} {
		c, err := net.Dial("tcp", d.grpc)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = io.WriteString(c, text)
		_, err = io.Copy(io.Discard, c)
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			t.Errorf("%q: the connection stays open", text)
		}
		c.Close()
	}
}

func TestGRPCOnTheHTTPPortIsToldWhereToGo(t *testing.T) {
	d := open(t, &fakeSink{}, Options{GRPCAddr: "localhost:4998"})
	c, err := grpc.NewClient("passthrough:///"+d.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err = healthpb.NewHealthClient(c).Check(ctx, &healthpb.HealthCheckRequest{})
	if status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "OTLP/gRPC is on localhost:4998") {
		t.Errorf("got %v", err)
	}
}
