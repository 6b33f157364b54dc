// Package clients tests mira with the clients that other people ship: the
// OpenTelemetry Go SDK, a Collector, the OpenTelemetry JS SDK.
package clients

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"mira/scripts/e2e/server"
)

func TestMain(m *testing.M) { server.Main(m) }

// exporters are one transport's three, each with its own flavour of options.
type exporters struct {
	name    string
	traces  func(context.Context, *server.Server) (sdktrace.SpanExporter, error)
	metrics func(context.Context, *server.Server) (sdkmetric.Exporter, error)
	logs    func(context.Context, *server.Server) (sdklog.Exporter, error)
}

var transports = []exporters{
	{
		"grpc",
		func(ctx context.Context, s *server.Server) (sdktrace.SpanExporter, error) {
			return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(s.GRPC), otlptracegrpc.WithInsecure())
		},
		func(ctx context.Context, s *server.Server) (sdkmetric.Exporter, error) {
			return otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpoint(s.GRPC), otlpmetricgrpc.WithInsecure())
		},
		func(ctx context.Context, s *server.Server) (sdklog.Exporter, error) {
			return otlploggrpc.New(ctx, otlploggrpc.WithEndpoint(s.GRPC), otlploggrpc.WithInsecure())
		},
	},
	{
		"grpc-gzip",
		func(ctx context.Context, s *server.Server) (sdktrace.SpanExporter, error) {
			return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(s.GRPC), otlptracegrpc.WithInsecure(), otlptracegrpc.WithCompressor("gzip"))
		},
		func(ctx context.Context, s *server.Server) (sdkmetric.Exporter, error) {
			return otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpoint(s.GRPC), otlpmetricgrpc.WithInsecure(), otlpmetricgrpc.WithCompressor("gzip"))
		},
		func(ctx context.Context, s *server.Server) (sdklog.Exporter, error) {
			return otlploggrpc.New(ctx, otlploggrpc.WithEndpoint(s.GRPC), otlploggrpc.WithInsecure(), otlploggrpc.WithCompressor("gzip"))
		},
	},
	{
		"http",
		func(ctx context.Context, s *server.Server) (sdktrace.SpanExporter, error) {
			return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(s.HTTP+"/v1/traces"))
		},
		func(ctx context.Context, s *server.Server) (sdkmetric.Exporter, error) {
			return otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(s.HTTP+"/v1/metrics"))
		},
		func(ctx context.Context, s *server.Server) (sdklog.Exporter, error) {
			return otlploghttp.New(ctx, otlploghttp.WithEndpointURL(s.HTTP+"/v1/logs"))
		},
	},
	{
		"http-gzip",
		func(ctx context.Context, s *server.Server) (sdktrace.SpanExporter, error) {
			return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(s.HTTP+"/v1/traces"), otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
		},
		func(ctx context.Context, s *server.Server) (sdkmetric.Exporter, error) {
			return otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(s.HTTP+"/v1/metrics"), otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression))
		},
		func(ctx context.Context, s *server.Server) (sdklog.Exporter, error) {
			return otlploghttp.New(ctx, otlploghttp.WithEndpointURL(s.HTTP+"/v1/logs"), otlploghttp.WithCompression(otlploghttp.GzipCompression))
		},
	},
}

// complaints collects what the SDK says to its global error handler.
type complaints struct {
	mu   sync.Mutex // guards errs
	errs []error
}

// Handle keeps one complaint.
func (c *complaints) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errs = append(c.errs, err)
}

func (c *complaints) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.errs...)
}

func TestInteropGoSDK(t *testing.T) {
	heard := &complaints{}
	otel.SetErrorHandler(heard)
	s := server.Start(t, t.TempDir())
	for _, e := range transports {
		t.Run(e.name, func(t *testing.T) {
			service := "go-" + e.name
			res := resource.NewSchemaless(attribute.String("service.name", service))
			root := sendSpans(t, e, s, res)
			sendPoints(t, e, s, res)
			sendLogs(t, e, s, res, root)
			if err := heard.err(); err != nil {
				t.Fatalf("the SDK complains: %v", err)
			}
			checkSpans(t, s, service, root)
			checkPoints(t, s, service)
			checkLogs(t, s, service, root)
		})
	}
}

const spans, lines = 1200, 1200 // more than one batch of the SDK's processors

func sendSpans(t *testing.T, e exporters, s *server.Server, res *resource.Resource) trace.SpanContext {
	t.Helper()
	exporter, err := e.traces(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter, sdktrace.WithBlocking()), sdktrace.WithResource(res))
	tracer := p.Tracer("e2e", trace.WithInstrumentationVersion("1.2.3"))
	ctx, root := tracer.Start(t.Context(), "root", trace.WithSpanKind(trace.SpanKindServer))
	for i := range spans - 1 {
		_, child := tracer.Start(ctx, "child", trace.WithLinks(trace.Link{SpanContext: root.SpanContext()}))
		child.SetAttributes(attribute.Int("n", i), attribute.Float64("ratio", 0.25), attribute.Bool("ok", true), attribute.StringSlice("tags", []string{"a", "b"}))
		child.AddEvent("tick", trace.WithAttributes(attribute.Int("at", i)))
		child.SetStatus(codes.Error, "as asked")
		child.End()
	}
	root.End()
	if err := errors.Join(p.ForceFlush(t.Context()), p.Shutdown(t.Context())); err != nil {
		t.Fatal(err)
	}
	return root.SpanContext()
}

