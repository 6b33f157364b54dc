package otlp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

func newMessage(m id) proto.Message {
	switch m {
	case logsRequest:
		return &logspb.LogsData{}
	case tracesRequest:
		return &tracepb.TracesData{}
	}
	return &metricspb.MetricsData{}
}

// same compares what body says with a message written as prototext.
func same(t *testing.T, m id, body, want string) {
	t.Helper()
	pb, _, err := fromJSON([]byte("kept"), []byte(body), m)
	if err != nil {
		t.Errorf("%s: %v", body, err)
		return
	}
	if string(pb[:4]) != "kept" {
		t.Errorf("%s: what was in dst is gone", body)
	}
	if _, err := check(pb[4:], m); err != nil {
		t.Errorf("%s: Check refuses the result: %v", body, err)
	}
	got, exp := newMessage(m), newMessage(m)
	if err := proto.Unmarshal(pb[4:], got); err != nil {
		t.Errorf("%s: %v", body, err)
	}
	if err := prototext.Unmarshal([]byte(want), exp); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if !proto.Equal(got, exp) {
		t.Errorf("%s:\n got %v\nwant %v", body, got, exp)
	}
}

func TestRecordsFromJSON(t *testing.T) {
	log := func(members, want string) {
		t.Helper()
		same(t, logsRequest, `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{`+members+`}]}]}]}`,
			`resource_logs{scope_logs{log_records{`+want+`}}}`)
	}
	log(``, ``)
	log(`"timeUnixNano":"1796069510123456789"`, `time_unix_nano:1796069510123456789`)
	log(`"timeUnixNano":1796069510123456789`, `time_unix_nano:1796069510123456789`)
	log(`"timeUnixNano":"18446744073709551615"`, `time_unix_nano:18446744073709551615`)
	log(`"timeUnixNano":1.796e3`, `time_unix_nano:1796`)
	log(`"timeUnixNano":"1e2","flags":100.0,"droppedAttributesCount":1E+2`, `time_unix_nano:100 flags:100 dropped_attributes_count:100`)
	log(`"timeUnixNano":0,"severityText":"","flags":0,"traceId":"","attributes":[]`, ``)
	log(`"timeUnixNano":null,"severityText":null,"flags":null,"traceId":null,"attributes":null,"body":null,"severityNumber":null`, ``)
	log(`"severityNumber":9`, `severity_number:SEVERITY_NUMBER_INFO`)
	log(`"severityNumber":1000000`, `severity_number:1000000`)
	log(`"severityNumber":-2147483648`, `severity_number:-2147483648`)
	log(`"traceId":"C06abcdef0123456789ABCDEF0123456","spanId":"00000000000000fF"`,
		`trace_id:"\xc0\x6a\xbc\xde\xf0\x12\x34\x56\x78\x9a\xbc\xde\xf0\x12\x34\x56" span_id:"\0\0\0\0\0\0\0\xff"`)
	log(`"trace_id":"zz","time_unix_nano":[],"x":{"y":[1e400,{"z":null}]},"":1,"eventName":"e"`, `event_name:"e"`)
	log(`"body":{}`, `body{}`)
	log(`"eventName":"\ud83d\ude00 \u00e9\/\"\\\b\f\n\r\t\u0000 \ud800 \udc00x \ud800\u0041"`,
		`event_name:"\360\237\230\200 \303\251/\"\\\b\f\n\r\t\000 \357\277\275 \357\277\275x \357\277\275A"`)
	log(" \t\r\n\"eventName\" : \"漢字\" ", `event_name:"漢字"`)
	log(`"\u0065ventName":"escaped name"`, `event_name:"escaped name"`)
}

