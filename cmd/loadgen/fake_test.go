package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// stored is one row of the fake store.
type stored struct {
	run, instance, time string
	ids                 string // what else must be unique
}

// fakeServer speaks OTLP over both transports and answers the query API from
// memory. Its refusals are scripted, its storage can be made to lie.
type fakeServer struct {
	grpcAddr, httpURL string

	mu     sync.Mutex // guards what follows
	rows   map[signal][]stored
	calls  int
	script func(call int) *refusal
}

// refusal is how one call is answered instead of OK.
type refusal struct {
	code    codes.Code
	http    int
	after   time.Duration
	store   bool // the records are kept all the same
	partial int64
	hangUp  bool
}

func startFake(t *testing.T) *fakeServer {
	t.Helper()
	f := &fakeServer{rows: map[signal][]stored{}}
	lis, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(grpc.ForceServerCodecV2(serverCodec{}), grpc.UnknownServiceHandler(f.stream), grpc.MaxRecvMsgSize(64<<20))
	served := make(chan error)
	go func() { served <- g.Serve(lis) }()
	mux := http.NewServeMux()
	for s, face := range faces {
		mux.HandleFunc("POST "+face.path, func(w http.ResponseWriter, r *http.Request) { f.post(signal(s), w, r) })
		mux.HandleFunc("GET "+face.rows, func(w http.ResponseWriter, r *http.Request) { f.query(signal(s), w, r) })
	}
	h := httptest.NewServer(mux)
	t.Cleanup(func() {
		g.Stop()
		<-served
		h.Close()
	})
	f.grpcAddr, f.httpURL = lis.Addr().String(), h.URL
	return f
}

// serverCodec hands the handler raw bytes.
type serverCodec struct{}

func (serverCodec) Name() string { return "proto" }

func (serverCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (serverCodec) Unmarshal(b mem.BufferSlice, v any) error {
	*v.(*[]byte) = b.Materialize()
	return nil
}

func (f *fakeServer) stream(_ any, s grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(s)
	var body []byte
	if err := s.RecvMsg(&body); err != nil {
		return err
	}
	for sig, face := range faces {
		if face.method == method {
			r, err := f.accept(signal(sig), body)
			switch {
			case err != nil:
				return status.Error(codes.InvalidArgument, err.Error())
			case r != nil && r.partial > 0:
				return s.SendMsg(partialResponse(r.partial))
			case r != nil:
				return r.status()
			}
			return s.SendMsg([]byte{})
		}
	}
	return status.Error(codes.Unimplemented, method)
}

func partialResponse(n int64) []byte {
	const why = "too odd"
	success := binary.AppendUvarint([]byte{1 << 3}, uint64(n))
	success = append(success, 2<<3|wireBytes, byte(len(why)))
	success = append(success, why...)
	return append([]byte{1<<3 | wireBytes, byte(len(success))}, success...)
}

func (r *refusal) status() error {
	st := status.New(r.code, "scripted")
	if r.after > 0 {
		st, _ = st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(r.after)})
	}
	return st.Err()
}

func (f *fakeServer) post(s signal, w http.ResponseWriter, req *http.Request) {
	body, err := inflate(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r, err := f.accept(s, body)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case r == nil:
		w.Header().Set("Mira-Durability", "sync")
	case r.hangUp:
		panic(http.ErrAbortHandler)
	case r.partial > 0:
		_, _ = w.Write(partialResponse(r.partial))
	default:
		if r.after > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(r.after/time.Second)))
		}
		w.WriteHeader(r.http)
	}
}

func inflate(req *http.Request) ([]byte, error) {
	switch req.Header.Get("Content-Encoding") {
	case "gzip":
		z, err := gzip.NewReader(req.Body)
		if err != nil {
			return nil, err
		}
		return io.ReadAll(z)
	case "zstd":
		z, err := zstd.NewReader(req.Body)
		if err != nil {
			return nil, err
		}
		defer z.Close()
		return io.ReadAll(z)
	}
	return io.ReadAll(req.Body)
}

