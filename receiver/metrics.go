package receiver

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"mira/storage/signal"
)

type transport string

const (
	overGRPC transport = "grpc"
	overHTTP transport = "http"
)

// stats are the receiver's metrics. Every label comes from a closed set; nothing a client
// sends becomes one.
type stats struct {
	bySignal map[key]*counters
	rejects  map[rejectKey]*metrics.Counter
	open     map[transport]*atomic.Int64
}

type key struct {
	signal    signal.Signal // 0: none, as for an unknown path
	transport transport
}

type rejectKey struct {
	key
	reason string
}

// counters are the metrics of one signal on one transport.
type counters struct {
	requests, items    map[string]*metrics.Counter // by result
	wireBytes, pbBytes *metrics.Counter
	seconds            *metrics.PrometheusHistogram
}

// latencyBounds reach from an Export in memory to one that was parked and then refused.
var latencyBounds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

const accepted = "accepted"

var results = map[outcome]string{refused: "refused", failed: "failed"}

func newStats(r *Receiver) *stats {
	s := &stats{map[key]*counters{}, map[rejectKey]*metrics.Counter{}, map[transport]*atomic.Int64{}}
	set := r.o.Metrics
	for _, t := range []transport{overGRPC, overHTTP} {
		open := new(atomic.Int64)
		s.open[t] = open
		set.GetOrCreateGauge(fmt.Sprintf(`mira_receiver_connections{transport=%q}`, t),
			func() float64 { return float64(open.Load()) })
		for _, sig := range append(signal.All[:], 0) {
			k := key{sig, t}
			s.bySignal[k] = newCounters(set, k)
			for _, v := range append(verdicts, malformed, unknown) {
				s.rejects[rejectKey{k, v.reason}] = set.GetOrCreateCounter(fmt.Sprintf(
					`mira_receiver_rejects_total{%s,reason=%q}`, k.labels(), v.reason))
			}
		}
	}
	for name, b := range map[string]*budget{"receiving": r.receiving, "inflating": r.inflating, "converting": r.converting} {
		set.GetOrCreateGauge(fmt.Sprintf(`mira_receiver_memory_bytes{stage=%q}`, name),
			func() float64 { return float64(b.used()) })
	}
	return s
}

func newCounters(set *metrics.Set, k key) *counters {
	c := &counters{requests: map[string]*metrics.Counter{}, items: map[string]*metrics.Counter{}}
	for _, result := range []string{accepted, results[refused], results[failed]} {
		c.requests[result] = set.GetOrCreateCounter(fmt.Sprintf(`mira_receiver_requests_total{%s,result=%q}`, k.labels(), result))
		c.items[result] = set.GetOrCreateCounter(fmt.Sprintf(`mira_receiver_items_total{%s,result=%q}`, k.labels(), result))
	}
	c.wireBytes = set.GetOrCreateCounter(fmt.Sprintf(`mira_receiver_bytes_total{%s,kind="wire"}`, k.labels()))
	c.pbBytes = set.GetOrCreateCounter(fmt.Sprintf(`mira_receiver_bytes_total{%s,kind="decoded"}`, k.labels()))
	c.seconds = set.GetOrCreatePrometheusHistogramExt(
		fmt.Sprintf(`mira_receiver_request_seconds{%s}`, k.labels()), latencyBounds)
	return c
}

func (k key) labels() string {
	name := "none"
	if k.signal.Valid() {
		name = k.signal.String()
	}
	return fmt.Sprintf(`signal=%q,transport=%q`, name, k.transport)
}

// call counts one Export, answered with err.
func (s *stats) call(c *call, err error) {
	k := key{c.signal, c.transport}
	n := s.bySignal[k]
	result := accepted
	if err != nil {
		v := classify(err)
		result = results[v.outcome]
		s.rejects[rejectKey{k, v.reason}].Inc()
	}
	n.requests[result].Inc()
	n.items[result].Add(c.records)
	n.wireBytes.Add(c.wire)
	n.pbBytes.Add(c.decoded)
	n.seconds.Update(time.Since(c.start).Seconds())
}
