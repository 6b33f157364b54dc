package otlp

import (
	"bytes"
	"strings"
	"testing"
)

func TestCheckNamesTheFieldAndTheRule(t *testing.T) {
	record := func(fields []byte) []byte { return chain(logsRequest, fields) }
	value := func(v []byte) []byte { return record(AppendBytes(nil, 5, v)) }
	f := func(b []byte, offset int, want string) {
		t.Helper()
		_, err := CheckLogs(b)
		e, ok := err.(*Error)
		if !ok || e.Offset != offset || e.Reason != want {
			t.Errorf("got %v, want %q at %d", err, want, offset)
		}
	}
	const path = "resource_logs.scope_logs.log_records"
	f(record(AppendBytes(nil, 9, "12345")), 6, path+".trace_id: 5 bytes, want 16 or 0")
	f(record(AppendBytes(nil, 10, "123456789")), 6, path+".span_id: 9 bytes, want 8 or 0")
	f(record(AppendVarint(nil, 5, 1)), 6, path+".body: wire type 0, want 2")
	f(record([]byte{0x08}), 6, path+": field 1: does not end inside its message, or has more than 64 bits")
	f(record([]byte{0x00}), 6, path+": not a field tag")
	f(record([]byte{0x0c}), 6, path+": the end of a group that never began")
	f(record([]byte{0x0b, 0x14}), 6, path+": field 1: a group that does not end, or nests more than 100 deep")
	f(value([]byte{0x0a, 5, 'x'}), 8, path+".body: field 1: does not end inside its message, or has more than 64 bits")
	f([]byte("hello"), 2, "the end of a group that never began")
	_, err := CheckLogs(value(tower(MaxDepth + 1)))
	if err == nil || !strings.HasPrefix(err.Error(), path+".body.") || !strings.Contains(err.Error(), "...: arrays and maps nested more than 64 deep") {
		t.Errorf("too deep: got %v", err)
	}
}

// TestCheckBoundsWhatRecordsShare sends records without a field under many attributes: each is two
// bytes long and would take a cell in every column of its resource and its scope.
func TestCheckBoundsWhatRecordsShare(t *testing.T) {
	const attributes = 128
	of := map[id]struct{ group, records int }{logsRequest: {2, 2}, tracesRequest: {2, 2}}
	for m, num := range of {
		shared := bytes.Repeat(AppendBytes(nil, 1, ""), attributes)
		owner := AppendBytes(nil, 1, shared)
		inScope := AppendBytes(nil, 1, bytes.Repeat(AppendBytes(nil, 3, ""), attributes))
		request := func(records int, resourceFirst bool) []byte {
			list := bytes.Repeat(AppendBytes(nil, num.records, ""), records)
			group := AppendBytes(nil, num.group, append(bytes.Clone(inScope), list...))
			if resourceFirst {
				return AppendBytes(nil, 1, append(bytes.Clone(owner), group...))
			}
			return AppendBytes(nil, 1, append(group, owner...))
		}
		for _, first := range []bool{true, false} {
			most := MaxShared / (2 * attributes)
			if n, err := check(request(most, first), m); n != most || err != nil {
				t.Errorf("%d records: got %d and %v", most, n, err)
			}
			if _, err := check(request(most+1, first), m); err == nil || !strings.Contains(err.Error(), "in parts") {
				t.Errorf("%d records: got %v", most+1, err)
			}
		}
	}
}

func TestCheckAcceptsMaxDepthEverywhere(t *testing.T) {
	f := func(name string, m id, b []byte, want int) {
		t.Helper()
		if n, err := check(b, m); n != want || err != nil {
			t.Errorf("%s: got %d records and %v, want %d", name, n, err, want)
		}
	}
	attribute := AppendBytes(AppendBytes(nil, 1, "k"), 2, tower(MaxDepth))
	for m, num := range attributesOf {
		f("attribute", m, chain(m, AppendBytes(nil, num, attribute)), 1)
	}
	f("body", logsRequest, chain(logsRequest, AppendBytes(nil, 5, tower(MaxDepth))), 1)
	f("resource", logsRequest, AppendBytes(nil, 1, AppendBytes(nil, 1, AppendBytes(nil, 1, attribute))), 0)
}

func TestCheckCountsOnlyTheLastKindOfAMetric(t *testing.T) {
	corners := metricCorners()
	for i, want := range []int{0, 2, 1, 5, 0} {
		if n, err := CheckMetrics(corners[i]); n != want || err != nil {
			t.Errorf("corner %d: got %d points and %v, want %d", i, n, err, want)
		}
	}
}

func TestCheckAgreesWithPdataAndTheModelOnTheCorpus(t *testing.T) {
	for m := range roots {
		for _, b := range corpus(m) {
			judge(t, m, b)
		}
	}
}

func TestCheckAllocatesNothingWhateverItAccepts(t *testing.T) {
	f := func(name string, m id, b []byte) {
		t.Helper()
		if n := testing.AllocsPerRun(5, func() {
			if _, err := check(b, m); err != nil {
				t.Fatal(name, err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	const mega = 1 << 20
	f("empty ResourceSpans", tracesRequest, bytes.Repeat([]byte{0x0a, 0}, mega/2))
	f("empty spans", tracesRequest, AppendBytes(nil, 1, AppendBytes(nil, 2, bytes.Repeat([]byte{0x12, 0}, mega/2))))
	f("empty attributes", logsRequest, chain(logsRequest, bytes.Repeat([]byte{0x32, 0}, mega/2)))
	f("unset values", logsRequest, chain(logsRequest, bytes.Repeat([]byte{0x32, 2, 0x12, 0}, mega/4)))
	f("empty metrics", metricsRequest, AppendBytes(nil, 1, AppendBytes(nil, 2, bytes.Repeat([]byte{0x12, 0}, mega/2))))
	f("deep values", logsRequest, bytes.Repeat(chain(logsRequest, AppendBytes(nil, 5, tower(MaxDepth))), mega/512))
	for m := range roots {
		f("sample", m, sample(nil, m, 2, 3))
	}
}
