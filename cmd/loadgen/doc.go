// Command loadgen sends OTLP to a server and proves what became of it.
//
// It owns the load and the proof (the requests come from cmd/internal/corpus),
// and shares no line of code with the server it measures, so that it cannot
// share its mistakes. Every request is encoded
// before the clock starts; what remains on the clock is a copy, the stamping of
// times and ids at known offsets, and the sending:
//
//	template ── copy ── stamp ──> request ──> grpc | http ──> ack | refusal | silence
//	   (read-only, 64 a signal)                                    │
//	                        claim{run, signal, worker, base, n} <──┘
//
// Identity is time. A worker gives every Export a base time later than all it
// gave before; record i of it carries base + offset(i), and its resource names
// the run and the worker. So (run, worker, time) names one record of all that
// were ever sent, without an extra attribute that would bend the shape:
//
//	resource.attributes["loadgen.run"]          the run, 12 hex digits
//	resource.attributes["service.instance.id"]  "loadgen-00003": the worker
//	time_unix_nano | start_time_unix_nano       base + 128*i + jitter(i)
//
// --verify reads everything back and holds it against the claims: an
// acknowledged record is there once; a refused one is absent; one whose Export
// ended in silence is there at most as often as it was sent.
package main
