// Package receiver is the door in: it takes OTLP Exports over gRPC and HTTP, and answers each
// when the Sink behind it has it as safe as it was asked to.
//
// It owns the bytes of an Export from the socket to Submit, and the one table from causes to
// answers (status.go). It promises that
//   - a body is limited on the wire and inflated, exactly, on both transports, and that memory
//     follows the bytes that arrived, not those that were announced;
//   - nothing reaches the Sink that is not whole, well-formed protobuf with at least one record;
//   - a refusal that may pass is retryable and says when, and one that is final is not;
//   - a refusal stores nothing, and most are made before the body is read.
//
// The way of an Export, with what each storey may refuse it for:
//
//	gRPC: tap ── headers ─┐                       ┌─ receiving ─┐ ┌─ inflating ─┐
//	                      ├─ tier, type, coding ──┤    body     ├─┤   decoded   ├─ JSON? ─ check ─ Submit
//	HTTP: ServeHTTP ──────┘   busy, draining      └─ too large ─┘ └─ a bomb? ───┘          │
//	                                                  slow           corrupt               └─ receipt
//
// receiving, inflating and converting are budgets in bytes, shared by all connections. Who
// holds a part of one may try for more of it but never waits for it, so no two bodies can wait
// for each other.
//
// The gRPC half reads messages from the stream itself rather than through a codec: the length
// is known before the body costs memory, and a bad body is INVALID_ARGUMENT.
package receiver
