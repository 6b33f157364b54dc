package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"mira/storage"
	"mira/storage/block"
	"mira/storage/column"
	"mira/storage/query"
	"mira/storage/signal"
)

// rows is a source of open rows.
type rows struct {
	views map[signal.Signal][]block.View
	err   error
}

func (r *rows) Snapshot(ctx context.Context, s signal.Signal, _, _ uint64) (*storage.Snapshot, error) {
	return &storage.Snapshot{Open: r.views[s]}, errors.Join(r.err, ctx.Err())
}

func (r *rows) OpenBlock(i block.Info) (*block.Reader, error) {
	return nil, fmt.Errorf("no block %s", i.Path())
}

func (r *rows) Damaged(block.Info, error) {}

// put makes a block of one Export request.
func (r *rows) put(s signal.Signal, payload []byte) {
	if r.views == nil {
		r.views = map[signal.Signal][]block.View{}
	}
	b := column.NewBuilder(s, column.Options{})
	b.Append(payload, 1)
	id := signal.BlockID{Signal: s, Node: 1, Seq: uint64(len(r.views[s]) + 1)}
	r.views[s] = append(r.views[s], block.View{ID: id, Table: b.Table()})
}

// noon is when the tests take place.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) pcommon.Timestamp { return pcommon.NewTimestampFromTime(noon.Add(d)) }

// sample holds a little of every signal.
func sample(t testing.TB) *rows {
	t.Helper()
	r := &rows{}
	logs, err := plogotlp.NewExportRequestFromLogs(sampleLogs()).MarshalProto()
	traces, err2 := ptraceotlp.NewExportRequestFromTraces(sampleTraces()).MarshalProto()
	metrics, err3 := pmetricotlp.NewExportRequestFromMetrics(sampleMetrics()).MarshalProto()
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	r.put(signal.Logs, logs)
	r.put(signal.Traces, traces)
	r.put(signal.Metrics, metrics)
	return r
}

func fillResource(r pcommon.Resource, s pcommon.InstrumentationScope) {
	r.Attributes().PutStr("service.name", "checkout")
	r.Attributes().PutInt("pid", 7)
	r.SetDroppedAttributesCount(1)
	s.SetName("lib")
	s.SetVersion("1.2")
	s.Attributes().PutDouble("nan", math.NaN())
}

func sampleLogs() plog.Logs {
	logs := plog.NewLogs()
	rl := logs.ResourceLogs().AppendEmpty()
	sl := rl.ScopeLogs().AppendEmpty()
	fillResource(rl.Resource(), sl.Scope())
	rl.SetSchemaUrl("https://example/r")
	sl.SetSchemaUrl("https://example/s")
	r := sl.LogRecords().AppendEmpty()
	r.SetTimestamp(at(-time.Minute) + 123)
	r.SetObservedTimestamp(at(-time.Minute) + 456)
	r.SetSeverityNumber(plog.SeverityNumberError)
	r.SetSeverityText("ERROR")
	r.SetTraceID(pcommon.TraceID{0xab, 15: 1})
	r.SetSpanID(pcommon.SpanID{0xcd, 7: 2})
	r.SetFlags(257)
	r.SetEventName("qa.event")
	r.SetDroppedAttributesCount(2)
	body := r.Body().SetEmptyMap()
	body.PutStr("k.with.dots", "v")
	list := body.PutEmptySlice("list")
	list.AppendEmpty().SetInt(math.MaxInt64)
	list.AppendEmpty()
	list.AppendEmpty().SetEmptyBytes().FromRaw([]byte{0, 0xff})
	a := r.Attributes()
	a.PutStr("str", "a\"\\\n\x1b\u2028é\u009b")
	a.PutStr("empty string", "")
	a.PutInt("int", math.MinInt64)
	a.PutDouble("double", 0.1)
	a.PutDouble("negative zero", math.Copysign(0, -1))
	a.PutDouble("infinite", math.Inf(-1))
	a.PutBool("bool", false)
	a.PutEmptyBytes("bytes").FromRaw([]byte{0xde, 0xad})
	a.PutEmpty("none")
	a.PutEmptySlice("no list")
	a.PutEmptyMap("no map")
	second := sl.LogRecords().AppendEmpty()
	second.SetTimestamp(at(-30 * time.Second))
	second.Body().SetInt(5)
	plain := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	plain.SetTimestamp(at(-2 * time.Hour))
	plain.Body().SetStr("hello")
	return logs
}

