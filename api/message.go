package api

import "mira/storage/signal"

// shape says how a field of OTLP lies on the wire and how a row shows it.
type shape uint8

const (
	text     shape = iota // string
	id                    // bytes, as lower-case hexadecimal digits
	boolean               // bool
	small                 // int32, enum: a number
	signed                // sint32: a number
	unsigned              // uint32, fixed32: a number
	large                 // sfixed64: an integer of 64 bits, as a decimal string
	count                 // fixed64: the same without a sign
	double                // double: a number, or NaN, Infinity, -Infinity as a string
	anyValue              // AnyValue
	pairs                 // repeated KeyValue: an object
	list                  // repeated message: an array of objects
	flat                  // message whose fields stand in the row itself
	counts                // repeated fixed64, as decimal strings
	varints               // repeated uint64, the same
	doubles               // repeated double
)

// field is one field of a message, in the order in which a row shows them.
type field struct {
	num    int
	name   string // the key in the row, which is also the name of the column
	shape  shape
	always bool    // shown even when it has its default
	sub    message // of list and flat
	key    string  // `"name":`
}

// message is the fields of one OTLP message.
type message []field

// of makes a message, with the keys of its fields ready to be written.
func of(fields ...field) message {
	for i := range fields {
		fields[i].key = `"` + fields[i].name + `":`
	}
	return fields
}

// attributes is the field that holds the attributes of a record.
func attributes(num int) field {
	return field{num: num, name: "attributes", shape: pairs, always: true}
}

// maxNumber is above every field number of a message here.
const maxNumber = 20

