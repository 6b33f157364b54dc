package cases

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mira/scripts/e2e/server"
)

// reading is what a check may ask: what is stored of one case.
type reading struct {
	*testing.T
	s       *server.Server
	service string
	answer  *answer
	began   time.Time // when the first case was posted
}

// checks are the readback lines of the cases as code, by case.
var checks = map[string]func(*reading){
	"c01": integers, "c02": exactTimes, "c04": kinds, "c06": upperHex, "c07": nothing, "c09": unknownFields,
	"c10": allOrNothing, "c12": emptyValues, "c15": nested, "c17": nothing, "c20": bodyIs("line one\r\nline two\ttab\r\n"),
	"c23": nothing, "c25": nothing, "c30": zeroTimes, "c32": backwards, "c34": notNumbers, "c36": mismatchedHistograms,
	"c38": extremeOffsets, "c39": summaries, "c40": temporalities, "c43": shells, "c44": exemplars, "c46": envelopes,
	"c48": unicode, "c50": bigBody, "c53": collisions, "c54": mixedTypes, "c56": leadingZeros, "c59": severities,
	"c62": oddIDs, "c63": twice, "c66": lateAndReversed, "c72": bodyIs("c72"), "c75": nothing, "c77": bodyIs("c77"),
	"c79": nothing, "c83": nothing, "c84": nothing, "c88": nothing, "c90": nothing, "c95": bodyIs("c95"),
}

// rows are the service's rows of a collection, in ascending order of time.
func (r *reading) rows(collection string, filter ...string) []server.Row {
	r.Helper()
	cond := append([]string{fmt.Sprintf("resource.attributes[%q] == %q", "service.name", r.service)}, filter...)
	rows, err := r.s.Rows(collection, url.Values{"filter": {strings.Join(cond, " and ")}, "order": {"asc"}})
	if err != nil {
		r.Fatal(err)
	}
	return rows
}

// want insists on the number of rows.
func (r *reading) want(n int, collection string, filter ...string) []server.Row {
	r.Helper()
	rows := r.rows(collection, filter...)
	if len(rows) != n {
		r.Fatalf("%d %s of %s, want %d: %v", len(rows), collection, r.service, n, rows)
	}
	return rows
}

// by names the rows by the text of one of their values.
func by(rows []server.Row, keys ...string) map[string]server.Row {
	m := map[string]server.Row{}
	for _, row := range rows {
		m[server.Text(row.At(keys...))] = row
	}
	return m
}

// is compares a value's text.
func (r *reading) is(got any, want string) {
	r.Helper()
	if server.Text(got) != want {
		r.Errorf("got %v, want %s", got, want)
	}
}

// trace asks for one trace and returns its spans, with the status of the answer.
func (r *reading) trace(id string) (spans []map[string]any, status int) {
	r.Helper()
	status, body, err := r.s.Ask("/api/v1/traces/"+id, "application/json")
	if err != nil {
		r.Fatal(err)
	}
	if status != http.StatusOK {
		return nil, status
	}
	var doc struct {
		ResourceSpans []struct {
			ScopeSpans []struct{ Spans []map[string]any }
		}
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		r.Fatalf("trace %s: %v in %.300s", id, err, body)
	}
	for _, rs := range doc.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			spans = append(spans, ss.Spans...)
		}
	}
	return spans, status
}

func nothing(r *reading) {
	for _, c := range []string{"logs", "spans", "points"} {
		r.want(0, c)
	}
}

func bodyIs(text string) func(*reading) {
	return func(r *reading) { r.is(r.want(1, "logs")[0].At("body"), text) }
}

func integers(r *reading) {
	row := r.want(1, "logs")[0]
	for k, v := range map[string]string{
		"s": "42", "n": "42", "neg": "-7", "max": "9223372036854775807", "min": "-9223372036854775808", "zero": "0",
	} {
		r.is(row.Attr(k), v)
	}
	r.want(1, "logs", `attributes["zero"] == 0`, `attributes["max"] == 9223372036854775807`)
}

func exactTimes(r *reading) {
	row := r.want(1, "spans")[0]
	r.is(row.At("start_time_unix_nano"), "1796069511123456789")
	r.is(row.At("end_time_unix_nano"), "1796069512123456789")
}

func kinds(r *reading) {
	rows := by(r.want(4, "spans"), "name")
	for name, kind := range map[string]string{"server": "2", "client": "3", "consumer": "5", "nokind": "0"} {
		r.is(rows[name].At("kind"), kind)
	}
}

