package column

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"mira/storage/otlp"
	"mira/storage/signal"
)

// newRequest returns an empty Export request of s; the Data messages look like those on the
// wire.
func newRequest(s signal.Signal) proto.Message {
	switch s {
	case signal.Logs:
		return &logspb.LogsData{}
	case signal.Traces:
		return &tracepb.TracesData{}
	default:
		return &metricspb.MetricsData{}
	}
}

func check(s signal.Signal, b []byte) (int, error) {
	switch s {
	case signal.Logs:
		return otlp.CheckLogs(b)
	case signal.Traces:
		return otlp.CheckTraces(b)
	default:
		return otlp.CheckMetrics(b)
	}
}

// decode is what protobuf makes of a request.
func decode(s signal.Signal, b []byte) (proto.Message, error) {
	m := newRequest(s)
	return m, proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(b, m)
}

// records lists the records of a request, each as the bytes of everything that must be kept: two
// requests say the same if and only if their lists are equal.
func records(m proto.Message) (all []string) {
	switch m := m.(type) {
	case *logspb.LogsData:
		for _, rl := range m.ResourceLogs {
			for _, sl := range rl.ScopeLogs {
				for _, r := range sl.LogRecords {
					all = append(all, record(rl.Resource, rl.SchemaUrl, sl.Scope, sl.SchemaUrl, logRecordBytes(r)))
				}
			}
		}
	case *tracepb.TracesData:
		for _, rs := range m.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					all = append(all, record(rs.Resource, rs.SchemaUrl, ss.Scope, ss.SchemaUrl, spanBytes(s)))
				}
			}
		}
	case *metricspb.MetricsData:
		for _, rm := range m.ResourceMetrics {
			for _, sm := range rm.ScopeMetrics {
				for _, mt := range sm.Metrics {
					for _, p := range pointBytes(mt) {
						all = append(all, record(rm.Resource, rm.SchemaUrl, sm.Scope, sm.SchemaUrl, p))
					}
				}
			}
		}
	}
	return all
}

func record(r *resourcepb.Resource, url string, s *commonpb.InstrumentationScope, scopeURL string, rec string) string {
	return fmt.Sprintf("resource %q %q scope %q %q record %q", resourceBytes(r), url, scopeBytes(s), scopeURL, rec)
}

func resourceBytes(r *resourcepb.Resource) string {
	if r == nil {
		return ""
	}
	r = proto.Clone(r).(*resourcepb.Resource)
	sortAttrs(r.Attributes)
	return wire(r)
}

func scopeBytes(s *commonpb.InstrumentationScope) string {
	if s == nil {
		return ""
	}
	s = proto.Clone(s).(*commonpb.InstrumentationScope)
	sortAttrs(s.Attributes)
	return wire(s)
}

func logRecordBytes(r *logspb.LogRecord) string {
	r = proto.Clone(r).(*logspb.LogRecord)
	sortAttrs(r.Attributes)
	return wire(r)
}

func spanBytes(s *tracepb.Span) string {
	s = proto.Clone(s).(*tracepb.Span)
	sortAttrs(s.Attributes)
	if s.Status != nil && proto.Size(s.Status) == 0 {
		s.Status = nil
	}
	return wire(s)
}

// pointBytes lists a metric's points, each with the metric around it.
func pointBytes(m *metricspb.Metric) (all []string) {
	head := proto.Clone(m).(*metricspb.Metric)
	sortAttrs(head.Metadata)
	add := func(p proto.Message) { all = append(all, wire(head)+"|"+wire(p)) }
	switch d := head.Data.(type) {
	case *metricspb.Metric_Gauge:
		points := cut(&d.Gauge.DataPoints)
		for _, p := range points {
			sortAttrs(p.Attributes)
			add(p)
		}
	case *metricspb.Metric_Sum:
		for _, p := range cut(&d.Sum.DataPoints) {
			sortAttrs(p.Attributes)
			add(p)
		}
	case *metricspb.Metric_Histogram:
		for _, p := range cut(&d.Histogram.DataPoints) {
			sortAttrs(p.Attributes)
			add(p)
		}
	case *metricspb.Metric_ExponentialHistogram:
		for _, p := range cut(&d.ExponentialHistogram.DataPoints) {
			sortAttrs(p.Attributes)
			if p.Positive != nil && proto.Size(p.Positive) == 0 {
				p.Positive = nil
			}
			if p.Negative != nil && proto.Size(p.Negative) == 0 {
				p.Negative = nil
			}
			add(p)
		}
	case *metricspb.Metric_Summary:
		for _, p := range cut(&d.Summary.DataPoints) {
			sortAttrs(p.Attributes)
			add(p)
		}
	}
	return all
}