func TestValuesFromJSON(t *testing.T) {
	value := func(v, want string) {
		t.Helper()
		same(t, logsRequest, `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":`+v+`}]}]}]}`,
			`resource_logs{scope_logs{log_records{body{`+want+`}}}}`)
	}
	value(`{}`, ``)
	value(`{"durationValue":"5s"}`, ``)
	value(`{"stringValue":null}`, ``)
	value(`{"stringValue":"kept","intValue":null}`, `string_value:"kept"`)
	value(`{"stringValue":""}`, `string_value:""`)
	value(`{"boolValue":false}`, `bool_value:false`)
	value(`{"boolValue":true}`, `bool_value:true`)
	value(`{"intValue":0}`, `int_value:0`)
	value(`{"intValue":"-9223372036854775808"}`, `int_value:-9223372036854775808`)
	value(`{"intValue":9223372036854775807}`, `int_value:9223372036854775807`)
	value(`{"intValue":9007199254740993}`, `int_value:9007199254740993`)
	value(`{"intValue":-0}`, `int_value:0`)
	value(`{"intValue":0e999999999999}`, `int_value:0`)
	value(`{"intValue":12300e-2}`, `int_value:123`)
	value(`{"doubleValue":0}`, `double_value:0`)
	value(`{"doubleValue":-0}`, `double_value:-0`)
	value(`{"doubleValue":"NaN"}`, `double_value:nan`)
	value(`{"doubleValue":"-Infinity"}`, `double_value:-inf`)
	value(`{"doubleValue":"Infinity"}`, `double_value:inf`)
	value(`{"doubleValue":"1.5e3"}`, `double_value:1500`)
	value(`{"doubleValue":0.1}`, `double_value:0.1`)
	value(`{"doubleValue":5e-324}`, `double_value:5e-324`)
	value(`{"bytesValue":""}`, `bytes_value:""`)
	value(`{"bytesValue":"+/8="}`, `bytes_value:"\xfb\xff"`)
	value(`{"bytesValue":"+/8"}`, `bytes_value:"\xfb\xff"`)
	value(`{"bytesValue":"-_8="}`, `bytes_value:"\xfb\xff"`)
	value(`{"bytesValue":"-_8"}`, `bytes_value:"\xfb\xff"`)
	value(`{"arrayValue":{}}`, `array_value{}`)
	value(`{"arrayValue":{"values":[]}}`, `array_value{}`)
	value(`{"kvlistValue":{}}`, `kvlist_value{}`)
	value(`{"kvlistValue":{"values":null}}`, `kvlist_value{}`)
	value(`{"arrayValue":null}`, ``)
	value(`{"arrayValue":{"values":[{},{"intValue":1},{"arrayValue":{"values":[{"stringValue":"x"}]}}]}}`,
		`array_value{values{} values{int_value:1} values{array_value{values{string_value:"x"}}}}`)
	value(`{"kvlistValue":{"values":[{"key":"k"},{"value":{"boolValue":true},"key":""},{}]}}`,
		`kvlist_value{values{key:"k"} values{value{bool_value:true}} values{}}`)
	long := strings.Repeat("long ", 10000)
	value(`{"stringValue":"`+long+`"}`, `string_value:"`+long+`"`)
}

func TestPointsFromJSON(t *testing.T) {
	metric := func(members, want string) {
		t.Helper()
		same(t, metricsRequest, `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{`+members+`}]}]}]}`,
			`resource_metrics{scope_metrics{metrics{`+want+`}}}`)
	}
	metric(`"name":"no data"`, `name:"no data"`)
	metric(`"gauge":{}`, `gauge{}`)
	metric(`"sum":{"dataPoints":[],"aggregationTemporality":2,"isMonotonic":true}`,
		`sum{aggregation_temporality:AGGREGATION_TEMPORALITY_CUMULATIVE is_monotonic:true}`)
	metric(`"gauge":{"dataPoints":[{},{"asInt":"-5"},{"asDouble":0},{"asInt":0,"flags":1}]}`,
		`gauge{data_points{} data_points{as_int:-5} data_points{as_double:0} data_points{as_int:0 flags:1}}`)
	metric(`"histogram":{"dataPoints":[{"sum":0,"min":null,"bucketCounts":["1",2,"18446744073709551615"],"explicitBounds":[-0.5,"NaN",3]}]}`,
		`histogram{data_points{sum:0 bucket_counts:[1,2,18446744073709551615] explicit_bounds:[-0.5,nan,3]}}`)
	metric(`"histogram":{"dataPoints":[{"bucketCounts":[],"explicitBounds":null}]}`, `histogram{data_points{}}`)
	metric(`"exponentialHistogram":{"dataPoints":[{"scale":-10,"positive":{"offset":2147483647,"bucketCounts":["0",1]},"negative":{"offset":-2147483648}}]}`,
		`exponential_histogram{data_points{scale:-10 positive{offset:2147483647 bucket_counts:[0,1]} negative{offset:-2147483648}}}`)
	metric(`"summary":{"dataPoints":[{"quantileValues":[{"quantile":0.5,"value":"NaN"}],"sum":-0}]}`,
		`summary{data_points{quantile_values{quantile:0.5 value:nan} sum:-0}}`)
}