func sampleTraces() ptrace.Traces {
	traces := ptrace.NewTraces()
	rs := traces.ResourceSpans().AppendEmpty()
	ss := rs.ScopeSpans().AppendEmpty()
	fillResource(rs.Resource(), ss.Scope())
	s := ss.Spans().AppendEmpty()
	s.SetTraceID(pcommon.TraceID{0xab, 15: 1})
	s.SetSpanID(pcommon.SpanID{7: 2})
	s.SetParentSpanID(pcommon.SpanID{7: 1})
	s.TraceState().FromRaw("a=b")
	s.SetFlags(769)
	s.SetName("GET /")
	s.SetKind(ptrace.SpanKindServer)
	s.SetStartTimestamp(at(-time.Minute))
	s.SetEndTimestamp(at(-time.Minute) + 5)
	s.Status().SetCode(ptrace.StatusCodeError)
	s.Status().SetMessage("boom")
	s.Attributes().PutStr("http.route", "/")
	s.SetDroppedAttributesCount(1)
	s.SetDroppedEventsCount(2)
	s.SetDroppedLinksCount(3)
	e := s.Events().AppendEmpty()
	e.SetName("exception")
	e.SetTimestamp(at(-time.Minute) + 1)
	e.Attributes().PutInt("n", 3)
	s.Events().AppendEmpty()
	l := s.Links().AppendEmpty()
	l.SetTraceID(pcommon.TraceID{15: 9})
	l.SetSpanID(pcommon.SpanID{7: 8})
	l.TraceState().FromRaw("c=d")
	l.SetFlags(1)
	l.Attributes().PutStr("why", "retry")
	root := ss.Spans().AppendEmpty()
	root.SetTraceID(pcommon.TraceID{0xab, 15: 1})
	root.SetSpanID(pcommon.SpanID{7: 1})
	root.SetStartTimestamp(at(-61 * time.Second))
	other := ss.Spans().AppendEmpty()
	other.SetTraceID(pcommon.TraceID{15: 0x77})
	other.SetSpanID(pcommon.SpanID{7: 5})
	other.SetStartTimestamp(at(-50 * time.Second))
	return traces
}

func sampleMetrics() pmetric.Metrics {
	metrics := pmetric.NewMetrics()
	rm := metrics.ResourceMetrics().AppendEmpty()
	sm := rm.ScopeMetrics().AppendEmpty()
	fillResource(rm.Resource(), sm.Scope())
	add := func(name string) pmetric.Metric {
		m := sm.Metrics().AppendEmpty()
		m.SetName(name)
		m.SetUnit("1")
		return m
	}
	g := add("gauge")
	g.SetDescription("what it is")
	g.Metadata().PutInt("meta", 1)
	p := g.SetEmptyGauge().DataPoints().AppendEmpty()
	p.SetTimestamp(at(-5 * time.Minute))
	p.SetDoubleValue(math.NaN())
	p.SetFlags(pmetric.DefaultDataPointFlags.WithNoRecordedValue(true))
	p = g.Gauge().DataPoints().AppendEmpty() // a point without a value
	p.SetTimestamp(at(-5*time.Minute) + 1)
	p.Attributes().PutStr("a", "b")
	s := add("sum").SetEmptySum()
	s.SetIsMonotonic(true)
	s.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	p = s.DataPoints().AppendEmpty()
	p.SetTimestamp(at(-4 * time.Minute))
	p.SetStartTimestamp(at(-time.Hour))
	p.SetIntValue(0)
	x := p.Exemplars().AppendEmpty()
	x.SetTimestamp(at(-4 * time.Minute))
	x.SetDoubleValue(1.25)
	x.SetTraceID(pcommon.TraceID{15: 9})
	x.SetSpanID(pcommon.SpanID{7: 8})
	x.FilteredAttributes().PutStr("trace_id", "user value")
	h := add("histogram").SetEmptyHistogram().DataPoints().AppendEmpty()
	h.SetTimestamp(at(-3 * time.Minute))
	h.SetCount(math.MaxUint64)
	h.SetSum(0)
	h.SetMax(2)
	h.BucketCounts().FromRaw([]uint64{1, 0, math.MaxUint64 - 1})
	h.ExplicitBounds().FromRaw([]float64{0.5, math.Inf(1)})
	e := add("exponential").SetEmptyExponentialHistogram().DataPoints().AppendEmpty()
	e.SetTimestamp(at(-2 * time.Minute))
	e.SetScale(-3)
	e.SetZeroThreshold(0.25)
	e.Positive().SetOffset(-2)
	e.Positive().BucketCounts().FromRaw([]uint64{300, 0, 1 << 40})
	q := add("summary").SetEmptySummary().DataPoints().AppendEmpty()
	q.SetTimestamp(at(-time.Minute))
	q.SetCount(3)
	q.SetSum(math.Inf(1))
	v := q.QuantileValues().AppendEmpty()
	v.SetValue(1)
	v = q.QuantileValues().AppendEmpty()
	v.SetQuantile(1)
	v.SetValue(math.NaN())
	return metrics
}

// serve answers from a source at noon.
func serve(s query.Source) http.Handler {
	return New(Options{Source: s, Now: func() time.Time { return noon }})
}

// get asks for path with pairs of parameter and value.
func get(h http.Handler, accept, path string, pairs ...string) *http.Response {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	r := httptest.NewRequest(http.MethodGet, path+"?"+v.Encode(), nil)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t testing.TB, res *http.Response) []byte {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// document is an answer in JSON.
type document struct {
	Rows  []map[string]any
	Next  string
	Stats query.Stats
}

func decode(t testing.TB, res *http.Response) (d document) {
	t.Helper()
	b := bodyOf(t, res)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("got %s: %s", res.Status, b)
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return d
}
