package doctor

import "time"

// What is not measured here takes a constant, in nanoseconds of CPU per byte of OTLP: receiving is
// gRPC, the socket and the copy; the log is the frame's sum, the write, and the hand-overs. Both are
// shares of one profile per shape, on a machine that others used too, scaled so that encoding takes
// what the doctor measured at a quieter time of the same hour. They may be wrong by a half:
//
//	bin/loadgen --conns 4 --shape lean|rich & perf record -F 499 -g -p PID -- sleep 5
//
// lean (134 B): receive 8.8 %, log 6.7 %, encoding 52.1 % and 392 ns: 0.49 and 0.38 ns per byte;
// rich (493 B): receive 9.2 %, log 7.8 %, encoding 48.5 % and 1602 ns: 0.62 and 0.52 ns per byte.
const (
	receiveCost = 0.55
	logCost     = 0.45
)

// roundTrip is what an Export of one record takes over gRPC beside its write and sync, with all the
// goroutines that wake each other on both sides: 4.5 times a bare write and sync of 55 us, less that
// (bin/loadgen --conns 1 --batch 1; the table in ARCHITECTURE.md).
const roundTrip = 190 * time.Microsecond

// Prediction is what a server that has this machine for itself is expected to take, in Exports of
// Batch records. Clients on the same machine come on top.
type Prediction struct {
	Records  float64 `json:"records_per_second"`
	CPU      float64 `json:"cpu_records_per_second"`  // as many as the cores can do
	Disk     float64 `json:"disk_records_per_second"` // as many as the disk can take
	Limit    string  `json:"limit"`                   // cpu or disk
	Batch    int     `json:"batch"`
	AckOne   Seconds `json:"ack_one_record_seconds"` // of one connection with Exports of one record, p50
	AckBatch Seconds `json:"ack_batch_seconds"`      // of one that sends Exports of Batch records without a pause, p50
}

// predict holds the cores against the disk: the slower one is the limit.
func predict(cores float64, c CPU, d Disk) Prediction {
	p := Prediction{
		CPU: cores * 1e9 / c.Total, Disk: d.Bandwidth / (c.OTLPBytes + c.BlockBytes),
		Batch: batch, AckOne: seconds(roundTrip) + d.Small.P50,
	}
	p.Records, p.Limit = p.CPU, "cpu"
	if p.Disk < p.CPU {
		p.Records, p.Limit = p.Disk, "disk"
	}
	// The client's sending costs about what receiving does. However short the way, a connection that
	// sends without a pause waits for the blocks in the end, as all do.
	cpu := Seconds(batch * (2*c.Receive + c.Check + c.Log) / 1e9)
	p.AckBatch = max(seconds(roundTrip)+cpu+d.sync(batch*c.OTLPBytes), Seconds(batch/p.Records))
	return p
}

// sync is how long a write of so many bytes and its sync take: on the line through the two measured.
func (d Disk) sync(bytes float64) Seconds {
	slope := float64(d.Large.P50-d.Small.P50) / float64(d.Large.Bytes-d.Small.Bytes)
	return d.Small.P50 + Seconds(max(0, slope)*(bytes-float64(d.Small.Bytes)))
}
