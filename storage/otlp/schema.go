package otlp

// kind is the declared type of a field.
type kind uint8

const (
	unknown kind = iota // the zero spec: a number OTLP does not use
	boolean
	int32s
	int64s
	uint32s
	uint64s
	sint32s
	enum
	fixed32s
	fixed64s
	sfixed64s
	double
	text
	binaries
	traceID // bytes on the wire, hexadecimal digits in JSON
	spanID
	nested
)

// wires is the wire type of one value of each kind.
var wires = [...]Type{
	boolean: Varint, int32s: Varint, int64s: Varint, uint32s: Varint, uint64s: Varint, sint32s: Varint, enum: Varint,
	fixed32s: Fixed32, fixed64s: Fixed64, sfixed64s: Fixed64, double: Fixed64,
	text: Bytes, binaries: Bytes, traceID: Bytes, spanID: Bytes, nested: Bytes,
}

// role is what the walks need to know about a field beyond its type.
type role uint8

const (
	list     role = 1 << iota // repeated
	optional                  // present or absent, even when its value is the default
	choice                    // a member of its message's only oneof; optional too
	deeper                    // its content is one level deeper in an AnyValue
	record                    // every one of it is one record
	shared                    // one attribute of a resource or scope
)

type spec struct {
	name string // in paths of protobuf errors
	json string // the only name JSON knows it by
	kind kind
	role role
	of   id // what a nested field holds
}

func (f *spec) is(r role) bool { return f.role&r != 0 }

// packable reports whether several values may stand in one Bytes field.
func (f *spec) packable() bool { return f.is(list) && wires[f.kind] != Bytes }

// width is the number of fields of a message, counting from 0: no OTLP field number is larger.
const width = 17

type message [width]spec

// id numbers the messages; it stands in for a pointer, since the messages form circles.
type id uint8

const (
	anyValue id = iota
	arrayValue
	keyValueList
	keyValue
	entityRef
	resource
	scope
	logsRequest
	resourceLogs
	scopeLogs
	logRecord
	tracesRequest
	resourceSpans
	scopeSpans
	span
	event
	link
	status
	metricsRequest
	resourceMetrics
	scopeMetrics
	metric
	gauge
	sum
	histogram
	exponential
	summary
	numberPoint
	histogramPoint
	exponentialPoint
	buckets
	summaryPoint
	quantile
	exemplar
	messages // how many there are
)

