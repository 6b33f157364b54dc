package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"

	"mira/scripts/e2e/server"
)

// pipeline is the configuration of the Collector: what comes in over gRPC waits
// in a queue, and is retried until mira takes it.
const pipeline = `
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: %s
exporters:
  otlp_grpc:
    endpoint: %s
    tls: {insecure: true}
    timeout: 5s
    retry_on_failure: {enabled: true, initial_interval: 50ms, max_interval: 500ms, max_elapsed_time: 0s}
    sending_queue: {enabled: true, queue_size: 100000, num_consumers: 4}
service:
  telemetry: {metrics: {level: none}, logs: {level: error}}
  pipelines:
    logs: {receivers: [otlp], exporters: [otlp_grpc]}
    traces: {receivers: [otlp], exporters: [otlp_grpc]}
    metrics: {receivers: [otlp], exporters: [otlp_grpc]}
`

func factories() (otelcol.Factories, error) {
	receivers, err1 := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	exporters, err2 := otelcol.MakeFactoryMap[exporter.Factory](otlpexporter.NewFactory())
	return otelcol.Factories{
		Receivers: receivers, Exporters: exporters, Telemetry: otelconftelemetry.NewFactory(),
	}, errors.Join(err1, err2)
}

// startCollector runs a Collector in this process that sends to target, and
// returns the address of its receiver.
func startCollector(t *testing.T, target string) string {
	t.Helper()
	addr := freeAddr(t)
	c, err := otelcol.NewCollector(otelcol.CollectorSettings{
		Factories: factories,
		BuildInfo: component.BuildInfo{Command: "e2e", Version: "0"},

		DisableGracefulShutdown: true, // signals are the test's
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              []string{"yaml:" + fmt.Sprintf(pipeline, addr, target)},
			ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(context.Background()) }()
	t.Cleanup(func() {
		c.Shutdown()
		if err := <-ended; err != nil {
			t.Errorf("collector: %v", err)
		}
	})
	server.Eventually(t, "the Collector listens", func() error {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	return addr
}

// freeAddr is an address that was free a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// verdict is what loadgen's --json says about a ledger.
type verdict struct {
	Verify struct {
		Acked, Stored, Lost, Strangers int
		Examples                       []string
	}
}

// TestInteropCollectorLosesNothingWhileMiraRestarts sends through a Collector
// whose mira is killed under it, twice. Everything the Collector took must
// arrive; what was under way when mira died may arrive twice, since the
// Collector cannot know.
func TestInteropCollectorLosesNothingWhileMiraRestarts(t *testing.T) {
	s := server.Start(t, t.TempDir())
	addr := startCollector(t, s.GRPC)
	book := filepath.Join(t.TempDir(), "ledger")
	loadgen := server.Loadgen(t)
	sent := make(chan string, 1)
	go func() {
		code, out, errs := server.Run(t.Context(), t, loadgen, "--target", addr, "--ledger", book, "--json",
			"--for", "6s", "--rate", "20000", "--batch", "100", "--conns", "2", "--signals", "logs,traces,metrics")
		if code != 0 {
			sent <- fmt.Sprintf("loadgen: exit %d\n%s%s", code, out, errs)
		}
		close(sent)
	}()
	for range 2 {
		<-time.After(1500 * time.Millisecond) // the load is on
		s.Kill()
		<-time.After(500 * time.Millisecond) // the Collector meets a closed door
		s.Restart()
	}
	if complaint := <-sent; complaint != "" {
		t.Fatal(complaint)
	}
	var v verdict
	server.Eventually(t, "everything has arrived", func() error {
		_, out, errs := server.Run(t.Context(), t, loadgen, "--verify", "--ledger", book, "--api", s.HTTP, "--json")
		v = verdict{}
		if err := json.Unmarshal(out, &v); err != nil {
			return fmt.Errorf("%w: %s", err, errs)
		}
		if v.Verify.Lost > 0 {
			return fmt.Errorf("%d of %d records are missing: %v", v.Verify.Lost, v.Verify.Acked, v.Verify.Examples)
		}
		return nil
	})
	if v.Verify.Acked < 50_000 || v.Verify.Strangers > 0 {
		t.Errorf("%d records acknowledged, %d stored that were never sent", v.Verify.Acked, v.Verify.Strangers)
	}
	t.Logf("%d records, stored %d times", v.Verify.Acked, v.Verify.Stored)
}
