// Package frame is the form of one Export in the log: Append writes it, Parse reads it; pure bytes.
package frame

import "mira/storage/signal"

// Frame is one Export on its way to a block.
type Frame struct {
	Block    signal.BlockID // the block that the Export lands in
	Epoch    uint64         // the number of the segment; a stale frame of a recycled file has another
	Synced   uint64         // the bytes of this segment known to be durable when the frame was written
	Received int64          // arrival, Unix nanoseconds: the time of a record that has none
	Records  uint32         // how many records Payload holds
	Payload  []byte         // the OTLP Export…ServiceRequest, protobuf
}
