package receiver

import (
	"mira/storage/otlp"
	"mira/storage/signal"
)

// wire is what differs between the signals on the wire; everything else is said once.
type wire struct {
	service  string // the gRPC service; its only method is Export
	file     string // the .proto file the service is defined in
	root     string // the JSON name of the only field of a request
	rejected string // the name of the count in a JSON partial success
	check    func(body []byte) (records int, err error)
	fromJSON func(dst, body []byte) (pb []byte, known bool, err error)
}

var wires = map[signal.Signal]*wire{
	signal.Logs: {
		service:  "opentelemetry.proto.collector.logs.v1.LogsService",
		file:     "opentelemetry/proto/collector/logs/v1/logs_service.proto",
		root:     "resourceLogs",
		rejected: "rejectedLogRecords",
		check:    otlp.CheckLogs,
		fromJSON: otlp.LogsFromJSON,
	},
	signal.Traces: {
		service:  "opentelemetry.proto.collector.trace.v1.TraceService",
		file:     "opentelemetry/proto/collector/trace/v1/trace_service.proto",
		root:     "resourceSpans",
		rejected: "rejectedSpans",
		check:    otlp.CheckTraces,
		fromJSON: otlp.TracesFromJSON,
	},
	signal.Metrics: {
		service:  "opentelemetry.proto.collector.metrics.v1.MetricsService",
		file:     "opentelemetry/proto/collector/metrics/v1/metrics_service.proto",
		root:     "resourceMetrics",
		rejected: "rejectedDataPoints",
		check:    otlp.CheckMetrics,
		fromJSON: otlp.MetricsFromJSON,
	},
}
