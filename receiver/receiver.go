package receiver

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"mira/pipeline"
	"mira/storage/signal"
	"mira/storage/stage"
)

// Sink is where checked Exports go; *pipeline.Pipeline is one.
type Sink interface {
	// Submit returns when the Export is as durable as its tier asks, or refuses it.
	Submit(ctx context.Context, e pipeline.Export) (pipeline.Receipt, error)
	// Pressure reports whether an Export that came now would have to wait, and when it
	// should come instead.
	Pressure() (retryAfter time.Duration, busy bool)
}

// Receiver takes Exports from both transports to one Sink.
type Receiver struct {
	o          Options
	sink       Sink
	receiving  *budget // bodies as they came over the wire
	inflating  *budget // inflated bodies
	converting *budget // protobuf made of JSON
	stats      *stats
	rejects    *rejectLog
	health     *health.Server
	draining   atomic.Bool
}

// New returns a Receiver that hands Exports to sink.
func New(sink Sink, o Options) (*Receiver, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("receiver: %w", err)
	}
	o = o.withDefaults()
	r := &Receiver{
		o:          o,
		sink:       sink,
		receiving:  newBudget(o.ReceiveBytes),
		inflating:  newBudget(max(o.MaxRequestBytes, 2*guessBytes)),
		converting: newBudget(max(o.MaxRequestBytes, 2*guessBytes)),
		rejects:    &rejectLog{log: o.Log},
		health:     health.NewServer(),
	}
	r.stats = newStats(r)
	r.Serving(true)
	return r, nil
}

// Metrics returns the set that holds the receiver's metrics.
func (r *Receiver) Metrics() *metrics.Set { return r.o.Metrics }

// Drain refuses every Export that is not yet under way, as retryable. Those under way finish;
// the servers' own Shutdown and GracefulStop wait for them.
func (r *Receiver) Drain() {
	r.draining.Store(true)
	r.Serving(false)
}

// Serving says what grpc.health.v1 answers, for the server as a whole and for each service.
func (r *Receiver) Serving(ok bool) {
	is := healthpb.HealthCheckResponse_SERVING
	if !ok {
		is = healthpb.HealthCheckResponse_NOT_SERVING
	}
	r.health.SetServingStatus("", is)
	for _, w := range wires {
		r.health.SetServingStatus(w.service, is)
	}
}

// closed says why an Export that has only its headers here should not send its body.
func (r *Receiver) closed() error {
	if r.draining.Load() {
		return &pipeline.Refusal{Cause: errDraining, RetryAfter: time.Second}
	}
	if after, busy := r.sink.Pressure(); busy {
		return &pipeline.Refusal{Cause: pipeline.ErrBusy, RetryAfter: after}
	}
	return nil
}

// tier reads a mira-durability header; none is the default.
func (r *Receiver) tier(values []string) (signal.Tier, error) {
	if len(values) == 0 {
		return r.o.Durability, nil
	}
	t, err := signal.ParseTier(values[0])
	if err != nil || len(values) > 1 {
		return 0, fmt.Errorf("%w %q: want sync, batched or buffered", errDurability, cut(values[0], 64))
	}
	return max(t, r.o.StrongestDurability), nil
}

// call is one Export on its way through the receiver.
type call struct {
	signal    signal.Signal
	transport transport
	tier      signal.Tier
	start     time.Time
	peer      string
	agent     string
	wire      int // bytes received
	decoded   int // bytes of protobuf
	records   int
	trip      stage.Trip
}

// submit checks the payload in l, hands it on and gives l up. A receipt with no block means
// that there was nothing to store.
func (r *Receiver) submit(ctx context.Context, c *call, l *load) (pipeline.Receipt, error) {
	var err error
	c.decoded = len(l.b)
	c.trip = r.o.Stages.Begin(stage.At(c.start))
	if c.records, err = check(wires[c.signal], l.b); err != nil || c.records == 0 {
		l.drop()
		return pipeline.Receipt{}, err
	}
	c.trip.Lap(stage.Check)
	// The budget is held until the answer: parked Exports are what it is there to bound.
	defer l.release()
	return r.sink.Submit(ctx, pipeline.Export{
		Signal:   c.signal,
		Payload:  l.b,
		Records:  c.records,
		Tier:     c.tier,
		Received: c.start,
		Free:     l.free,
		Trip:     &c.trip,
	})
}

// check is the last look at a payload. A panic in it is the payload's fault, and final.
func check(w *wire, body []byte) (records int, err error) {
	defer catchPanic(&err)
	return w.check(body)
}

// convert makes protobuf of a JSON body.
func convert(w *wire, dst, body []byte) (pb []byte, known bool, err error) {
	defer catchPanic(&err)
	return w.fromJSON(dst, body)
}

// panicError is a panic caught on the way; its stack is for the log, not for the sender.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return errPanic.Error() }
func (e *panicError) Unwrap() error { return errPanic }

func catchPanic(err *error) {
	if p := recover(); p != nil {
		*err = &panicError{p, debug.Stack()}
	}
}

// finish counts a call and logs why it was refused.
func (r *Receiver) finish(c *call, err error) {
	r.stats.call(c, err)
	if err != nil {
		r.rejects.add(c, err)
	}
}
