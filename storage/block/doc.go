// Package block writes a sealed table to disk as one immutable file and brings it back.
//
// A block is a standard Arrow IPC file, so that pyarrow, Polars or ClickHouse read it without
// mira. Its name is its entry in the catalog: when the file bears its name, the block exists,
// whole and durable; before that, it does not exist.
//
//	logs/2026-11-30T21/01796074200000000000-01796074259999999999-0a1b2c3d.0.17-<32 hex>.arrow
//	│    │             │                    │                    │             └ SHA-256 of the file, first half
//	│    │             │                    │                    └ node.shard.seq
//	│    │             └ first record       └ last record, Unix ns, inclusive
//	│    └ hour of the first record, UTC
//	└ signal
//
// The file, every part of it at a multiple of 8 bytes:
//
//	┌─────────┬────────┬──────────────┬──────────────┬─────┬──────┬────────┬─────┬────────┐
//	│"ARROW1" │ schema │ dictionaries │ row groups   │ EOS │ sums │ footer │ len │"ARROW1"│
//	└─────────┴────────┴──────────────┴──────────────┴─────┴──────┴────────┴─────┴────────┘
//	                    one per column  GroupRows rows       │
//	                                                         └ CRC-32C of every part that a reader
//	                                                           takes: metadata, buffers, footer
//
// Only sums are mira's own; they lie where Arrow readers do not look. Because of them a Reader
// trusts no byte that it has not checked, and still reads no more of the file than the columns
// it is asked for. What the checks let through is bounds-checked all the same: a Reader answers
// any file with a Table whose parts fit each other or with an error, and does not panic.
//
// Writing is deterministic: the same table and the same Options give the same bytes.
package block
