package column

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"mira/storage/otlp"
	"mira/storage/signal"
)

func str(s string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: s}}
}

func integer(i int64) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: i}}
}

func double(f float64) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: f}}
}

func boolean(b bool) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: b}}
}

func array(v ...*commonpb.AnyValue) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: &commonpb.ArrayValue{Values: v}}}
}

func attr(key string, v *commonpb.AnyValue) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: v}
}

// logs is a request with these records in one scope.
func logs(records ...*logspb.LogRecord) *logspb.LogsData {
	return &logspb.LogsData{ResourceLogs: []*logspb.ResourceLogs{{ScopeLogs: []*logspb.ScopeLogs{{LogRecords: records}}}}}
}

func withAttrs(kvs ...*commonpb.KeyValue) *logspb.LogRecord {
	return &logspb.LogRecord{TimeUnixNano: 1, Attributes: kvs}
}

func metric(m *metricspb.Metric) *metricspb.MetricsData {
	return &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{ScopeMetrics: []*metricspb.ScopeMetrics{{Metrics: []*metricspb.Metric{m}}}}}}
}

func histograms(p ...*metricspb.HistogramDataPoint) *metricspb.MetricsData {
	return metric(&metricspb.Metric{Name: "h", Data: &metricspb.Metric_Histogram{Histogram: &metricspb.Histogram{DataPoints: p}}})
}

func numbers(p ...*metricspb.NumberDataPoint) *metricspb.MetricsData {
	return metric(&metricspb.Metric{Name: "g", Data: &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: p}}})
}

func signalOf(m proto.Message) signal.Signal {
	switch m.(type) {
	case *logspb.LogsData:
		return signal.Logs
	case *tracepb.TracesData:
		return signal.Traces
	default:
		return signal.Metrics
	}
}

func deep(n int) *commonpb.AnyValue {
	v := str("bottom")
	for i := range n {
		if i%2 == 0 {
			v = array(v)
		} else {
			v = &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{Values: []*commonpb.KeyValue{attr("k", v)}}}}
		}
	}
	return v
}

func manyKeys(n int) (kvs []*commonpb.KeyValue) {
	for i := range n {
		kvs = append(kvs, attr(fmt.Sprintf("key.%05d", i), integer(int64(i))))
	}
	return kvs
}