func upperHex(r *reading) {
	const id = "c06abcdef0123456789abcdef0123456"
	for _, asked := range []string{id, strings.ToUpper(id)} {
		if spans, status := r.trace(asked); len(spans) != 2 {
			r.Errorf("trace %s: %d spans, status %d; want 2", asked, len(spans), status)
		}
	}
	rows := by(r.want(2, "spans"), "name")
	r.is(rows["upper"].At("trace_id"), id)
	if rows["lower"].At("parent_span_id") != rows["upper"].At("span_id") {
		r.Errorf("lower is the child of %v, want %v", rows["lower"].At("parent_span_id"), rows["upper"].At("span_id"))
	}
}

func unknownFields(r *reading) {
	row := r.want(1, "logs")[0]
	r.is(row.At("body"), "c09 kept")
	r.is(row.At("scope", "name"), "s")
	if !row.Has("attributes", "future") || row.Attr("future") != nil {
		r.Errorf("attribute future: there %v, value %v", row.Has("attributes", "future"), row.Attr("future"))
	}
}

func allOrNothing(r *reading) {
	rows := r.rows("logs")
	for _, row := range rows {
		r.is(row.At("body"), "c10")
		r.is(row.At("time_unix_nano"), "1796069510123456789")
	}
	if r.answer.status == http.StatusOK && len(rows) == 0 && r.answer.message == "" {
		r.Error("nothing was stored, nothing was said")
	}
}

func emptyValues(r *reading) {
	row := r.want(1, "logs")[0]
	want := map[string]any{
		"any": nil, "novalue": nil, "str": "", "arr": []any{}, "arr2": []any{}, "map": map[string]any{},
		"bytes": "", "false": false, "": "emptykey",
	}
	for k, v := range want {
		if !row.Has("attributes", k) || !reflect.DeepEqual(row.Attr(k), v) {
			r.Errorf("attribute %q: there %v, value %#v; want %#v", k, row.Has("attributes", k), row.Attr(k), v)
		}
	}
	r.want(1, "logs", `attributes["str"] == ""`)
	r.want(1, "logs", `attributes["str"] != nil`)
	r.want(0, "logs", `attributes["other"] != nil`)
}

func nested(r *reading) {
	row := r.want(1, "logs")[0]
	r.is(row.At("event_name"), "qa.nested")
	r.is(row.Attr("raw"), "3q2+7w==")
	r.is(row.Attr("mixed"), "[x 1]")
	got, _ := json.Marshal(row.At("body"))
	const want = `{"list":["a","2",3.5,true,null,["9"],{"deep":"AP/+gA=="}],"map":{"k":{"with.dots":"other"},"k.with.dots":"v"}}`
	if string(got) != want {
		r.Errorf("body %s, want %s", got, want)
	}
}

func zeroTimes(r *reading) {
	rows := by(r.want(4, "logs"), "body")
	for body, ns := range map[string]int64{"observed only": 1796069514123456789, "time only": 1796069515123456789} {
		if at := place(r, rows[body]); at.UnixNano() != ns {
			r.Errorf("%s sorts at %v, want %v", body, at, time.Unix(0, ns).UTC())
		}
	}
	for _, body := range []string{"neither, zeros", "neither, absent"} {
		if at := place(r, rows[body]); at.Sub(r.began).Abs() > time.Minute {
			r.Errorf("%s sorts at %v, arrived after %v", body, at, r.began)
		}
	}
	r.is(rows["observed only"].At("time_unix_nano"), "0")
	lastHour, err := r.s.Rows("logs", url.Values{"start": {"-1h"}, "filter": {`IsMatch(body, "^neither")`}})
	if err != nil || len(lastHour) != 2 {
		r.Errorf("%d records in the last hour, want 2: %v", len(lastHour), err)
	}
}

// place is where a row sorts.
func place(r *reading, row server.Row) time.Time {
	r.Helper()
	at, err := time.Parse(time.RFC3339Nano, server.Text(row.At("time")))
	if err != nil {
		r.Fatal(err)
	}
	return at
}

func backwards(r *reading) {
	rows := by(r.want(3, "spans"), "name")
	for name, times := range map[string][2]string{
		"backwards": {"1796069511123456789", "1796069510123456789"},
		"noend":     {"1796069511123456789", "0"},
		"instant":   {"1796069511123456789", "1796069511123456789"},
	} {
		r.is(rows[name].At("start_time_unix_nano"), times[0])
		r.is(rows[name].At("end_time_unix_nano"), times[1])
	}
}

func notNumbers(r *reading) {
	rows := by(r.want(5, "points"), "attributes", "i")
	for i, v := range map[string]string{"nan": "NaN", "inf": "Infinity", "ninf": "-Infinity", "text": "1500", "plain": "7"} {
		r.is(rows[i].At("as_double"), v)
	}
	r.is(rows["nan"].At("resource", "attributes", "weird"), "-Infinity")
}

