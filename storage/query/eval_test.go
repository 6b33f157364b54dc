package query

import (
	"math"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"mira/storage/column"
	"mira/storage/signal"
)

func logsPayload(t testing.TB, logs plog.Logs) []byte {
	t.Helper()
	b, err := plogotlp.NewExportRequestFromLogs(logs).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sampleLogs has two records: one with everything, one with nothing.
func sampleLogs(t testing.TB) *column.Builder { return sampleLogsIn(t, column.Options{}) }

func sampleLogsIn(t testing.TB, o column.Options) *column.Builder {
	logs := plog.NewLogs()
	rl := logs.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("service.name", "checkout")
	sl := rl.ScopeLogs().AppendEmpty()
	sl.Scope().SetName("lib")
	sl.Scope().Attributes().PutInt("n", 3)
	full := sl.LogRecords().AppendEmpty()
	full.SetTimestamp(math.MaxUint64)
	full.SetObservedTimestamp(5)
	full.SetSeverityNumber(plog.SeverityNumberError)
	full.SetSeverityText("ERROR")
	full.Body().SetStr("upstream timed out")
	full.SetTraceID(pcommon.TraceID{0xab, 15: 0x01})
	full.SetSpanID(pcommon.SpanID{0xcd, 7: 0x02})
	full.SetFlags(1)
	full.SetEventName("qa.event")
	a := full.Attributes()
	a.PutStr("str", "")
	a.PutInt("int", 42)
	a.PutDouble("dbl", 42)
	a.PutDouble("nan", math.NaN())
	a.PutBool("yes", true)
	a.PutEmptyBytes("raw").FromRaw([]byte{0xde, 0xad})
	a.PutEmpty("empty")
	m := a.PutEmptyMap("map")
	m.PutStr("k", "v")
	m.PutEmptySlice("list").AppendEmpty().SetInt(7)
	a.PutInt("max", math.MaxInt64)
	a.PutStr(`sp ace "q" \ /`, "odd")
	sl.LogRecords().AppendEmpty()
	b := column.NewBuilder(signal.Logs, o)
	b.Append(logsPayload(t, logs), 1)
	return b
}

// On both rows of sampleLogs: what is true of the full record and of the empty one.
var logConditions = []struct {
	text        string
	full, empty bool
}{
	{`body == "upstream timed out"`, true, false},
	{`body == nil`, false, true},
	{`body != nil`, true, false},
	{`IsMatch(body, "time.*out")`, true, false},
	{`IsMatch(body, "^nope|out$")`, true, false},
	{`not IsMatch(body, "time.*out")`, false, true},
	{`HasPrefix(body, "up") and HasSuffix(body, "out")`, true, false},
	{`severity_number >= 17`, true, false},
	{`severity_number == SEVERITY_NUMBER_ERROR`, true, false},
	{`severity_number == 0`, false, true},
	{`severity_number < 17.5`, true, true},
	{`severity_number == nil`, false, true},
	{`severity_number > "1"`, false, false},
	{`severity_number != "17"`, true, true},
	{`severity_text == ""`, false, true},
	{`severity_text != nil`, true, false},
	{`time_unix_nano == 18446744073709551615`, true, false},
	{`time_unix_nano > 9223372036854775807`, true, false},
	{`observed_time_unix_nano == 5`, true, false},
	{`flags == 1`, true, false},
	{`event_name == "qa.event"`, true, false},
	{`trace_id == TraceID(0xab000000000000000000000000000001)`, true, false},
	{`trace_id == "AB000000000000000000000000000001"`, true, false},
	{`"ab000000000000000000000000000001" == trace_id`, true, false},
	{`trace_id == 0xab000000000000000000000000000001`, true, false},
	{`trace_id == TraceID(0x00000000000000000000000000000000)`, false, true},
	{`trace_id == "00000000000000000000000000000000"`, false, false},
	{`trace_id != nil`, true, false},
	{`trace_id < 1`, false, false},
	{`span_id == SpanID(0xcd00000000000002)`, true, false},
	{`span_id.string == "cd00000000000002"`, true, false},
	{`IsMatch(span_id, "^cd")`, true, false},
	{`resource.attributes["service.name"] == "checkout"`, true, true},
	{`resource.attributes["none"] == nil`, true, true},
	{`scope.name == "lib" and instrumentation_scope.attributes["n"] == 3`, true, true},
	{`attributes["str"] == ""`, true, false},
	{`attributes["str"] != nil`, true, false},
	{`attributes["other"] == nil`, true, true},
	{`attributes["int"] == 42 and attributes["int"] == 42.0`, true, false},
	{`attributes["dbl"] == 42`, true, false},
	{`attributes["int"] == attributes["dbl"]`, true, true}, // nil equals nil in the other
	{`attributes["int"] == "42"`, false, false},
	{`attributes["int"] < "43"`, false, false},
	{`attributes["nan"] == attributes["nan"]`, false, true},
	{`attributes["nan"] >= 0`, false, false},
	{`attributes["nan"] != 0`, true, true},
	{`attributes["yes"] == true`, true, false},
	{`attributes["yes"] > false`, true, false},
	{`attributes["raw"] == 0xdead`, true, false},
	{`attributes["empty"] == nil`, true, true},
	{`attributes["map"]["k"] == "v"`, true, false},
	{`attributes["map"]["list"][0] == 7`, true, false},
	{`attributes["map"]["list"][1] == nil`, true, true},
	{`attributes["map"][0] == nil`, true, true},
	{`attributes["map"] != nil and IsMap(attributes["map"])`, true, false},
	{`IsMatch(attributes["map"], "\"k\":\"v\"")`, true, false},
	{`Len(attributes["map"]) == 2 and Len(attributes["raw"]) == 2 and Len(body) == 18`, true, false},
	{`attributes["max"] == 9223372036854775807`, true, false},
	{`attributes["max"] < 9223372036854775808`, true, false},
	{`attributes["sp ace \"q\" \\ /"] == "odd"`, true, false},
	{`IsInt(attributes["int"]) and IsDouble(attributes["dbl"]) and IsBool(attributes["yes"]) and IsString(body)`, true, false},
	{`Int("17") <= severity_number and Double(attributes["int"]) == 42.0 and String(attributes["int"]) == "42"`, true, false},
	{`ToLowerCase(severity_text) == "error"`, true, false},
	{`dropped_attributes_count == 0`, true, true},
	{`true`, true, true},
	{`false or not false and severity_number > 0`, true, false},
}

func TestConditionsHoldAsOTTLSays(t *testing.T) {
	for name, o := range map[string]column.Options{
		"columns": {}, "overflow": {MaxColumns: 1}, "plain strings": {DictMax: 1},
	} {
		table := sampleLogsIn(t, o).Table()
		for _, c := range logConditions {
			f, err := ParseFilter(signal.Logs, c.text)
			if err != nil {
				t.Errorf("%s: %v", c.text, err)
				continue
			}
			accepts := f.bind(table)
			if got := [2]bool{accepts.at(0), accepts.at(1)}; got != [2]bool{c.full, c.empty} {
				t.Errorf("%s: %s: got %v, want %v", name, c.text, got, [2]bool{c.full, c.empty})
			}
		}
	}
}

func TestConditionsFindInvalidTextAsItIsShown(t *testing.T) {
	logs := plog.NewLogs()
	rl := logs.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("k\xff", "v\xfe")
	r := rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	r.Body().SetStr("bo\xffdy")
	r.SetSeverityText("\xc0")
	b := column.NewBuilder(signal.Logs, column.Options{})
	b.Append(logsPayload(t, logs), 1)
	for _, text := range []string{
		`body == "bo` + "\uFFFD" + `dy"`, `severity_text == "\uFFFD"`, `resource.attributes["k\uFFFD"] == "v\uFFFD"`,
	} {
		f, err := ParseFilter(signal.Logs, text)
		if err != nil {
			t.Fatal(err)
		}
		if !f.bind(b.Table()).at(0) {
			t.Errorf("%s: got false, want true", text)
		}
	}
}

func TestSpanConditions(t *testing.T) {
	traces := ptrace.NewTraces()
	s := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetName("GET /")
	s.SetKind(ptrace.SpanKindServer)
	s.SetSpanID(pcommon.SpanID{1})
	s.Status().SetCode(ptrace.StatusCodeError)
	s.Status().SetMessage("bo\xff")
	s.SetStartTimestamp(10)
	s.SetEndTimestamp(7)
	payload, err := ptraceotlp.NewExportRequestFromTraces(traces).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	b := column.NewBuilder(signal.Traces, column.Options{})
	b.Append(payload, 1)
	expect(t, signal.Traces, b.Table(), map[string]bool{
		`IsRootSpan()`: true, `name == "GET /" and span.kind == SPAN_KIND_SERVER`: true,
		`status.code == STATUS_CODE_ERROR`: true, `status.message == "bo\uFFFD"`: true,
		`duration == -3`: true, `duration > 0`: false, `end_time_unix_nano < start_time_unix_nano`: true,
	})
}

func TestPointConditions(t *testing.T) {
	metrics := pmetric.NewMetrics()
	m := metrics.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName("lat")
	m.SetUnit("ms")
	h := m.SetEmptyHistogram()
	h.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	p := h.DataPoints().AppendEmpty()
	p.SetTimestamp(3)
	p.SetCount(math.MaxUint64)
	p.SetSum(0)
	p.Attributes().PutStr("route", "/a")
	p.Attributes().PutStr("zone", "b")
	payload, err := pmetricotlp.NewExportRequestFromMetrics(metrics).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	for _, columns := range []int{0, 1} {
		b := column.NewBuilder(signal.Metrics, column.Options{MaxColumns: columns})
		b.Append(payload, 1)
		expect(t, signal.Metrics, b.Table(), map[string]bool{
			`metric.name == "lat" and metric.unit == "ms"`: true, `metric.type == METRIC_DATA_TYPE_HISTOGRAM`: true,
			`metric.aggregation_temporality == AGGREGATION_TEMPORALITY_DELTA`: true,
			`count == 18446744073709551615`:                                   true, `sum == 0 and sum != nil`: true, `min == nil`: true,
			`value_int == nil`: true, `attributes["route"] == "/a" and datapoint.attributes["zone"] == "b"`: true,
		})
	}
}

func expect(t *testing.T, s signal.Signal, table *column.Table, conditions map[string]bool) {
	t.Helper()
	for text, want := range conditions {
		f, err := ParseFilter(s, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := f.bind(table).at(0); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}