var (
	logRecord = of(
		field{num: 1, name: "time_unix_nano", shape: count, always: true},
		field{num: 11, name: "observed_time_unix_nano", shape: count, always: true},
		field{num: 2, name: "severity_number", shape: small, always: true},
		field{num: 3, name: "severity_text", shape: text, always: true},
		field{num: 12, name: "event_name", shape: text},
		field{num: 5, name: "body", shape: anyValue, always: true},
		field{num: 9, name: "trace_id", shape: id},
		field{num: 10, name: "span_id", shape: id},
		field{num: 8, name: "flags", shape: unsigned},
		attributes(6),
		field{num: 7, name: "dropped_attributes_count", shape: unsigned},
	)
	span = of(
		field{num: 7, name: "start_time_unix_nano", shape: count, always: true},
		field{num: 8, name: "end_time_unix_nano", shape: count, always: true},
		field{num: 1, name: "trace_id", shape: id, always: true},
		field{num: 2, name: "span_id", shape: id, always: true},
		field{num: 4, name: "parent_span_id", shape: id},
		field{num: 3, name: "trace_state", shape: text},
		field{num: 16, name: "flags", shape: unsigned},
		field{num: 5, name: "name", shape: text, always: true},
		field{num: 6, name: "kind", shape: small, always: true},
		field{num: 15, shape: flat, always: true, sub: of(
			field{num: 3, name: "status.code", shape: small, always: true},
			field{num: 2, name: "status.message", shape: text},
		)},
		attributes(9),
		field{num: 10, name: "dropped_attributes_count", shape: unsigned},
		field{num: 11, name: "events", shape: list, sub: of(
			field{num: 1, name: "time_unix_nano", shape: count, always: true},
			field{num: 2, name: "name", shape: text, always: true},
			attributes(3),
			field{num: 4, name: "dropped_attributes_count", shape: unsigned},
		)},
		field{num: 12, name: "dropped_events_count", shape: unsigned},
		field{num: 13, name: "links", shape: list, sub: of(
			field{num: 1, name: "trace_id", shape: id, always: true},
			field{num: 2, name: "span_id", shape: id, always: true},
			field{num: 3, name: "trace_state", shape: text},
			field{num: 6, name: "flags", shape: unsigned},
			attributes(4),
			field{num: 5, name: "dropped_attributes_count", shape: unsigned},
		)},
		field{num: 14, name: "dropped_links_count", shape: unsigned},
	)
	exemplars = of(
		field{num: 2, name: "time_unix_nano", shape: count, always: true},
		field{num: 6, name: "as_int", shape: large},
		field{num: 3, name: "as_double", shape: double},
		field{num: 5, name: "trace_id", shape: id},
		field{num: 4, name: "span_id", shape: id},
		field{num: 7, name: "filtered_attributes", shape: pairs, always: true},
	)
	pointTime  = field{num: 3, name: "time_unix_nano", shape: count, always: true}
	pointStart = field{num: 2, name: "start_time_unix_nano", shape: count}
	number     = of(
		pointTime, pointStart,
		field{num: 6, name: "as_int", shape: large},
		field{num: 4, name: "as_double", shape: double},
		attributes(7),
		field{num: 8, name: "flags", shape: unsigned},
		field{num: 5, name: "exemplars", shape: list, sub: exemplars},
	)
	histogram = of(
		pointTime, pointStart,
		field{num: 4, name: "count", shape: count, always: true},
		field{num: 5, name: "sum", shape: double},
		field{num: 11, name: "min", shape: double},
		field{num: 12, name: "max", shape: double},
		field{num: 6, name: "bucket_counts", shape: counts},
		field{num: 7, name: "explicit_bounds", shape: doubles},
		attributes(9),
		field{num: 10, name: "flags", shape: unsigned},
		field{num: 8, name: "exemplars", shape: list, sub: exemplars},
	)
	exponential = of(
		pointTime, pointStart,
		field{num: 4, name: "count", shape: count, always: true},
		field{num: 5, name: "sum", shape: double},
		field{num: 12, name: "min", shape: double},
		field{num: 13, name: "max", shape: double},
		field{num: 6, name: "scale", shape: signed, always: true},
		field{num: 7, name: "zero_count", shape: count, always: true},
		field{num: 14, name: "zero_threshold", shape: double},
		field{num: 8, shape: flat, sub: of(
			field{num: 1, name: "positive.offset", shape: signed, always: true},
			field{num: 2, name: "positive.bucket_counts", shape: varints},
		)},
		field{num: 9, shape: flat, sub: of(
			field{num: 1, name: "negative.offset", shape: signed, always: true},
			field{num: 2, name: "negative.bucket_counts", shape: varints},
		)},
		attributes(1),
		field{num: 10, name: "flags", shape: unsigned},
		field{num: 11, name: "exemplars", shape: list, sub: exemplars},
	)
	summary = of(
		pointTime, pointStart,
		field{num: 4, name: "count", shape: count, always: true},
		field{num: 5, name: "sum", shape: double, always: true},
		field{num: 6, name: "quantile_values", shape: list, sub: of(
			field{num: 1, name: "quantile", shape: double, always: true},
			field{num: 2, name: "value", shape: double, always: true},
		)},
		attributes(7),
		field{num: 8, name: "flags", shape: unsigned},
	)
	metric = of(
		field{num: 1, name: "metric.name", shape: text, always: true},
		field{num: 2, name: "metric.description", shape: text},
		field{num: 3, name: "metric.unit", shape: text, always: true},
		field{num: 12, name: "metric.metadata", shape: pairs},
	)
	resource = of(
		field{num: 1, name: "resource.attributes", shape: pairs, always: true},
		field{num: 2, name: "resource.dropped_attributes_count", shape: unsigned},
	)
	scope = of(
		field{num: 1, name: "name", shape: text},
		field{num: 2, name: "version", shape: text},
		field{num: 3, name: "attributes", shape: pairs},
		field{num: 4, name: "dropped_attributes_count", shape: unsigned},
	)
)

var (
	temporality = field{num: 2, name: "metric.aggregation_temporality", shape: small, always: true}
	monotonic   = field{num: 3, name: "metric.is_monotonic", shape: boolean, always: true}
)

// metricType is what the oneof of a Metric may hold, by its field number.
type metricType struct {
	name  string
	data  message // the fields beside the points
	point message
}

var metricTypes = map[int]metricType{
	5:  {"gauge", nil, number},
	7:  {"sum", of(temporality, monotonic), number},
	9:  {"histogram", of(temporality), histogram},
	10: {"exponential_histogram", of(temporality), exponential},
	11: {"summary", nil, summary},
}

// rowKeys lists the keys that rows of s may have, without those inside objects.
func rowKeys(s signal.Signal) map[string]bool {
	keys := map[string]bool{"time": true, "scope": true, "resource.schema_url": true}
	var add func(message)
	add = func(m message) {
		for _, f := range m {
			if f.shape == flat {
				add(f.sub)
			} else {
				keys[f.name] = true
			}
		}
	}
	add(resource)
	switch s {
	case signal.Logs:
		add(logRecord)
	case signal.Traces:
		add(span)
	default:
		add(metric)
		keys["metric.type"] = true
		for _, t := range metricTypes {
			add(t.data)
			add(t.point)
		}
	}
	return keys
}
