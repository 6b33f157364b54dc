package receiver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"mira/pipeline"
	"mira/storage/otlp"
)

// What the receiver itself may refuse an Export for. pipeline has the other causes.
var (
	errPath       = errors.New("unknown path")
	errMethod     = errors.New("only POST is allowed")
	errMediaType  = errors.New("content type is neither application/x-protobuf nor application/json")
	errDurability = errors.New("bad mira-durability")
	errCoding     = errors.New("unknown content coding")
	errCorrupt    = errors.New("compressed body is corrupt")
	errTruncated  = errors.New("body ended early")
	errTooLarge   = errors.New("request is too large")
	errFraming    = errors.New("bad gRPC message framing")
	errSlow       = errors.New("body arrived too slowly")
	errMemory     = errors.New("receive memory is taken")
	errDraining   = errors.New("server is shutting down")
	errPanic      = errors.New("request could not be processed")
)

// outcome is what becomes of the items of an Export that was not stored.
type outcome uint8

const (
	refused outcome = iota // the sender keeps the items and sends them again
	failed                 // the items can never be stored
)

// verdict is a row of the table from causes to answers.
type verdict struct {
	cause   error
	reason  string // the label of mira_receiver_rejects_total
	code    codes.Code
	http    int
	outcome outcome
}

// verdicts is the only place where a cause becomes a status. The first row whose cause the
// error wraps decides. OTLP lets clients repeat exactly 429, 502, 503, 504 and UNAVAILABLE,
// CANCELLED, DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, DATA_LOSS: temporary causes must be
// among those, permanent ones must not. 503 and not 429, because older Python exporters drop
// on 429; never 500, because the specification makes it final and some exporters repeat it
// for ever. RESOURCE_EXHAUSTED is final as long as it carries no RetryInfo.
var verdicts = []verdict{
	{errPath, "path", codes.Unimplemented, http.StatusNotFound, failed},
	{errMethod, "method", codes.Unimplemented, http.StatusMethodNotAllowed, failed},
	{errMediaType, "media_type", codes.InvalidArgument, http.StatusUnsupportedMediaType, failed},
	{errDurability, "durability", codes.InvalidArgument, http.StatusBadRequest, failed},
	{errCoding, "coding", codes.Unimplemented, http.StatusUnsupportedMediaType, failed},
	{errTooLarge, "too_large", codes.ResourceExhausted, http.StatusRequestEntityTooLarge, failed},
	{errCorrupt, "corrupt", codes.InvalidArgument, http.StatusBadRequest, failed},
	{errTruncated, "truncated", codes.InvalidArgument, http.StatusBadRequest, failed},
	{errFraming, "framing", codes.Internal, http.StatusBadRequest, failed},
	{errPanic, "panic", codes.InvalidArgument, http.StatusBadRequest, failed},
	{pipeline.ErrUnstorable, "unstorable", codes.InvalidArgument, http.StatusBadRequest, failed},
	{errDraining, "draining", codes.Unavailable, http.StatusServiceUnavailable, refused},
	{errMemory, "memory", codes.Unavailable, http.StatusServiceUnavailable, refused},
	{errSlow, "slow", codes.DeadlineExceeded, http.StatusServiceUnavailable, refused},
	{pipeline.ErrBusy, "busy", codes.Unavailable, http.StatusServiceUnavailable, refused},
	{pipeline.ErrUnavailable, "unavailable", codes.Unavailable, http.StatusServiceUnavailable, refused},
	{context.Canceled, "cancelled", codes.Canceled, http.StatusServiceUnavailable, refused},
	{context.DeadlineExceeded, "deadline", codes.DeadlineExceeded, http.StatusServiceUnavailable, refused},
}

// malformed is the row of *otlp.Error, which has no value to compare with.
var malformed = verdict{nil, "malformed", codes.InvalidArgument, http.StatusBadRequest, failed}

// unknown is the row of everything else: nobody can say that a repetition is useless.
var unknown = verdict{nil, "unknown", codes.Unavailable, http.StatusServiceUnavailable, refused}

// classify returns the row of the table for err.
func classify(err error) verdict {
	var bad *otlp.Error
	if errors.As(err, &bad) {
		return malformed
	}
	for _, v := range verdicts {
		if errors.Is(err, v.cause) {
			return v
		}
	}
	return unknown
}

// retryAfter returns when the sender may try again: what the pipeline measured, else a second.
// 0 means that the answer is final.
func retryAfter(err error, v verdict) time.Duration {
	if v.outcome == failed {
		return 0
	}
	var r *pipeline.Refusal
	if errors.As(err, &r) && r.RetryAfter > 0 {
		return min(r.RetryAfter, maxRetry)
	}
	return time.Second
}

// maxRetry bounds the delay asked of a client: longer ones only fill its queue.
const maxRetry = 30 * time.Second

// maxMessage bounds the text of an answer; the answer's headers must fit a gRPC header list.
const maxMessage = 1 << 10

// rpcStatus builds the google.rpc.Status that both transports answer with.
func rpcStatus(err error, v verdict) *spb.Status {
	st := &spb.Status{Code: int32(v.code), Message: plain(err.Error())}
	if d := retryAfter(err, v); d > 0 {
		st.Details = detail(st.Details, &errdetails.RetryInfo{RetryDelay: durationpb.New(d)})
	}
	if v.code == codes.InvalidArgument {
		st.Details = detail(st.Details, &errdetails.BadRequest{
			FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field(err), Description: st.Message}},
		})
	}
	return st
}

func detail(to []*anypb.Any, m protoadapt.MessageV2) []*anypb.Any {
	a, err := anypb.New(m)
	if err != nil {
		return to
	}
	return append(to, a)
}

// field names the part of the request that is at fault, as BadRequest wants it.
func field(err error) string {
	var bad *otlp.Error
	if errors.As(err, &bad) {
		if name, _, ok := strings.Cut(bad.Reason, ":"); ok && !strings.Contains(name, " ") {
			return plain(name)
		}
	}
	switch {
	case errors.Is(err, errDurability):
		return headerDurability
	case errors.Is(err, errMediaType):
		return "content-type"
	}
	return "body"
}

// plain makes text fit to be sent: valid UTF-8, not empty, bounded.
func plain(text string) string {
	if len(text) > maxMessage {
		text = text[:maxMessage]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if text == "" {
		return "unspecified error"
	}
	return text
}

// tooLarge says which limit was passed.
func (r *Receiver) tooLarge(what string) error {
	return fmt.Errorf("%w: %s exceeds %d bytes", errTooLarge, what, r.o.MaxRequestBytes)
}