func oddities() map[string]proto.Message {
	zero, nan := 0.0, math.Float64frombits(0x7ff4000000000bad)
	ids := func(n int) []byte { return make([]byte, n) }
	return map[string]proto.Message{
		"a key twice":                     logs(withAttrs(attr("k", str("first")), attr("k", str("second")), attr("k", integer(3)))),
		"a key twice with another type":   logs(withAttrs(attr("k", str("s"))), withAttrs(attr("k", integer(1)), attr("k", str("s")))),
		"an attribute without a value":    logs(withAttrs(attr("k", nil)), withAttrs(attr("k", str("v")))),
		"an attribute with no value set":  logs(withAttrs(attr("k", &commonpb.AnyValue{}))),
		"an empty key":                    logs(withAttrs(attr("", str("v")), attr("", nil))),
		"a key longer than a column name": logs(withAttrs(attr(strings.Repeat("k", maxKey+1), str("v")))),
		"types that change":               logs(withAttrs(attr("k", str(""))), withAttrs(attr("k", integer(0))), withAttrs(attr("k", boolean(false))), withAttrs(attr("k", double(0))), withAttrs(attr("k", array()))),
		"more keys than columns":          logs(withAttrs(manyKeys(10_000)...), withAttrs(manyKeys(10_000)...)),
		"64 levels of values":             logs(withAttrs(attr("k", deep(64))), &logspb.LogRecord{Body: deep(64)}),
		"bodies of every kind":            logs(&logspb.LogRecord{}, &logspb.LogRecord{Body: &commonpb.AnyValue{}}, &logspb.LogRecord{Body: str("")}, &logspb.LogRecord{Body: integer(0)}, &logspb.LogRecord{Body: array(str("x"), nil)}),
		"doubles to the bit":              logs(withAttrs(attr("a", double(nan)), attr("b", double(math.Copysign(0, -1))), attr("c", double(math.Inf(1))))),
		"the largest of everything":       logs(&logspb.LogRecord{TimeUnixNano: math.MaxUint64, ObservedTimeUnixNano: math.MaxUint64, SeverityNumber: math.MinInt32, Flags: math.MaxUint32, DroppedAttributesCount: math.MaxUint32, Attributes: []*commonpb.KeyValue{attr("min", integer(math.MinInt64))}}),
		"ids of zeros":                    logs(&logspb.LogRecord{TraceId: ids(16), SpanId: ids(8)}, &logspb.LogRecord{TraceId: bytes.Repeat([]byte{1}, 16)}),
		"entity references":               &logspb.LogsData{ResourceLogs: []*logspb.ResourceLogs{{Resource: &resourcepb.Resource{EntityRefs: []*commonpb.EntityRef{{Type: "service", IdKeys: []string{"service.name"}}}}, ScopeLogs: []*logspb.ScopeLogs{{LogRecords: []*logspb.LogRecord{{}, {}}}}}}},
		"envelopes without records":       &logspb.LogsData{ResourceLogs: []*logspb.ResourceLogs{{Resource: &resourcepb.Resource{DroppedAttributesCount: 3}, SchemaUrl: "u", ScopeLogs: []*logspb.ScopeLogs{{SchemaUrl: "v"}, {Scope: &commonpb.InstrumentationScope{Name: "s"}, LogRecords: []*logspb.LogRecord{{EventName: "e"}}}, {}}}, {}}},
		"an empty span": &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{
			{},
			{Status: &tracepb.Status{}, Events: []*tracepb.Span_Event{{}, {Attributes: []*commonpb.KeyValue{attr("k", nil), attr("", &commonpb.AnyValue{}), attr("k", boolean(false))}}}, Links: []*tracepb.Span_Link{{}}},
			{Kind: 99, Status: &tracepb.Status{Code: -7}, Flags: math.MaxUint32, StartTimeUnixNano: 9, EndTimeUnixNano: 3},
		}}}}}},
		"numbers with and without a value": numbers(&metricspb.NumberDataPoint{}, &metricspb.NumberDataPoint{Value: &metricspb.NumberDataPoint_AsInt{}}, &metricspb.NumberDataPoint{Value: &metricspb.NumberDataPoint_AsDouble{}}, &metricspb.NumberDataPoint{Flags: 1}),
		"histograms without buckets":       histograms(&metricspb.HistogramDataPoint{}, &metricspb.HistogramDataPoint{Sum: &zero, Min: &zero, Max: &nan}, &metricspb.HistogramDataPoint{Count: math.MaxUint64, BucketCounts: []uint64{0, math.MaxUint64}}),
		"an exponential histogram": metric(&metricspb.Metric{Data: &metricspb.Metric_ExponentialHistogram{ExponentialHistogram: &metricspb.ExponentialHistogram{AggregationTemporality: 7, DataPoints: []*metricspb.ExponentialHistogramDataPoint{
			{Scale: math.MinInt32, Positive: &metricspb.ExponentialHistogramDataPoint_Buckets{Offset: math.MaxInt32, BucketCounts: []uint64{0, 0, 300}}, Negative: &metricspb.ExponentialHistogramDataPoint_Buckets{Offset: math.MinInt32}},
		}}}}),
		"a summary of NaN":      metric(&metricspb.Metric{Data: &metricspb.Metric_Summary{Summary: &metricspb.Summary{DataPoints: []*metricspb.SummaryDataPoint{{Sum: nan, QuantileValues: []*metricspb.SummaryDataPoint_ValueAtQuantile{{}, {Quantile: nan, Value: nan}}}}}}}),
		"a metric without data": metric(&metricspb.Metric{Name: "none"}),
	}
}

func TestOddDataComesBack(t *testing.T) {
	for name, m := range oddities() {
		t.Run(name, func(t *testing.T) {
			s, b := signalOf(m), []byte(wire(m))
			checkRoundTrip(t, s, build(t, s, Options{}, b, b), append(records(m), records(m)...), asItIs)
		})
	}
}

// TestRepeatedFieldsMerge checks the forms of one message in several pieces, by what protobuf
// makes of them.
func TestRepeatedFieldsMerge(t *testing.T) {
	field := func(n int, parts ...string) string { return string(otlp.AppendBytes(nil, n, strings.Join(parts, ""))) }
	body := func(v ...*commonpb.AnyValue) (b string) {
		for _, v := range v {
			b += field(5, wire(v))
		}
		return b
	}
	inLog := func(fields string) string { return field(1, field(2, field(2, fields))) }
	inMetric := func(fields string) string { return field(1, field(2, field(2, fields))) }
	point := field(1, wire(&metricspb.NumberDataPoint{TimeUnixNano: 5}))
	for name, f := range map[string]struct {
		s signal.Signal
		b string
	}{
		"bodies: the last string":   {signal.Logs, inLog(body(str("a"), str("b")))},
		"bodies: arrays join":       {signal.Logs, inLog(body(array(str("a")), array(str("b"))))},
		"bodies: another kind":      {signal.Logs, inLog(body(array(str("a")), str("b"), array(str("c"))))},
		"bodies: back to a string":  {signal.Logs, inLog(body(array(str("a")), str("b")))},
		"a value, then its default": {signal.Logs, inLog("\x10\x05\x10\x00" + field(3, "warn") + field(3))},
		"resources join":            {signal.Logs, field(1, field(1, wire(&resourcepb.Resource{Attributes: manyKeys(1)})), field(2, field(2)), field(1, wire(&resourcepb.Resource{Attributes: manyKeys(2)[1:]})))},
		"scopes join":               {signal.Logs, field(1, field(2, field(1, field(1, "name")), field(2), field(1, field(2, "v1")), field(1, field(1, "other"))))},
		"schema URLs: the last":     {signal.Logs, field(1, field(3, "a"), field(2, field(2), field(3, "b"), field(3, "c")), field(3, "d"))},
		"values of an attribute":    {signal.Logs, inLog(field(6, field(1, "k"), field(1, "key"), field(2, wire(array(str("a")))), field(2, wire(array(str("b"))))))},
		"statuses join":             {signal.Traces, inLog(field(15, "\x18\x02") + field(15, field(2, "message")))},
		"data of a metric joins":    {signal.Metrics, inMetric(field(7, point) + field(7, "\x18\x01") + field(7, "\x10\x02", point))},
		"the last kind of data":     {signal.Metrics, inMetric(field(7, point) + field(5, point) + field(7, "\x18\x01", point, point))},
		"the last number":           {signal.Metrics, inMetric(field(5, field(1, "\x21abcdefgh\x31abcdefgh"), field(1, "\x31abcdefgh\x21abcdefgh")))},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := decode(f.s, []byte(f.b))
			if err != nil {
				t.Fatal(err)
			}
			if len(records(m)) == 0 {
				t.Fatal("no records")
			}
			checkRoundTrip(t, f.s, build(t, f.s, Options{}, []byte(f.b)), records(m), asItIs)
		})
	}
}