func mismatchedHistograms(r *reading) {
	rows := by(r.rows("points"), "attributes", "i")
	if rows["good"] == nil || rows["nobuckets"] == nil || len(rows)-2+r.answer.rejected != 4 {
		r.Errorf("stored %v, rejected %d", sorted(rows), r.answer.rejected)
	}
	r.is(rows["good"].At("bucket_counts"), "[1 1 1]")
}

func extremeOffsets(r *reading) {
	rows := by(r.rows("points"), "attributes", "i")
	if rows["good"] == nil || len(rows)-1+r.answer.rejected != 2 {
		r.Errorf("stored %v, rejected %d", sorted(rows), r.answer.rejected)
	}
	if top := rows["top"]; top != nil {
		r.is(top.At("positive.offset"), "2147483647")
	}
}

func summaries(r *reading) {
	rows := by(r.want(3, "points"), "attributes", "i")
	pairs := func(i string) string {
		b, _ := json.Marshal(rows[i].At("quantile_values"))
		return string(b)
	}
	r.is(pairs("nan"), `[{"quantile":0.5,"value":"NaN"},{"quantile":0.99,"value":"NaN"}]`)
	r.is(pairs("minmax"), `[{"quantile":0,"value":1},{"quantile":1,"value":4}]`)
}

func temporalities(r *reading) {
	rows := by(r.rows("points"), "metric.name")
	for name, v := range map[string]string{"delta": "1", "cum": "2", "deltahist": "1"} {
		r.is(rows["qa.c40."+name].At("metric.aggregation_temporality"), v)
	}
	if (rows["qa.c40.unset"] == nil) != (r.answer.rejected == 1) {
		r.Errorf("unset is %v, %d rejected", rows["qa.c40.unset"], r.answer.rejected)
	}
}

func shells(r *reading) {
	rows := by(r.rows("points"), "metric.name")
	if rows["qa.c43.good"] == nil || (rows[""] == nil) != (r.answer.rejected == 1) {
		r.Errorf("metrics %q, %d rejected", sorted(rows), r.answer.rejected)
	}
}

func exemplars(r *reading) {
	b, _ := json.Marshal(r.want(1, "points")[0].At("exemplars"))
	var list []map[string]any
	if err := json.Unmarshal(b, &list); err != nil || len(list) != 2 {
		r.Fatalf("exemplars %s: %v", b, err)
	}
	r.is(list[0]["as_double"], "1.25")
	r.is(list[0]["trace_id"], "c4400000000000000000000000000044")
	r.is(list[0]["filtered_attributes"], "map[trace_id:user value]")
	r.is(list[1]["as_int"], "2")
	if id, ok := list[1]["trace_id"]; ok && server.Text(id) != "" && id != nil {
		r.Errorf("the second exemplar has trace id %v", id)
	}
}

func envelopes(r *reading) {
	r.want(2, "logs")
	rows, err := r.s.Rows("logs", url.Values{"filter": {`attributes["qa.case"] == "c46"`}})
	if err != nil || len(rows) != 1 || rows[0].Has("resource", "attributes", "service.name") {
		r.Fatalf("%v, %v", rows, err)
	}
	without, err := r.s.Rows("logs", url.Values{"filter": {`resource.attributes["service.name"] == nil`}})
	if err != nil || len(without) != 1 {
		r.Errorf("%d records without a service, want 1: %v", len(without), err)
	}
}

func unicode(r *reading) {
	rows := r.want(3, "logs")
	const key = `sp ace "q" 'a' \ /`
	r.is(rows[0].Attr("schlüssel"), "漢字")
	r.is(rows[0].Attr("🔑"), "key")
	r.is(rows[0].Attr(key), "odd")
	r.is(rows[1].At("body"), "\x1b[31mred\x1b[0m bell\a nul\x00 del\x7f c1\u009b end")
	body := server.Text(rows[0].At("body"))
	if !strings.Contains(body, "e\u0301 vs \u00e9") && !strings.Contains(body, "\u00e9 vs e\u0301") || !strings.Contains(body, "\u2028line\u2029para \ufeffbom") {
		r.Errorf("body %+q", body)
	}
	r.want(1, "logs", fmt.Sprintf("attributes[%s] == %q", strconv.Quote(key), "odd"))
	r.want(1, "logs", `IsMatch(body, "👨")`)
	r.want(1, "logs", `IsMatch(attributes["schlüssel"], "漢字")`)
}

func bigBody(r *reading) {
	rows := r.want(2, "logs")
	body := server.Text(rows[0].At("body"))
	if len(body) != 1<<20 || !strings.HasSuffix(body, "\nx") {
		r.Errorf("%d bytes, ending in %q", len(body), body[max(0, len(body)-5):])
	}
	r.is(rows[1].At("body"), "after the big one")
}

