package block

import (
	"bytes"
	"fmt"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"mira/storage/column"
	"mira/storage/signal"
)

const otlpAt = 1_796_074_200_000_000_000

// attributes puts a value of every kind into a map.
func attributes(m pcommon.Map, i int) {
	m.PutStr("http.request.method", []string{"GET", "PUT"}[i%2])
	m.PutInt("http.status", int64(200+i%300))
	m.PutDouble("load", float64(i)/7)
	m.PutBool("cached", i%3 == 0)
	m.PutEmptyBytes("digest").FromRaw([]byte{byte(i), 0xFF})
	m.PutEmptySlice("tags").AppendEmpty().SetInt(int64(i))
	if i%5 == 0 {
		m.PutEmpty("nothing")
		m.PutStr("http.status", "two hundred") // now of another kind
	}
}

// logs returns an Export request with n log records.
func logs(t *testing.T, n int) []byte {
	t.Helper()
	all := plog.NewLogs()
	for r := range 2 {
		resource := all.ResourceLogs().AppendEmpty()
		resource.Resource().Attributes().PutStr("service.name", fmt.Sprint("shop-", r))
		scope := resource.ScopeLogs().AppendEmpty()
		scope.Scope().SetName("test")
		for i := range n / 2 {
			rec := scope.LogRecords().AppendEmpty()
			rec.SetTimestamp(pcommon.Timestamp(otlpAt + i))
			rec.SetObservedTimestamp(pcommon.Timestamp(otlpAt + 2*i))
			rec.SetSeverityNumber(plog.SeverityNumber(i % 25))
			rec.Body().SetStr(fmt.Sprintf("order %d was paid", i))
			if i%4 == 0 {
				rec.Body().SetEmptyMap().PutStr("order", "paid")
			}
			rec.SetTraceID([16]byte{1, byte(i)})
			attributes(rec.Attributes(), i)
		}
	}
	b, err := (&plog.ProtoMarshaler{}).MarshalLogs(all)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// traces returns an Export request with n spans.
func traces(t *testing.T, n int) []byte {
	t.Helper()
	all := ptrace.NewTraces()
	scope := all.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	for i := range n {
		span := scope.Spans().AppendEmpty()
		span.SetName("pay")
		span.SetTraceID([16]byte{2, byte(i)})
		span.SetSpanID([8]byte{byte(i), 7})
		span.SetStartTimestamp(pcommon.Timestamp(otlpAt + i))
		span.SetEndTimestamp(pcommon.Timestamp(otlpAt + 100*i))
		span.Status().SetCode(ptrace.StatusCode(i % 3))
		attributes(span.Attributes(), i)
		for e := range i % 4 {
			event := span.Events().AppendEmpty()
			event.SetName(fmt.Sprint("retry ", e))
			event.SetTimestamp(pcommon.Timestamp(otlpAt + e))
			attributes(event.Attributes(), e)
			link := span.Links().AppendEmpty()
			link.SetTraceID([16]byte{3, byte(e)})
			link.SetSpanID([8]byte{4})
		}
	}
	b, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(all)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// metrics returns an Export request with n data points of every kind.
func metrics(t *testing.T, n int) []byte {
	t.Helper()
	all := pmetric.NewMetrics()
	list := all.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	gauge, sum, hist, exp, summary := list.AppendEmpty(), list.AppendEmpty(), list.AppendEmpty(), list.AppendEmpty(), list.AppendEmpty()
	for i, m := range []pmetric.Metric{gauge, sum, hist, exp, summary} {
		m.SetName(fmt.Sprint("metric.", i))
		m.SetUnit("s")
	}
	sum.SetEmptySum().SetIsMonotonic(true)
	sum.Sum().SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	hist.SetEmptyHistogram().SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	exp.SetEmptyExponentialHistogram()
	summary.SetEmptySummary()
	gauge.SetEmptyGauge()
	for i := range n {
		at := pcommon.Timestamp(otlpAt + i)
		g := gauge.Gauge().DataPoints().AppendEmpty()
		g.SetTimestamp(at)
		g.SetDoubleValue(float64(i) / 3)
		attributes(g.Attributes(), i)
		s := sum.Sum().DataPoints().AppendEmpty()
		s.SetTimestamp(at)
		s.SetIntValue(int64(i) << 40)
		x := s.Exemplars().AppendEmpty()
		x.SetIntValue(int64(i))
		attributes(x.FilteredAttributes(), i)
		h := hist.Histogram().DataPoints().AppendEmpty()
		h.SetTimestamp(at)
		h.SetCount(uint64(i))
		h.BucketCounts().FromRaw([]uint64{uint64(i), 1 << 63})
		h.ExplicitBounds().FromRaw([]float64{0.5})
		e := exp.ExponentialHistogram().DataPoints().AppendEmpty()
		e.SetTimestamp(at)
		e.SetScale(int32(i - 3))
		e.Positive().BucketCounts().FromRaw([]uint64{1, 2, uint64(i)})
		y := summary.Summary().DataPoints().AppendEmpty()
		y.SetTimestamp(at)
		q := y.QuantileValues().AppendEmpty()
		q.SetQuantile(0.5)
		q.SetValue(float64(i))
	}
	b, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(all)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOTLPComesBackOutOfABlock(t *testing.T) {
	const n = 200
	for s, payload := range map[signal.Signal][]byte{
		signal.Logs: logs(t, n), signal.Traces: traces(t, n), signal.Metrics: metrics(t, n),
	} {
		t.Run(s.String(), func(t *testing.T) {
			b := column.NewBuilder(s, column.Options{})
			b.Append(payload, otlpAt)
			b.Append(payload, otlpAt)
			table := b.Table()
			o := Options{GroupRows: 64}
			arrowReads(t, table, o)

			mem, i := publish(t, table, o)
			r := open(t, mem, i)
			from := 0
			for g := range r.Groups() {
				got, err := r.Group(g, nil)
				if err != nil {
					t.Fatal(err)
				}
				here := counting(got.Rows, func(i int) int { return i })
				there := counting(got.Rows, func(i int) int { return from + i })
				if !bytes.Equal(got.AppendRequest(nil, s, here, false), table.AppendRequest(nil, s, there, false)) {
					t.Errorf("group %d is another request than its rows of the table", g)
				}
				from += got.Rows
			}
			if from != table.Rows || from < 2*n {
				t.Errorf("got %d rows, want %d", from, table.Rows)
			}
		})
	}
}