func TestColumnsAreNamedAndTyped(t *testing.T) {
	table := build(t, signal.Logs, Options{},
		[]byte(wire(logs(
			withAttrs(attr("a", str("x")), attr("a:int", str("y"))),
			withAttrs(attr("a", integer(1))),
			withAttrs(attr("a", boolean(true)), attr("b", double(1)), attr("c", array())),
		))))
	for name, want := range map[string]Column{
		"attributes.a":       {Kind: KindString, Key: "a", Type: String},
		"attributes.a:int":   {Kind: KindString, Key: "a:int", Type: String},
		"attributes.a:int:2": {Kind: KindInt, Key: "a", Type: Int},
		"attributes.a:bool":  {Kind: KindBool, Key: "a", Type: Bool},
		"attributes.b":       {Kind: KindDouble, Key: "b", Type: Double},
		"attributes.c":       {Kind: KindAny, Key: "c", Type: Bytes},
		"time_unix_nano":     {Kind: KindField, Type: Time},
	} {
		c := table.Column(name)
		if c == nil {
			t.Errorf("no column %s", name)
		} else if c.Level != LevelRecord || c.Kind != want.Kind || c.Key != want.Key || c.Type != want.Type {
			t.Errorf("%s: level %d, kind %d, key %q, type %d", name, c.Level, c.Kind, c.Key, c.Type)
		}
	}
	if n := len(table.Columns); n != 7 {
		t.Errorf("%d columns, want 7", n)
	}
}

func TestKeysBeyondTheCapGoToOverflow(t *testing.T) {
	b := NewBuilder(signal.Logs, Options{MaxColumns: 10})
	m := logs(withAttrs(manyKeys(9)...))
	b.Append([]byte(wire(m)), 0)
	if b.FullColumns() {
		t.Error("full with 9 of 10 columns")
	}
	m2 := logs(withAttrs(manyKeys(12)...))
	b.Append([]byte(wire(m2)), 0)
	if !b.FullColumns() {
		t.Error("not full with 10 of 10 columns")
	}
	table := b.Table()
	over := table.Column("overflow")
	if over == nil || !over.Null(0) || over.Null(1) {
		t.Fatalf("overflow is %+v", over)
	}
	checkRoundTrip(t, signal.Logs, table, append(records(m), records(m2)...), asItIs)
}

func TestARecordWithoutATimeGetsAPlaceInTime(t *testing.T) {
	span := func(start, end uint64) *tracepb.TracesData {
		return &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{StartTimeUnixNano: start, EndTimeUnixNano: end}}}}}}}
	}
	for _, f := range []struct {
		m    proto.Message
		want uint64
	}{
		{logs(&logspb.LogRecord{TimeUnixNano: 5, ObservedTimeUnixNano: 6}), 5},
		{logs(&logspb.LogRecord{ObservedTimeUnixNano: 6}), 6},
		{logs(&logspb.LogRecord{}), 77},
		{logs(&logspb.LogRecord{TimeUnixNano: math.MaxUint64}), math.MaxUint64},
		{span(5, 6), 5},
		{span(0, 6), 6},
		{span(0, 0), 77},
		{numbers(&metricspb.NumberDataPoint{TimeUnixNano: 5}), 5},
		{numbers(&metricspb.NumberDataPoint{StartTimeUnixNano: 5}), 77},
	} {
		s := signalOf(f.m)
		table := build(t, s, Options{}, []byte(wire(f.m)))
		if got := table.Times(s).At(0); got != f.want {
			t.Errorf("%v: %d, want %d", f.m, got, f.want)
		}
		if own := table.Column(OwnTimeName(s)); own != nil && table.Column(TimeName) != nil {
			t.Errorf("%v: two times", f.m)
		}
	}
}

func newResource(kvs ...*commonpb.KeyValue) *resourcepb.Resource {
	return &resourcepb.Resource{Attributes: kvs}
}
