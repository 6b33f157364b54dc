package doctor

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"mira/cmd/internal/corpus"
	"mira/storage/block"
	"mira/storage/column"
	"mira/storage/otlp"
	"mira/storage/signal"
)

// CPU is what one record costs on one core, in nanoseconds.
type CPU struct {
	Requests   int     `json:"requests"` // different ones
	Records    int64   `json:"records"`  // measured
	OTLPBytes  float64 `json:"otlp_bytes_per_record"`
	BlockBytes float64 `json:"block_bytes_per_record"`
	Receive    float64 `json:"receive_ns_per_record"` // by constant
	Check      float64 `json:"check_ns_per_record"`
	Log        float64 `json:"log_ns_per_record"` // by constant
	Columns    float64 `json:"columns_ns_per_record"`
	Encode     float64 `json:"encode_ns_per_record"` // zstd and the file's hash included
	Total      float64 `json:"total_ns_per_record"`
}

const (
	batch      = 8192     // records of a request: the SDKs' and Collectors' usual upper end, and loadgen's default
	blockBytes = 32 << 20 // the server's default block-bytes
)

// measureCPU runs the server's own code over requests that are all different, for the time there
// is but at least corpus.Distinct of them, unless that takes twice the time.
func (o *Options) measureCPU(ctx context.Context) (CPU, error) {
	ctx, stop := context.WithCancel(ctx)
	b := &bench{builder: column.NewBuilder(signal.Logs, column.Options{}), budget: time.Duration(cpuShare * float64(o.Budget))}
	step := o.step(smallShare+largeShare+bandwidthShare, cpuShare, "check, columns, encoding")
	runtime.LockOSThread() // for cpuTime
	defer runtime.UnlockOSThread()
	requests := produce(ctx, o.Shape)
	defer func() {
		stop()
		for range requests { // until the producer has ended
		}
	}()
	for start := time.Now(); ; {
		t, ok := <-requests
		if !ok || ctx.Err() != nil {
			return CPU{}, ctx.Err()
		}
		if err := b.take(t); err != nil {
			return CPU{}, err
		}
		took := time.Since(start)
		step(took)
		if took >= b.budget && (b.requests >= corpus.Distinct || took >= 2*b.budget) && ctx.Err() == nil {
			break
		}
	}
	if b.encode.records == 0 {
		if err := b.seal(); err != nil {
			return CPU{}, err
		}
	}
	return b.cpu(), nil
}

// produce makes requests until ctx ends. That is another core's work, where there is another.
func produce(ctx context.Context, shape corpus.Shape) <-chan *corpus.Template {
	out := make(chan *corpus.Template, 2)
	o := corpus.Options{Shape: shape, Batch: batch, Seed: 1, Run: "0123456789ab"}
	go func() {
		defer close(out)
		for i := 0; ctx.Err() == nil; i++ {
			select {
			case out <- o.Template(corpus.Logs, i, batch):
			case <-ctx.Done():
			}
		}
	}()
	return out
}

// bench takes requests through the stages that cost CPU.
type bench struct {
	builder  *column.Builder
	budget   time.Duration
	requests int
	body     []byte

	check, columns, encode cost
	otlp, blocks           int64 // bytes of what check and encode count
}

// cost sums the CPU time of one stage.
type cost struct {
	cpu     time.Duration
	records int64
}

func (c *cost) per() float64 { return float64(c.cpu) / float64(max(c.records, 1)) }

// measure adds what fn takes.
func (c *cost) measure(records int, fn func()) {
	start := cpuTime()
	fn()
	c.cpu += cpuTime() - start
	c.records += int64(records)
}

// take checks one request and fills it into the columns; a full block is encoded.
func (b *bench) take(t *corpus.Template) error {
	if cap(b.body) < t.Len() {
		b.body = make([]byte, t.Len()*5/4)
	}
	body := b.body[:t.Len()]
	const start = 1_790_000_000_000_000_000
	at := start + uint64(b.requests)*batch*corpus.Slot
	t.Fill(body, 0, at, corpus.Salt("", 0)) // the copy out of the socket
	var err error
	b.check.measure(batch, func() { _, err = otlp.CheckLogs(body) })
	if err != nil {
		return fmt.Errorf("the doctor's own request: %w", err)
	}
	if b.requests == 0 {
		b.warm(body)
	}
	b.columns.measure(batch, func() { b.builder.Append(body, int64(at)) })
	b.requests++
	b.otlp += int64(len(body))
	if b.builder.Bytes() < blockBytes {
		return nil
	}
	return b.seal()
}

// warm makes the memory of a block, which a server's blocks use one after the other, with the first
// request over and over.
func (b *bench) warm(body []byte) {
	for start := time.Now(); b.builder.Bytes() < blockBytes && time.Since(start) < b.budget/3; {
		b.builder.Append(body, 0)
	}
	b.builder.Reset()
}

// seal encodes the block and begins another.
func (b *bench) seal() error {
	var info block.Info
	var err error
	b.encode.measure(b.builder.Rows(), func() {
		info, err = block.Encode(io.Discard, signal.BlockID{Signal: signal.Logs, Seq: 1}, b.builder.Table(), block.Options{})
	})
	b.blocks += info.Bytes
	b.builder.Reset()
	return err
}

func (b *bench) cpu() CPU {
	c := CPU{
		Requests: b.requests, Records: b.check.records,
		OTLPBytes:  float64(b.otlp) / float64(max(b.check.records, 1)),
		BlockBytes: float64(b.blocks) / float64(max(b.encode.records, 1)),
		Check:      b.check.per(), Columns: b.columns.per(), Encode: b.encode.per(),
	}
	c.Receive, c.Log = receiveCost*c.OTLPBytes, logCost*c.OTLPBytes
	c.Total = c.Receive + c.Check + c.Log + c.Columns + c.Encode
	return c
}
