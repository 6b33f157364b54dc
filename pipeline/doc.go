// Package pipeline takes checked Exports to disk: it keeps the promise that what Submit
// acknowledged is in the log, and that what is in the log becomes a published block.
//
// It owns the memory budget, the shards and their builders. All waiting and all refusing happens
// in one place, before anything is written:
//
//	Submit ── gate.reserve(bytes) ──> slot{shard, BlockID}       may park, may refuse
//	       ── Store.Append(frame) ──> group commit ──> ack       the disk's answer
//	                     └─ slot.Logged ──> shard queue, in log order
//	                                        └─ columns ─> seal ─> publish ─> the shard takes its next BlockID
//
// A shard fills one block at a time. From the moment a block is full until it is published the
// shard takes no reservation, so the blocks of a shard follow each other in the log and at most
// one of them is unpublished after a crash.
//
// A Follower sees every Export that reached the columns since it came, or is told how many rows it
// missed: no shard ever waits for one.
package pipeline
