package receiver

import (
	"context"
	"io"
	"testing"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"mira/storage/signal"
)

func logTo(w io.Writer) zerolog.Logger { return zerolog.New(w) }

func ptraceResponse(t testing.TB, body []byte) ptraceotlp.ExportResponse {
	t.Helper()
	resp := ptraceotlp.NewExportResponse()
	if err := resp.UnmarshalJSON(body); err != nil {
		t.Fatalf("answer %q: %v", body, err)
	}
	return resp
}

// raw is a client codec that sends and receives bytes.
type raw struct{}

func (raw) Name() string { return "proto" }
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func (raw) Unmarshal(b mem.BufferSlice, v any) error {
	*v.(*[]byte) = b.Materialize()
	return nil
}

var _ encoding.CodecV2 = raw{}

func export1(ctx context.Context, c *grpc.ClientConn, sig signal.Signal, body []byte, o ...grpc.CallOption) ([]byte, error) {
	var answer []byte
	err := c.Invoke(ctx, "/"+wires[sig].service+"/Export", body, &answer, append(o, grpc.ForceCodecV2(raw{}))...)
	return answer, err
}

func exportError(t testing.TB, d *doors, sig signal.Signal, body []byte) *status.Status {
	t.Helper()
	_, err := export1(t.Context(), d.dial(t), sig, body)
	return status.Convert(err)
}

func hasRetryInfo(s *status.Status) bool {
	for _, d := range s.Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok && r.RetryDelay.AsDuration() > 0 {
			return true
		}
	}
	return false
}

func hasBadRequest(s *status.Status) bool {
	for _, d := range s.Details() {
		if b, ok := d.(*errdetails.BadRequest); ok && len(b.FieldViolations) > 0 {
			return true
		}
	}
	return false
}
