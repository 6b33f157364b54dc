package main

import "mira/cmd/internal/corpus"

// signal is one of the three kinds of telemetry, an index into the table below.
type signal = corpus.Signal

const (
	logs    = corpus.Logs
	traces  = corpus.Traces
	metrics = corpus.Metrics
)

// face is everything that differs between the signals on the outside.
type face struct {
	method string // gRPC
	path   string // OTLP/HTTP
	rows   string // the query API's collection
	time   string // the row's column that holds the record's identity
}

var faces = [...]face{
	logs: {
		"/opentelemetry.proto.collector.logs.v1.LogsService/Export",
		"/v1/logs", "/api/v1/logs", "time_unix_nano",
	},
	traces: {
		"/opentelemetry.proto.collector.trace.v1.TraceService/Export",
		"/v1/traces", "/api/v1/spans", "start_time_unix_nano",
	},
	metrics: {
		"/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
		"/v1/metrics", "/api/v1/points", "time_unix_nano",
	},
}

// parseSignal finds a signal by its name.
func parseSignal(name string) (signal, bool) {
	for s := range faces {
		if signal(s).String() == name {
			return signal(s), true
		}
	}
	return 0, false
}