func sendPoints(t *testing.T, e exporters, s *server.Server, res *resource.Resource) {
	t.Helper()
	exporter, err := e.metrics(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	reader := sdkmetric.NewPeriodicReader(exporter)
	p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(res))
	meter := p.Meter("e2e")
	counter, err1 := meter.Int64Counter("go.requests", metric.WithUnit("{request}"))
	gauge, err2 := meter.Float64Gauge("go.temperature")
	histogram, err3 := meter.Float64Histogram("go.latency", metric.WithUnit("ms"))
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		counter.Add(t.Context(), int64(i), metric.WithAttributes(attribute.Int("shard", i%10)))
	}
	gauge.Record(t.Context(), -3.5)
	for _, v := range []float64{1, 20, 300} {
		histogram.Record(t.Context(), v)
	}
	if err := p.Shutdown(t.Context()); err != nil { // which collects and exports once
		t.Fatal(err)
	}
}

func sendLogs(t *testing.T, e exporters, s *server.Server, res *resource.Resource, root trace.SpanContext) {
	t.Helper()
	exporter, err := e.logs(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	p := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)), sdklog.WithResource(res))
	logger := p.Logger("e2e")
	ctx := trace.ContextWithSpanContext(t.Context(), root)
	for i := range lines {
		var r log.Record
		r.SetBody(attribute.StringValue(fmt.Sprintf("line %d \u6f22\u5b57", i)))
		r.SetSeverity(log.SeverityError2)
		r.SetSeverityText("ERROR2")
		r.AddAttributes(attribute.Int("n", i), attribute.StringSlice("tags", []string{"a", "b"}))
		logger.Emit(ctx, r)
		if i%500 == 499 { // the processor's queue is bounded and drops
			if err := p.ForceFlush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func checkSpans(t *testing.T, s *server.Server, service string, root trace.SpanContext) {
	t.Helper()
	rows := ofService(t, s, "spans", service, spans)
	numbers := map[string]bool{}
	for _, r := range rows {
		if r.At("trace_id") != root.TraceID().String() {
			t.Fatalf("trace_id %v, want %v", r.At("trace_id"), root.TraceID())
		}
		if r.At("name") == "root" {
			continue
		}
		numbers[server.Text(r.Attr("n"))] = true
		if r.At("parent_span_id") != root.SpanID().String() || r.At("scope", "name") != "e2e" ||
			server.Text(r.Attr("ratio")) != "0.25" || r.Attr("ok") != true || server.Text(r.Attr("tags")) != "[a b]" {
			t.Fatalf("child %v", r)
		}
	}
	if len(numbers) != spans-1 {
		t.Errorf("%d different children, want %d", len(numbers), spans-1)
	}
}

func checkPoints(t *testing.T, s *server.Server, service string) {
	t.Helper()
	sum := 0
	seen := map[any]int{}
	for _, r := range ofService(t, s, "points", service, 12) {
		seen[r.At("metric.name")]++
		var v int
		if _, err := fmt.Sscan(server.Text(r.At("as_int")), &v); err == nil {
			sum += v
		}
	}
	if seen["go.requests"] != 10 || seen["go.temperature"] != 1 || seen["go.latency"] != 1 || sum != 49*50/2 {
		t.Errorf("points %v, the counters add up to %d", seen, sum)
	}
}

func checkLogs(t *testing.T, s *server.Server, service string, root trace.SpanContext) {
	t.Helper()
	bodies := map[any]bool{}
	for _, r := range ofService(t, s, "logs", service, lines) {
		bodies[r.At("body")] = true
		if r.At("trace_id") != root.TraceID().String() || r.At("span_id") != root.SpanID().String() ||
			server.Text(r.At("severity_number")) != "18" || r.At("severity_text") != "ERROR2" {
			t.Fatalf("log record %v", r)
		}
	}
	if len(bodies) != lines || !bodies["line 7 \u6f22\u5b57"] {
		t.Errorf("%d different bodies, want %d", len(bodies), lines)
	}
}

// ofService reads a service's rows and insists on their number.
func ofService(t *testing.T, s *server.Server, collection, service string, want int) []server.Row {
	t.Helper()
	rows, err := s.OfService(collection, service)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != want {
		t.Fatalf("%d %s of service %s, want %d", len(rows), collection, service, want)
	}
	return rows
}
