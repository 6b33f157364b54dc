package pipeline

import (
	"errors"
	"fmt"
	"time"

	"mira/storage/signal"
	"mira/storage/stage"
)

// Export is one OTLP Export request whose payload has been checked: nothing about it can fail
// any more but the disk.
type Export struct {
	Signal   signal.Signal
	Payload  []byte      // the Export…ServiceRequest, protobuf, inflated; nobody writes to it until Free
	Records  int         // how many records Payload holds; at least 1
	Tier     signal.Tier // how durable the records must be when Submit returns
	Received time.Time   // arrival; the time of a record that has none of its own
	Free     func()      // called exactly once, when Payload is no longer read; may be nil
	Trip     *stage.Trip // its clock; Submit uses it until it returns; nil: not timed
}

func (e *Export) free() {
	if e.Free != nil {
		e.Free()
	}
}

// Receipt says where an acknowledged Export went.
type Receipt struct {
	Block signal.BlockID // the block its records are in, published or not yet
	Seq   uint64         // its number in the log
	Tier  signal.Tier    // the tier reached
}

// String returns "<signal>/<node>.<shard>.<block>/<seq>".
func (r Receipt) String() string { return fmt.Sprintf("%s/%d", r.Block, r.Seq) }

// The three ways not to be stored. Every error of Submit that is not the context's wraps one.
var (
	// ErrBusy: no room now; the same Export may be sent again later.
	ErrBusy = errors.New("busy")
	// ErrUnavailable: the disk or the server cannot take it now; the same Export may be sent
	// again. After a failed sync it is unknown whether the records were stored.
	ErrUnavailable = errors.New("unavailable")
	// ErrUnstorable: this Export can never be stored.
	ErrUnstorable = errors.New("unstorable")
)

// Refusal is the error of an Export that was not acknowledged.
type Refusal struct {
	Cause      error         // wraps ErrBusy, ErrUnavailable or ErrUnstorable
	RetryAfter time.Duration // when to try again; 0 with ErrUnstorable
}

// Error returns the cause's text.
func (r *Refusal) Error() string { return r.Cause.Error() }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Cause }

func refuse(kind error, retry time.Duration, format string, args ...any) error {
	return &Refusal{Cause: fmt.Errorf("%w: %w", kind, fmt.Errorf(format, args...)), RetryAfter: retry}
}