// cut takes the points out of their message, which then is the same for all of them.
func cut[P any](points *[]P) []P {
	p := *points
	*points = nil
	return p
}

func sortAttrs(kvs []*commonpb.KeyValue) {
	slices.SortFunc(kvs, func(a, b *commonpb.KeyValue) int { return cmp.Compare(wire(a), wire(b)) })
}

func wire(m proto.Message) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// fataler is what testing.T and rapid.T have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// build makes a Table of payloads, after holding them against Check, and checks its structure.
func build(t fataler, s signal.Signal, o Options, payloads ...[]byte) *Table {
	t.Helper()
	b := NewBuilder(s, o)
	want := 0
	for _, p := range payloads {
		n, err := check(s, p)
		if err != nil {
			t.Fatalf("the test's own request is refused: %v", err)
		}
		want += n
		b.Append(p, 77)
	}
	if b.Rows() != want {
		t.Fatalf("%d rows, Check counted %d records", b.Rows(), want)
	}
	table := b.Table()
	checkTable(t, table)
	return table
}

func allRows(t *Table) []int {
	rows := make([]int, t.Rows)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// checkRoundTrip holds a Table against what protobuf reads from the requests it was built from.
// after changes what comes back before it is compared.
func checkRoundTrip(t fataler, s signal.Signal, table *Table, want []string, after func([]byte) []byte) {
	t.Helper()
	got := reread(t, s, after(table.AppendRequest(nil, s, allRows(table), false)))
	if i := difference(got, want); i >= 0 {
		t.Fatalf("%v: record %d of the request (%d, want %d)\n got %s\nwant %s", s, i, len(got), len(want), at(got, i), at(want, i))
	}
	e := table.Encoder(s)
	for row := range table.Rows {
		got := reread(t, s, after(single(e, row)))
		if len(got) != 1 || got[0] != want[row] {
			t.Fatalf("%v: record %d alone\n got %s\nwant %s", s, row, at(got, 0), want[row])
		}
	}
}

// single is a request made from the parts of one row.
func single(e *Encoder, row int) []byte {
	resource, url := e.AppendResource(nil, row, false)
	scope, scopeURL := e.AppendScope(nil, row, false)
	group := otlp.AppendBytes(nil, 1, scope)
	group = otlp.AppendBytes(group, 2, e.AppendRecord(nil, row, false))
	group = otlp.AppendBytes(group, 3, scopeURL)
	req := otlp.AppendBytes(nil, 1, resource)
	req = otlp.AppendBytes(req, 2, group)
	req = otlp.AppendBytes(req, 3, url)
	return otlp.AppendBytes(nil, 1, req)
}

func reread(t fataler, s signal.Signal, b []byte) []string {
	t.Helper()
	if _, err := check(s, b); err != nil {
		t.Fatalf("%v: Check refuses what came back: %v", s, err)
	}
	m, err := decode(s, b)
	if err != nil {
		t.Fatalf("%v: protobuf refuses what came back: %v", s, err)
	}
	return records(m)
}

func difference(a, b []string) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

func at(a []string, i int) string {
	if i < len(a) {
		return a[i]
	}
	return "nothing"
}

// checkTable checks what every Table promises about its slices.
func checkTable(t fataler, table *Table) {
	t.Helper()
	names := map[string]bool{}
	for i := range table.Columns {
		c := &table.Columns[i]
		if names[c.Name] {
			t.Fatalf("two columns are named %q", c.Name)
		}
		names[c.Name] = true
		checkColumn(t, c.Name, c, table.Rows)
		values := 0
		for row := range c.Len {
			if !c.Null(row) {
				values++
			}
		}
		if values == 0 {
			t.Fatalf("%s: no values", c.Name)
		}
	}
}

// widthInOTLP is the width of an integer column by the declarations of OTLP.
func widthInOTLP(c *Column) int {
	if c.Type == Time {
		return 0
	}
	if c.Kind == KindField {
		switch name := c.Name; {
		case name == "severity_number", name == "kind", name == "status.code", name == "scale", name == "flags",
			name == "metric.aggregation_temporality", strings.HasSuffix(name, ".offset"), strings.HasSuffix(name, "_count") && strings.Contains(name, "dropped_"):
			return 4
		}
	}
	return 8
}

func checkColumn(t fataler, path string, c *Column, n int) {
	t.Helper()
	if c.Len != n {
		t.Fatalf("%s: %d values, want %d", path, c.Len, n)
	}
	if c.Valid != nil {
		checkBitmap(t, path+" validity", c.Valid, n)
	}
	switch c.Type {
	case Bool:
		checkBitmap(t, path, c.Bits, n)
	case Int, Uint, Time:
		checkLen(t, path, len(c.Ints), n)
		if want := widthInOTLP(c); c.Width != want {
			t.Fatalf("%s: %d bytes wide, want %d", path, c.Width, want)
		}
	case Double:
		checkLen(t, path, len(c.Floats), n)
	case Fixed:
		checkLen(t, path, len(c.Data), n*c.Width)
	case String, Bytes:
		checkStrings(t, path, c)
	case List:
		checkOffsets(t, path, c.Offsets, n, c.Elem.Len)
		checkColumn(t, path+"[]", c.Elem, c.Elem.Len)
	case Struct:
		for i := range c.Fields {
			checkColumn(t, path+"."+c.Fields[i].Name, &c.Fields[i], n)
		}
	default:
		t.Fatalf("%s: type %d", path, c.Type)
	}
}

func checkStrings(t fataler, path string, c *Column) {
	t.Helper()
	if c.Index == nil {
		checkOffsets(t, path, c.Offsets, c.Len, len(c.Data))
	} else {
		checkLen(t, path, len(c.Index), c.Len)
		checkOffsets(t, path+" dictionary", c.Dict.Offsets, c.Dict.Len(), len(c.Dict.Data))
		seen := map[string]bool{}
		for i := range c.Dict.Len() {
			if v := string(c.Dict.At(int32(i))); seen[v] {
				t.Fatalf("%s: %q is twice in the dictionary", path, v)
			} else {
				seen[v] = true
			}
		}
	}
	for i := range c.Len {
		if c.Null(i) {
			continue
		}
		if v := c.Bytes(i); c.Type == String && !utf8.Valid(v) {
			t.Fatalf("%s: %q is not UTF-8", path, v)
		} else if c.Kind == KindAny {
			if _, err := proto.Marshal(anyOf(t, path, v)); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
	}
}

func anyOf(t fataler, path string, b []byte) *commonpb.AnyValue {
	t.Helper()
	v := &commonpb.AnyValue{}
	if err := proto.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

func checkLen(t fataler, path string, got, want int) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: length %d, want %d", path, got, want)
	}
}

func checkOffsets(t fataler, path string, o []int32, n, end int) {
	t.Helper()
	checkLen(t, path+" offsets", len(o), n+1)
	if !slices.IsSorted(o) || o[0] != 0 || int(o[n]) != end {
		t.Fatalf("%s: offsets %v do not go from 0 to %d", path, o, end)
	}
}

func checkBitmap(t fataler, path string, b []byte, n int) {
	t.Helper()
	checkLen(t, path+" bitmap", len(b), (n+7)/8)
	if n&7 != 0 && b[n>>3]>>(n&7) != 0 {
		t.Fatalf("%s: bits behind the end", path)
	}
}

// dump prints a Table, for comparing.
func dump(t *Table) string {
	var b bytes.Buffer
	var column func(c *Column)
	column = func(c *Column) {
		fmt.Fprintf(&b, "%s %d %d %q %d %d %d %v %v %x %v %v %x %v", c.Name, c.Level, c.Kind, c.Key, c.Type, c.Width, c.Len,
			c.Valid, c.Ints, c.Floats, c.Bits, c.Offsets, c.Data, c.Index)
		if c.Dict != nil {
			fmt.Fprintf(&b, " dict %v %x", c.Dict.Offsets, c.Dict.Data)
		}
		b.WriteByte('\n')
		if c.Elem != nil {
			column(c.Elem)
		}
		for i := range c.Fields {
			column(&c.Fields[i])
		}
	}
	fmt.Fprintln(&b, t.Rows)
	for i := range t.Columns {
		column(&t.Columns[i])
	}
	return b.String()
}

var _ fataler = (*testing.T)(nil)