func (f *fakeServer) accept(s signal, body []byte) (*refusal, error) {
	rows, err := parseRequest(s, body)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	call := f.calls
	f.calls++
	if f.script != nil {
		if r := f.script(call); r != nil {
			if r.store {
				f.rows[s] = append(f.rows[s], rows...)
			}
			return r, nil
		}
	}
	f.rows[s] = append(f.rows[s], rows...)
	return nil, nil
}

func (f *fakeServer) query(s signal, w http.ResponseWriter, r *http.Request) {
	if r.FormValue("start") != "0" || r.FormValue("limit") != "all" || r.FormValue("columns") != faces[s].time+identity || r.Header.Get("Accept") != "application/x-ndjson" {
		http.Error(w, "unexpected query "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	out := json.NewEncoder(w)
	for _, row := range f.rows[s] {
		_ = out.Encode(map[string]any{
			faces[s].time: row.time, "body": `"loadgen.run" \"`, "odd": []any{1.5, nil, true, map[string]any{}},
			"resource": map[string]any{"attributes": map[string]any{"loadgen.run": row.run, "service.instance.id": row.instance, "n": "1"}},
		})
	}
}

// parseRequest reads a request with pdata, the collector's own parser.
func parseRequest(s signal, body []byte) ([]stored, error) {
	var out []stored
	add := func(res pcommon.Map, at pcommon.Timestamp, ids string) {
		run, _ := res.Get("loadgen.run")
		instance, _ := res.Get("service.instance.id")
		out = append(out, stored{run.Str(), instance.Str(), strconv.FormatUint(uint64(at), 10), ids})
	}
	switch s {
	case logs:
		req := plogotlp.NewExportRequest()
		if err := req.UnmarshalProto(body); err != nil {
			return nil, err
		}
		for _, rl := range req.Logs().ResourceLogs().All() {
			for _, r := range rl.ScopeLogs().At(0).LogRecords().All() {
				ids := r.TraceID().String() + r.SpanID().String()
				if id, ok := r.Attributes().Get("request.id"); ok {
					ids += id.Str()
				}
				add(rl.Resource().Attributes(), r.Timestamp(), ids)
			}
		}
	case traces:
		req := ptraceotlp.NewExportRequest()
		if err := req.UnmarshalProto(body); err != nil {
			return nil, err
		}
		for _, rs := range req.Traces().ResourceSpans().All() {
			for _, r := range rs.ScopeSpans().At(0).Spans().All() {
				if r.EndTimestamp() <= r.StartTimestamp() || r.TraceID().IsEmpty() {
					return nil, fmt.Errorf("span %v", r)
				}
				add(rs.Resource().Attributes(), r.StartTimestamp(), r.SpanID().String())
			}
		}
	case metrics:
		return parseMetrics(body, add, &out)
	}
	return out, nil
}

func parseMetrics(body []byte, add func(pcommon.Map, pcommon.Timestamp, string), out *[]stored) ([]stored, error) {
	req := pmetricotlp.NewExportRequest()
	if err := req.UnmarshalProto(body); err != nil {
		return nil, err
	}
	for _, rm := range req.Metrics().ResourceMetrics().All() {
		for _, m := range rm.ScopeMetrics().At(0).Metrics().All() {
			if m.Type() == pmetric.MetricTypeSum {
				for _, p := range m.Sum().DataPoints().All() {
					add(rm.Resource().Attributes(), p.Timestamp(), "")
				}
				continue
			}
			for _, p := range m.Histogram().DataPoints().All() {
				if p.BucketCounts().Len() != p.ExplicitBounds().Len()+1 {
					return nil, fmt.Errorf("histogram %v", p)
				}
				add(rm.Resource().Attributes(), p.Timestamp(), "")
			}
		}
	}
	return *out, nil
}

// loadgen runs the command and returns its exit code and its JSON report.
func loadgen(ctx context.Context, t *testing.T, args ...string) (int, *report, string) {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(ctx, append(args, "--json"), &out, &errs)
	var r report
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("report: %v\n%s", err, out.Bytes())
		}
	}
	return code, &r, errs.String()
}
