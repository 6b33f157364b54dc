// Package corpus makes OTLP requests to measure with: what loadgen sends and mira doctor chews.
//
// It owns the two shapes of records, and promises that equal Options give equal bytes for ever, so
// that two figures with the same fingerprint are about the same load. It shares no code with the
// server: its encoder is its own.
//
//	Options ── Template ──> body, stamps ── Fill(worker, base) ──> one request, like no other
//
// A Template is encoded once and never written to. Fill copies it and writes times, ids and the
// worker's number over the places that were left for them; record i of a request carries the time
// base + Offset(i).
package corpus
