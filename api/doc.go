// Package api is the door out: it answers questions about stored records over HTTP.
//
// It owns what a request may say, the forms of an answer, and the words of an error. It promises
// that a mistake in a request is named (RFC 9457, with the parameter), that an answer which was
// begun is either whole or visibly broken off, and that nothing it does changes what is stored.
//
//	GET /api/v1/{logs|spans|points}   rows: JSON, NDJSON, Arrow, OTLP protobuf, OTLP/JSON
//	GET /api/v1/traces/{trace_id}     one trace: OTLP/JSON, OTLP protobuf
//	GET /api/v1/{…}/tail              rows stored from now on: server-sent events
//	GET /api/v1/status                one document about the server
//	GET /debug/ingest                 what ingest is bound by: JSON, or a page
//	GET /api/openapi.yaml             this contract, in full
//	GET /healthz /readyz /metrics     for probes and Prometheus
//
// An answer is made from the OTLP form of its rows, whatever its own form: a page is an Export
// request, and JSON rows are a view of it. The full contract is openapi.yaml, beside this file.
package api
