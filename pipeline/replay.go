package pipeline

import (
	"sync"

	"mira/storage/column"
	"mira/storage/frame"
	"mira/storage/signal"
)

// rebuilt is a block made again from the log, by a goroutine of its own.
type rebuilt struct {
	id      signal.BlockID
	builder *column.Builder
	bytes   int64
	frames  chan frame.Frame // in log order; the payload is the goroutine's
	done    chan struct{}    // closed when all frames are in the builder
}

type shardKey struct {
	sig   signal.Signal
	shard uint16
}

// replay makes the unpublished blocks of the log again, each from its frames in log order, through
// the code that would have made them. A shard begins a block only after its last one is published,
// so there is at most one to a shard, and memory is bounded as it was before the crash. The blocks
// it returns are complete and for their shards to publish, which they do while the server already
// answers: the rows are seen, and the log keeps the frames until the files are there.
func (p *Pipeline) replay() ([]*rebuilt, error) {
	open := map[shardKey]*rebuilt{}
	var complete []*rebuilt
	report, err := p.store.Replay(func(f frame.Frame) error {
		key := shardKey{f.Block.Signal, f.Block.Shard}
		r := open[key]
		if r != nil && r.id != f.Block { // its file was lost or damaged
			r.finish()
			if !p.publishNow(r) {
				complete = append(complete, r)
			}
			r = nil
		}
		if r == nil {
			r = p.rebuild(f.Block)
			open[key] = r
		}
		r.add(f)
		return nil
	})
	for _, r := range open {
		r.finish()
		complete = append(complete, r)
	}
	if err != nil {
		return nil, err
	}
	if len(complete) > 0 || report.Torn > 0 {
		p.logger.Info().Int("frames", report.Frames).Int64("bytes", report.Bytes).
			Int("blocks", len(complete)).Int64("torn_bytes", report.TornBytes).Msg("log replayed")
	}
	return complete, nil
}

// publishNow publishes a block in the middle of a replay, to have its memory back.
func (p *Pipeline) publishNow(r *rebuilt) bool {
	err := p.store.Publish(r.id, r.builder.Table())
	if err != nil {
		p.logger.Error().Err(err).Msg("replayed block not published yet")
	}
	return err == nil
}

// rebuild starts to make a block again.
func (p *Pipeline) rebuild(id signal.BlockID) *rebuilt {
	r := &rebuilt{
		id: id, builder: column.NewBuilder(id.Signal, p.columns),
		frames: make(chan frame.Frame, 4), done: make(chan struct{}),
	}
	go func() {
		defer close(r.done)
		for f := range r.frames {
			r.builder.Append(f.Payload, f.Received)
			copies.Put(&f.Payload)
		}
	}()
	return r
}

// copies are payloads on their way to a builder: the log's own is valid during one call only.
var copies = sync.Pool{New: func() any { return new([]byte) }}

// add hands a frame to the builder.
func (r *rebuilt) add(f frame.Frame) {
	b := copies.Get().(*[]byte)
	f.Payload = append((*b)[:0], f.Payload...)
	r.bytes += int64(len(f.Payload)) + slotOverhead
	r.frames <- f
}

// finish waits until every frame is in the builder. There may be no more.
func (r *rebuilt) finish() {
	close(r.frames)
	<-r.done
}
