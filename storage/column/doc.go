// Package column turns OTLP into the columns of a block and back.
//
// It owns the schema: which column every field and attribute of a log record, span or data point
// goes to, and how the fields come back out of it. A Builder reads Export requests from their
// wire bytes into growing columns, one row per record; its Table is what a block holds and what
// a query reads; an Encoder writes rows of a Table as OTLP again.
//
//	Export ──Append──> Builder ──Table──> Table ──block.Write──> file
//	                                        └──Encoder──> Export, LogRecord, Span, Metric
//
//	Builder
//	├ resource   read once per run of records, then repeated down the rows
//	├ scope      "
//	├ metric     "
//	└ record     fields                 by wire tag, through a table: schema.go
//	             attributes.<key>       by the key that followed last time: level.go
//	             overflow               raw fields that no column takes
//
// It promises that nothing is lost: whatever Check accepts comes back as the same records in the
// same order, with their resource, scope, metric and schema URLs. What no column can hold as it
// is (a second value for a key, keys beyond the cap, strings that are not UTF-8) lies in the
// overflow column of its level as protobuf fields, and since protobuf messages merge when they
// are joined, a record is its columns' fields with its overflow behind them. It also promises
// that the same Exports in the same order make the same Table, bit for bit, because a block that
// is rebuilt from the log must be the block that was lost.
package column