func collisions(r *reading) {
	row := r.want(1, "logs")[0]
	//nolint:gocritic // the blanks of the last key are what is tested
	for k, v := range map[string]string{"a": "leaf", "a.b": "1", "a.b.c": "2", "a_b": "3", "a/b": "4", "A.B": "5", "a..b": "6", " a.b ": "7"} {
		r.is(row.Attr(k), v)
		r.want(1, "logs", fmt.Sprintf("attributes[%q] == %q", k, v))
	}
	r.is(row.At("resource", "attributes", "k8s.pod.name"), "dots")
	r.is(row.At("resource", "attributes", "k8s_pod_name"), "under")
}

func mixedTypes(r *reading) {
	rows := by(r.want(6, "logs"), "body")
	for body, v := range map[string]any{
		"double": json.Number("200.5"), "bool": true, "int": "200", "string": "200", "list": []any{"200"}, "map": map[string]any{"code": "200"},
	} {
		if got := rows[body].Attr("status"); !reflect.DeepEqual(got, v) {
			r.Errorf("%s: %#v, want %#v", body, got, v)
		}
	}
	for filter, want := range map[string]string{`attributes["status"] == 200`: "int", `attributes["status"] == "200"`: "string", `attributes["status"] == true`: "bool"} {
		r.is(r.want(1, "logs", filter)[0].At("body"), want)
	}
}

func leadingZeros(r *reading) {
	rows := by(r.want(2, "spans"), "name")
	r.is(rows["lead"].At("trace_id"), "0056000000000000000000000000abcd")
	r.is(rows["lead"].At("span_id"), "0000000000000056")
	for _, id := range []string{"0056000000000000000000000000abcd", "0000000000000000c56c56c56c56c56c"} {
		if spans, status := r.trace(id); len(spans) != 1 {
			r.Errorf("trace %s: %d spans, status %d", id, len(spans), status)
		}
	}
	if spans, status := r.trace("c56c56c56c56c56c"); status != http.StatusBadRequest && (len(spans) != 1 || spans[0]["name"] != "padded") {
		r.Errorf("16 digits: status %d, spans %v", status, spans)
	}
}

func severities(r *reading) {
	rows := by(r.want(4, "logs"), "body")
	for body, v := range map[string][2]string{"s0": {"0", "ERROR"}, "s24": {"24", "trace"}, "s25": {"25", ""}, "s1e6": {"1000000", "重要"}} {
		r.is(rows[body].At("severity_number"), v[0])
		if v[1] != "" {
			r.is(rows[body].At("severity_text"), v[1])
		}
	}
	high := by(r.rows("logs", "severity_number >= 17"), "body")
	if !slices.Equal(sorted(high), []string{"s1e6", "s24", "s25"}) {
		r.Errorf("severity_number >= 17 finds %v", sorted(high))
	}
}

func oddIDs(r *reading) {
	r.want(5, "logs")
	pair := r.want(1, "logs", `trace_id == "c6200000000000000000000000000062"`)[0]
	r.is(pair.At("body"), "pair")
	r.is(pair.At("flags"), "257")
	if spans, status := r.trace(strings.Repeat("0", 32)); len(spans) != 0 || status >= 500 {
		r.Errorf("trace 0: status %d, %v", status, spans)
	}
}

func twice(r *reading) {
	spans, _ := r.trace("c6300000000000000000000000000063")
	before, again := r.answer.memory["spans"]
	if len(spans) != 1 && len(spans) != 2 || again && before != len(spans) {
		r.Errorf("%d spans, before %d", len(spans), before)
	}
	r.answer.memory["spans"] = len(spans)
}

func lateAndReversed(r *reading) {
	rows := r.want(37, "logs")
	times := make([]int64, len(rows))
	for i, row := range rows {
		times[i], _ = strconv.ParseInt(server.Text(row.At("time_unix_nano")), 10, 64)
	}
	if !slices.IsSorted(times) {
		r.Errorf("not in order: %v", times)
	}
	window := func(start, length int64) int {
		rows, err := r.s.Rows("logs", url.Values{
			"start": {strconv.FormatInt(start, 10)}, "end": {strconv.FormatInt(start+length, 10)},
			"filter": {`resource.attributes["service.name"] == "qa-c66"`},
		})
		if err != nil {
			r.Fatal(err)
		}
		return len(rows)
	}
	const minute = int64(time.Minute)
	for i := 1; i+2 < len(times); i += 5 {
		for _, shift := range []int64{0, 1, 150e9, 299e9} {
			if n := window(times[i]+shift-300e9+1, 10*minute); n != 2 && i > 1 {
				r.Errorf("10 minutes from %d: %d records, want 2", times[i]+shift, n)
			}
		}
	}
	if n := window(times[0], 1); n != 1 {
		r.Errorf("%d records at the time of the one that is 26 hours late, want 1", n)
	}
}
