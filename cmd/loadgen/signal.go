package main

// signal is one of the three kinds of telemetry, an index into the table below.
type signal int

const (
	logs signal = iota
	traces
	metrics
)

// face is everything that differs between the signals on the outside.
type face struct {
	name   string // as --signals spells it
	method string // gRPC
	path   string // OTLP/HTTP
	rows   string // the query API's collection
	time   string // the row's column that holds the record's identity
}

var faces = [...]face{
	logs: {
		"logs", "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
		"/v1/logs", "/api/v1/logs", "time_unix_nano",
	},
	traces: {
		"traces", "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
		"/v1/traces", "/api/v1/spans", "start_time_unix_nano",
	},
	metrics: {
		"metrics", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
		"/v1/metrics", "/api/v1/points", "time_unix_nano",
	},
}

func (s signal) String() string { return faces[s].name }

// parseSignal finds a signal by its name.
func parseSignal(name string) (signal, bool) {
	for s, f := range faces {
		if f.name == name {
			return signal(s), true
		}
	}
	return 0, false
}
