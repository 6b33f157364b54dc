// Package otlp reads and writes the OTLP wire format without building messages from it.
//
// It owns everything the store knows about the three Export requests as bytes: whether they are
// well formed and how many records they hold (CheckLogs, CheckTraces, CheckMetrics), how to walk
// them (Field), and the JSON mapping in both directions (LogsFromJSON, AppendLogsJSON and their
// siblings). Field numbers and names live in one table, schema.go.
//
//	Export request            one tag and length deep per level
//	└ ResourceLogs            resource, schema_url
//	  └ ScopeLogs             scope, schema_url
//	    └ LogRecord           counted: this is a record
//	      └ KeyValue          key, value
//	        └ AnyValue        may hold arrays and maps of itself, MaxDepth levels
//
// It promises that Check accepts exactly what protobuf accepts (ids have their length, values
// their depth besides), touches every byte once and allocates nothing unless it refuses; that
// whatever the JSON reader writes passes Check; and that nothing here panics or recurses without
// bound, whatever the bytes.
package otlp
