package pipeline

import (
	"sync/atomic"
	"time"

	"mira/storage/signal"
)

// counts adds up what happened, per signal.
type counts struct {
	signals [len(signal.All) + 1]struct {
		records, exports, bytes, refusals, blocks atomic.Int64
	}
}

func (c *counts) stored(s signal.Signal, records, bytes int) {
	n := &c.signals[s]
	n.records.Add(int64(records))
	n.exports.Add(1)
	n.bytes.Add(int64(bytes))
}

func (c *counts) refused(s signal.Signal)   { c.signals[s].refusals.Add(1) }
func (c *counts) published(s signal.Signal) { c.signals[s].blocks.Add(1) }

// SignalStats counts one signal since the start.
type SignalStats struct {
	Records  int64         `json:"stored_records"`
	Exports  int64         `json:"stored_exports"`
	Bytes    int64         `json:"stored_bytes"` // OTLP, inflated
	Refusals int64         `json:"refused_exports"`
	Blocks   int64         `json:"published_blocks"`
	OpenAge  time.Duration `json:"open_block_age_ns"` // of the oldest open block; 0 when none
}

// Stats is the state of the pipeline.
type Stats struct {
	Signals map[string]SignalStats `json:"signals"`
	Used    int64                  `json:"budget_used_bytes"`
	Budget  int64                  `json:"budget_bytes"`
	Parked  int                    `json:"parked_exports"`
	Queued  int64                  `json:"parked_bytes"`
	Shards  int                    `json:"shards"`            // per signal
	Flying  int                    `json:"in_flight_exports"` // parked, or admitted and not in the columns yet
	Tails   int                    `json:"tails"`             // Followers
	Missed  int64                  `json:"tail_dropped_rows"` // that Followers were too slow for
}

// Stats returns the counts of now.
func (p *Pipeline) Stats() Stats {
	st := Stats{Signals: map[string]SignalStats{}, Budget: p.gate.budget, Shards: p.perSignal}
	feeds := p.feeds[signal.Logs].counts // of all signals
	st.Tails, st.Missed = int(feeds.followers.Load()), feeds.missed.Load()
	p.gate.mu.Lock()
	st.Used, st.Parked, st.Queued = p.gate.used, len(p.gate.parked), p.gate.queued
	st.Flying = st.Parked
	for _, s := range p.shards() {
		st.Flying += s.slots
	}
	shards := p.gate.shards
	p.gate.mu.Unlock()
	for _, sig := range signal.All {
		n := &p.counts.signals[sig]
		s := SignalStats{
			Records: n.records.Load(), Exports: n.exports.Load(), Bytes: n.bytes.Load(),
			Refusals: n.refusals.Load(), Blocks: n.blocks.Load(),
		}
		for _, sh := range shards[sig] {
			if born := sh.since(); !born.IsZero() {
				s.OpenAge = max(s.OpenAge, time.Since(born))
			}
		}
		st.Signals[sig.String()] = s
	}
	return st
}