// schema is every message an Export request can hold, by field number. A test compares it with
// the published descriptors.
var schema = [messages]message{
	anyValue: {
		1: {"string_value", "stringValue", text, choice, 0},
		2: {"bool_value", "boolValue", boolean, choice, 0},
		3: {"int_value", "intValue", int64s, choice, 0},
		4: {"double_value", "doubleValue", double, choice, 0},
		5: {"array_value", "arrayValue", nested, choice | deeper, arrayValue},
		6: {"kvlist_value", "kvlistValue", nested, choice | deeper, keyValueList},
		7: {"bytes_value", "bytesValue", binaries, choice, 0},
		8: {"string_value_strindex", "stringValueStrindex", int32s, choice, 0},
	},
	arrayValue:   {1: {"values", "values", nested, list, anyValue}},
	keyValueList: {1: {"values", "values", nested, list, keyValue}},
	keyValue: {
		1: {"key", "key", text, 0, 0},
		2: {"value", "value", nested, 0, anyValue},
		3: {"key_strindex", "keyStrindex", int32s, 0, 0},
	},
	entityRef: {
		1: {"schema_url", "schemaUrl", text, 0, 0},
		2: {"type", "type", text, 0, 0},
		3: {"id_keys", "idKeys", text, list, 0},
		4: {"description_keys", "descriptionKeys", text, list, 0},
	},
	resource: {
		1: {"attributes", "attributes", nested, list | shared, keyValue},
		2: {"dropped_attributes_count", "droppedAttributesCount", uint32s, 0, 0},
		3: {"entity_refs", "entityRefs", nested, list, entityRef},
	},
	scope: {
		1: {"name", "name", text, 0, 0},
		2: {"version", "version", text, 0, 0},
		3: {"attributes", "attributes", nested, list | shared, keyValue},
		4: {"dropped_attributes_count", "droppedAttributesCount", uint32s, 0, 0},
	},

	logsRequest: {1: {"resource_logs", "resourceLogs", nested, list, resourceLogs}},
	resourceLogs: {
		1: {"resource", "resource", nested, 0, resource},
		2: {"scope_logs", "scopeLogs", nested, list, scopeLogs},
		3: {"schema_url", "schemaUrl", text, 0, 0},
	},
	scopeLogs: {
		1: {"scope", "scope", nested, 0, scope},
		2: {"log_records", "logRecords", nested, list | record, logRecord},
		3: {"schema_url", "schemaUrl", text, 0, 0},
	},
	logRecord: {
		1:  {"time_unix_nano", "timeUnixNano", fixed64s, 0, 0},
		2:  {"severity_number", "severityNumber", enum, 0, 0},
		3:  {"severity_text", "severityText", text, 0, 0},
		5:  {"body", "body", nested, 0, anyValue},
		6:  {"attributes", "attributes", nested, list, keyValue},
		7:  {"dropped_attributes_count", "droppedAttributesCount", uint32s, 0, 0},
		8:  {"flags", "flags", fixed32s, 0, 0},
		9:  {"trace_id", "traceId", traceID, 0, 0},
		10: {"span_id", "spanId", spanID, 0, 0},
		11: {"observed_time_unix_nano", "observedTimeUnixNano", fixed64s, 0, 0},
		12: {"event_name", "eventName", text, 0, 0},
	},

	tracesRequest: {1: {"resource_spans", "resourceSpans", nested, list, resourceSpans}},
	resourceSpans: {
		1: {"resource", "resource", nested, 0, resource},
		2: {"scope_spans", "scopeSpans", nested, list, scopeSpans},
		3: {"schema_url", "schemaUrl", text, 0, 0},
	},
	scopeSpans: {
		1: {"scope", "scope", nested, 0, scope},
		2: {"spans", "spans", nested, list | record, span},
		3: {"schema_url", "schemaUrl", text, 0, 0},
	},
	span: {
		1:  {"trace_id", "traceId", traceID, 0, 0},
		2:  {"span_id", "spanId", spanID, 0, 0},
		3:  {"trace_state", "traceState", text, 0, 0},
		4:  {"parent_span_id", "parentSpanId", spanID, 0, 0},
		5:  {"name", "name", text, 0, 0},
		6:  {"kind", "kind", enum, 0, 0},
		7:  {"start_time_unix_nano", "startTimeUnixNano", fixed64s, 0, 0},
		8:  {"end_time_unix_nano", "endTimeUnixNano", fixed64s, 0, 0},
		9:  {"attributes", "attributes", nested, list, keyValue},
		10: {"dropped_attributes_count", "droppedAttributesCount", uint32s, 0, 0},
		11: {"events", "events", nested, list, event},
		12: {"dropped_events_count", "droppedEventsCount", uint32s, 0, 0},
		13: {"links", "links", nested, list, link},
		14: {"dropped_links_count", "droppedLinksCount", uint32s, 0, 0},
		15: {"status", "status", nested, 0, status},
		16: {"flags", "flags", fixed32s, 0, 0},
	},
	event: {
		1: {"time_unix_nano", "timeUnixNano", fixed64s, 0, 0},
		2: {"name", "name", text, 0, 0},
		3: {"attributes", "attributes", nested, list, keyValue},
		4: {"dropped_attributes_count", "droppedAttributesCount", uint32s, 0, 0},
	},
	link: {
		1: {"trace_id", "traceId", traceID, 0, 0},
		2: {"span_id", "spanId", spanID, 0, 0},
		3: {"trace_state", "traceState", text, 0, 0},
		4: {"attributes", "attributes", nested, list, keyValue},
		5: {"dropped_attributes_count", "droppedAttributesCount", uint32s, 0, 0},
		6: {"flags", "flags", fixed32s, 0, 0},
	},
	status: {
		2: {"message", "message", text, 0, 0},
		3: {"code", "code", enum, 0, 0},
	},

	metricsRequest: {1: {"resource_metrics", "resourceMetrics", nested, list, resourceMetrics}},
	resourceMetrics: {
		1: {"resource", "resource", nested, 0, resource},
		2: {"scope_metrics", "scopeMetrics", nested, list, scopeMetrics},
		3: {"schema_url", "schemaUrl", text, 0, 0},
	},
	scopeMetrics: {
		1: {"scope", "scope", nested, 0, scope},
		2: {"metrics", "metrics", nested, list, metric},
		3: {"schema_url", "schemaUrl", text, 0, 0},
	},
	metric: {
		1:  {"name", "name", text, 0, 0},
		2:  {"description", "description", text, 0, 0},
		3:  {"unit", "unit", text, 0, 0},
		5:  {"gauge", "gauge", nested, choice, gauge},
		7:  {"sum", "sum", nested, choice, sum},
		9:  {"histogram", "histogram", nested, choice, histogram},
		10: {"exponential_histogram", "exponentialHistogram", nested, choice, exponential},
		11: {"summary", "summary", nested, choice, summary},
		12: {"metadata", "metadata", nested, list, keyValue},
	},
	gauge: {1: {"data_points", "dataPoints", nested, list | record, numberPoint}},
	sum: {
		1: {"data_points", "dataPoints", nested, list | record, numberPoint},
		2: {"aggregation_temporality", "aggregationTemporality", enum, 0, 0},
		3: {"is_monotonic", "isMonotonic", boolean, 0, 0},
	},
	histogram: {
		1: {"data_points", "dataPoints", nested, list | record, histogramPoint},
		2: {"aggregation_temporality", "aggregationTemporality", enum, 0, 0},
	},
	exponential: {
		1: {"data_points", "dataPoints", nested, list | record, exponentialPoint},
		2: {"aggregation_temporality", "aggregationTemporality", enum, 0, 0},
	},
	summary: {1: {"data_points", "dataPoints", nested, list | record, summaryPoint}},
	numberPoint: {
		2: {"start_time_unix_nano", "startTimeUnixNano", fixed64s, 0, 0},
		3: {"time_unix_nano", "timeUnixNano", fixed64s, 0, 0},
		4: {"as_double", "asDouble", double, choice, 0},
		5: {"exemplars", "exemplars", nested, list, exemplar},
		6: {"as_int", "asInt", sfixed64s, choice, 0},
		7: {"attributes", "attributes", nested, list, keyValue},
		8: {"flags", "flags", uint32s, 0, 0},
	},
	histogramPoint: {
		2:  {"start_time_unix_nano", "startTimeUnixNano", fixed64s, 0, 0},
		3:  {"time_unix_nano", "timeUnixNano", fixed64s, 0, 0},
		4:  {"count", "count", fixed64s, 0, 0},
		5:  {"sum", "sum", double, optional, 0},
		6:  {"bucket_counts", "bucketCounts", fixed64s, list, 0},
		7:  {"explicit_bounds", "explicitBounds", double, list, 0},
		8:  {"exemplars", "exemplars", nested, list, exemplar},
		9:  {"attributes", "attributes", nested, list, keyValue},
		10: {"flags", "flags", uint32s, 0, 0},
		11: {"min", "min", double, optional, 0},
		12: {"max", "max", double, optional, 0},
	},
	exponentialPoint: {
		1:  {"attributes", "attributes", nested, list, keyValue},
		2:  {"start_time_unix_nano", "startTimeUnixNano", fixed64s, 0, 0},
		3:  {"time_unix_nano", "timeUnixNano", fixed64s, 0, 0},
		4:  {"count", "count", fixed64s, 0, 0},
		5:  {"sum", "sum", double, optional, 0},
		6:  {"scale", "scale", sint32s, 0, 0},
		7:  {"zero_count", "zeroCount", fixed64s, 0, 0},
		8:  {"positive", "positive", nested, 0, buckets},
		9:  {"negative", "negative", nested, 0, buckets},
		10: {"flags", "flags", uint32s, 0, 0},
		11: {"exemplars", "exemplars", nested, list, exemplar},
		12: {"min", "min", double, optional, 0},
		13: {"max", "max", double, optional, 0},
		14: {"zero_threshold", "zeroThreshold", double, 0, 0},
	},
	buckets: {
		1: {"offset", "offset", sint32s, 0, 0},
		2: {"bucket_counts", "bucketCounts", uint64s, list, 0},
	},
	summaryPoint: {
		2: {"start_time_unix_nano", "startTimeUnixNano", fixed64s, 0, 0},
		3: {"time_unix_nano", "timeUnixNano", fixed64s, 0, 0},
		4: {"count", "count", fixed64s, 0, 0},
		5: {"sum", "sum", double, 0, 0},
		6: {"quantile_values", "quantileValues", nested, list, quantile},
		7: {"attributes", "attributes", nested, list, keyValue},
		8: {"flags", "flags", uint32s, 0, 0},
	},
	quantile: {
		1: {"quantile", "quantile", double, 0, 0},
		2: {"value", "value", double, 0, 0},
	},
	exemplar: {
		2: {"time_unix_nano", "timeUnixNano", fixed64s, 0, 0},
		3: {"as_double", "asDouble", double, choice, 0},
		4: {"span_id", "spanId", spanID, 0, 0},
		5: {"trace_id", "traceId", traceID, 0, 0},
		6: {"as_int", "asInt", sfixed64s, choice, 0},
		7: {"filtered_attributes", "filteredAttributes", nested, list, keyValue},
	},
}