func TestSpansFromJSON(t *testing.T) {
	same(t, tracesRequest, `{"resourceSpans":[{"schemaUrl":"u","resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]},
		"scopeSpans":[{"scope":{"name":"n"},"spans":[{"name":"a","kind":99,"traceState":"x=y","flags":4294967295,
		"parentSpanId":"C06ABCDEF0123456","status":{"code":2,"message":"m"},"events":[{"name":"e"}],"links":[{"spanId":"0102030405060708"}]}]}]}]}`,
		`resource_spans{schema_url:"u" resource{attributes{key:"service.name" value{string_value:"s"}}}
		scope_spans{scope{name:"n"} spans{name:"a" kind:99 trace_state:"x=y" flags:4294967295
		parent_span_id:"\xc0\x6a\xbc\xde\xf0\x12\x34\x56" status{code:STATUS_CODE_ERROR message:"m"} events{name:"e"} links{span_id:"\1\2\3\4\5\6\7\10"}}}}`)
}

// refused checks that body is refused, and how the reason begins.
func refused(t *testing.T, body, want string) {
	t.Helper()
	pb, _, err := TracesFromJSON(nil, []byte(body))
	if err == nil || len(pb) != 0 || !strings.HasPrefix(err.Error(), want) || !utf8.ValidString(err.Error()) {
		t.Errorf("%.200s:\n got %v\nwant %s", body, err, want)
	}
}

func TestJSONIsOneObjectOfStrictGrammar(t *testing.T) {
	for body, want := range map[string]string{
		``: "want an object", ` `: "want an object", `null`: "want an object", `[]`: "want an object", `1`: "want an object",
		"\xef\xbb\xbf{}": "want an object", "\x00\xff": "want an object",
		`{}{}`: "something after the end", `{} x`: "something after the end", "{}\x00": "something after the end", `{},`: "something after the end",
		`{"a":1,}`: "nothing after the comma", `{"a":[1,]}`: "nothing after the comma", `{,}`: "want a name", `{"a":[,1]}`: "want a JSON value",
		`{/*c*/}`: "want a name", `{"a":1 // c` + "\n}": "want , or }", `{"a" 1}`: "want a colon", `{a:1}`: "want a name", `{'a':1}`: "want a name",
		`{"a":tru}`: "want a JSON value", `{"a":nul}`: "want a JSON value", `{"a":truex}`: "want , or }", `{"a":NaN}`: "want a JSON value",
		`{"a":01}`: "want a JSON value", `{"a":1.}`: "want a JSON value", `{"a":.5}`: "want a JSON value", `{"a":+1}`: "want a JSON value",
		`{"a":-}`: "want a JSON value", `{"a":1e}`: "want a JSON value", `{"a":"\x"}`: "not an escape", `{"a":"\u12g4"}`: "not an escape",
		"{\"a\":\"\n\"}": "a control character", "{\"a\":\"\\t\x01\"}": "a control character", `{"a":"`: "a string without its end", `{"a":"\n`: "a string without its end",
		`{"a":`: "want a JSON value", `{"a"`: "want a colon", `{"a":1`: "want , or }", `{`: "want a name", `{"a":[1`: "want , or ]", `{"a":[1}`: "want , or ]", `{"a":{"b":1]}`: "want , or }",
		`{"resourceSpans":{}}`: "resourceSpans: want an array", `{"resourceSpans":[1]}`: "resourceSpans[0]: want an object",
		`{"resourceSpans":[{},null]}`:            "resourceSpans[1]: null is no element of a list",
		`{"resourceSpans":[],"resourceSpans":1}`: "resourceSpans: the name stands twice",
		`{"a":` + strings.Repeat("[", maxSkip+1): "an unknown value nested more than 1024 deep",
		`{"a":` + strings.Repeat(`{"a":`, 1e6):   "an unknown value nested more than 1024 deep",
		`{"a":` + strings.Repeat("[", maxSkip) + strings.Repeat("]", maxSkip) + `,"resourceSpans":0}`: "resourceSpans: want an array",
	} {
		refused(t, body, want)
	}
}

