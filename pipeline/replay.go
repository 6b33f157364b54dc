package pipeline

import (
	"maps"
	"slices"
	"sync"

	"mira/storage/column"
	"mira/storage/frame"
	"mira/storage/signal"
)

// rebuilt is a block made again from the log.
type rebuilt struct {
	id      signal.BlockID
	builder *column.Builder
	bytes   int64
}

type shardKey struct {
	sig   signal.Signal
	shard uint16
}

// replay makes the unpublished blocks of the log again, frame by frame in log order, through the
// code that would have made them. A shard begins a block only after its last one is published, so
// there is at most one to a shard, and memory is bounded as it was before the crash. It returns
// the blocks that the disk would not take.
func (p *Pipeline) replay() ([]*rebuilt, error) {
	open := map[shardKey]*rebuilt{}
	var left []*rebuilt
	report, err := p.store.Replay(func(f frame.Frame) error {
		key := shardKey{f.Block.Signal, f.Block.Shard}
		r := open[key]
		if r != nil && r.id != f.Block {
			left = append(left, p.publishAll([]*rebuilt{r})...) // its file was lost or damaged
			r = nil
		}
		if r == nil {
			r = &rebuilt{id: f.Block, builder: column.NewBuilder(f.Block.Signal, p.columns)}
			open[key] = r
		}
		r.builder.Append(f.Payload, f.Received)
		r.bytes += int64(len(f.Payload)) + slotOverhead
		return nil
	})
	if err != nil {
		return nil, err
	}
	complete := slices.Collect(maps.Values(open))
	if len(complete) > 0 || report.Torn > 0 {
		p.logger.Info().Int("frames", report.Frames).Int64("bytes", report.Bytes).
			Int("blocks", len(complete)).Int64("torn_bytes", report.TornBytes).Msg("log replayed")
	}
	return append(left, p.publishAll(complete)...), nil
}

// publishAll publishes the blocks side by side and returns those that failed.
func (p *Pipeline) publishAll(blocks []*rebuilt) []*rebuilt {
	var (
		mu     sync.Mutex // guards failed
		failed []*rebuilt
		wg     sync.WaitGroup
	)
	for _, r := range blocks {
		wg.Go(func() {
			if err := p.store.Publish(r.id, r.builder.Table()); err != nil {
				p.logger.Error().Err(err).Msg("replayed block not published yet")
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, r)
			}
		})
	}
	wg.Wait()
	return failed
}