func TestJSONIsRefusedWithTheFieldAndTheRule(t *testing.T) {
	for members, want := range map[string]string{
		`"traceId":"X/DR0uOksllod4altMPS4fA="`:        "traceId: want 16 bytes as 32 hex digits",
		`"traceId":"0102"`:                            "traceId: want 16 bytes as 32 hex digits",
		`"traceId":1`:                                 "traceId: want a string",
		`"spanId":"obLD1OX2Bxg="`:                     "spanId: want 8 bytes as 16 hex digits",
		`"spanId":"010203040506070g"`:                 "spanId: want 8 bytes as 16 hex digits",
		`"parentSpanId":"01020304050607081"`:          "parentSpanId: want 8 bytes as 16 hex digits",
		`"links":[{"traceId":"x"}]`:                   "links[0].traceId: want 16 bytes",
		`"kind":"SPAN_KIND_SERVER"`:                   "kind: want an enum value as an integer",
		`"kind":"2"`:                                  "kind: want an enum value as an integer",
		`"kind":2.5`:                                  "kind: want an enum value as an integer",
		`"kind":2147483648`:                           "kind: want an enum value as an integer",
		`"kind":true`:                                 "kind: want an enum value as an integer",
		`"flags":4294967296`:                          "flags: want an unsigned integer of 32 bits",
		`"flags":-1`:                                  "flags: want an unsigned integer of 32 bits",
		`"startTimeUnixNano":-1`:                      "startTimeUnixNano: want an unsigned integer of 64 bits",
		`"startTimeUnixNano":18446744073709551616`:    "startTimeUnixNano: want an unsigned integer of 64 bits",
		`"startTimeUnixNano":1e20`:                    "startTimeUnixNano: want an unsigned integer of 64 bits",
		`"startTimeUnixNano":1e99999999999999999999`:  "startTimeUnixNano: want an unsigned integer of 64 bits",
		`"startTimeUnixNano":1e-99999999999999999999`: "startTimeUnixNano: want an unsigned integer of 64 bits",
		`"startTimeUnixNano":"2026-11-30T00:00:00Z"`:  "startTimeUnixNano: want an unsigned integer of 64 bits",
		`"startTimeUnixNano":""`:                      "startTimeUnixNano: want an unsigned integer of 64 bits",
		`"startTimeUnixNano":"007"`:                   "startTimeUnixNano: want an unsigned integer of 64 bits",
		`"startTimeUnixNano":" 7"`:                    "startTimeUnixNano: want an unsigned integer of 64 bits",
		`"startTimeUnixNano":"+7"`:                    "startTimeUnixNano: want an unsigned integer of 64 bits",
		`"startTimeUnixNano":{}`:                      "startTimeUnixNano: want an unsigned integer of 64 bits",
		`"startTimeUnixNano":1.5`:                     "startTimeUnixNano: want an unsigned integer of 64 bits",
		`"name":1`:                                    "name: want a string",
		`"name":{}`:                                   "name: want a string",
		`"name":"a","name":"b"`:                       "name: the name stands twice in one object",
		`"name":nil`:                                  "",
		`"status":[]`:                                 "status: want an object",
		`"attributes":{}`:                             "attributes: want an array",
		`"attributes":[{"key":"k","value":"bare"}]`:   "attributes[0].value: want an object",
		`"attributes":[{"value":{"intValue":"1.5"}}]`: "attributes[0].value.intValue: want an integer of 64 bits",
		`"attributes":[{"value":{"intValue":9223372036854775808}}]`:                            "attributes[0].value.intValue: want an integer of 64 bits",
		`"attributes":[{"value":{"intValue":-9223372036854775809}}]`:                           "attributes[0].value.intValue: want an integer of 64 bits",
		`"attributes":[{"value":{"intValue":true}}]`:                                           "attributes[0].value.intValue: want an integer of 64 bits",
		`"attributes":[{"value":{"boolValue":"true"}}]`:                                        "attributes[0].value.boolValue: want true or false",
		`"attributes":[{"value":{"boolValue":1}}]`:                                             "attributes[0].value.boolValue: want true or false",
		`"attributes":[{"value":{"doubleValue":"inf"}}]`:                                       "attributes[0].value.doubleValue: want a number of 64 bits",
		`"attributes":[{"value":{"doubleValue":1e400}}]`:                                       "attributes[0].value.doubleValue: want a number of 64 bits",
		`"attributes":[{"value":{"doubleValue":"0x1p3"}}]`:                                     "attributes[0].value.doubleValue: want a number of 64 bits",
		`"attributes":[{"value":{"doubleValue":""}}]`:                                          "attributes[0].value.doubleValue: want a number of 64 bits",
		`"attributes":[{"value":{"bytesValue":"*"}}]`:                                          "attributes[0].value.bytesValue: want bytes in base64",
		`"attributes":[{"value":{"bytesValue":"+_8="}}]`:                                       "attributes[0].value.bytesValue: want bytes in base64",
		`"attributes":[{"value":{"arrayValue":[]}}]`:                                           "attributes[0].value.arrayValue: want an object",
		`"attributes":[{"value":{"stringValue":"x","intValue":1}}]`:                            "attributes[0].value.intValue: another member of the same oneof",
		`"attributes":[{},{"value":{"arrayValue":{"values":[null]}}}]`:                         "attributes[1].value.arrayValue.values[0]: null is no element",
		`"attributes":[{"key":"k","value":` + jsonTower(MaxDepth+1) + `}]`:                     "attributes[0].value.arrayValue.values[0]",
		`"attributes":[{"key":"k","value":` + strings.Repeat(`{"arrayValue":{"values":[`, 1e5): "attributes[0].value.arrayValue.values[0]",
	} {
		path := "resourceSpans[0].scopeSpans[0].spans[0]."
		if want == "" {
			path = "resourceSpans[0].scopeSpans[0].spans[0]"
		}
		refused(t, `{"resourceSpans":[{"scopeSpans":[{"spans":[{`+members+`}]}]}]}`, path+want)
	}
}

// jsonTower is an AnyValue of n arrays inside each other.
func jsonTower(n int) string {
	return strings.Repeat(`{"arrayValue":{"values":[`, n) + `{"intValue":1}` + strings.Repeat(`]}}`, n)
}

func TestJSONAcceptsMaxDepth(t *testing.T) {
	body := fmt.Sprintf(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":%s}]}]}]}`, jsonTower(MaxDepth))
	if _, _, err := LogsFromJSON(nil, []byte(body)); err != nil {
		t.Error(err)
	}
}

func TestJSONTellsWhetherAnythingWasKnown(t *testing.T) {
	for body, want := range map[string]bool{
		`{}`: false, `{"resource_logs":[{}]}`: false, `{"resourceSpans":[{}]}`: false,
		`{"resourceLogs":[]}`: true, `{"resourceLogs":null}`: true, `{"x":1,"resourceLogs":[{}]}`: true,
	} {
		if _, known, err := LogsFromJSON(nil, []byte(body)); known != want || err != nil {
			t.Errorf("%s: got %v and %v, want %v", body, known, err, want)
		}
	}
}

func TestEachSignalHasItsOwnDoor(t *testing.T) {
	for name, door := range map[string]struct {
		from func(dst, body []byte) ([]byte, bool, error)
		to   func(dst, pb []byte) ([]byte, error)
		size func(b []byte) (int, error)
	}{
		`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}`:                             {LogsFromJSON, AppendLogsJSON, CheckLogs},
		`{"resourceSpans":[{"scopeSpans":[{"spans":[{}]}]}]}`:                                {TracesFromJSON, AppendTracesJSON, CheckTraces},
		`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"sum":{"dataPoints":[{}]}}]}]}]}`: {MetricsFromJSON, AppendMetricsJSON, CheckMetrics},
	} {
		pb, known, err := door.from(nil, []byte(name))
		n, checkErr := door.size(pb)
		back, backErr := door.to(nil, pb)
		if !known || n != 1 || string(back) != name || err != nil || checkErr != nil || backErr != nil {
			t.Errorf("%s: known %v, %d records, back %s; %v, %v, %v", name, known, n, back, err, checkErr, backErr)
		}
	}
}

func TestJSONErrorsAreSafeToQuote(t *testing.T) {
	_, _, err := LogsFromJSON(nil, []byte("{\"resourceLogs\":\xff\xfe}"))
	if b, jsonErr := json.Marshal(err.Error()); jsonErr != nil || !utf8.ValidString(err.Error()) {
		t.Errorf("got %s, %v", b, jsonErr)
	}
}
