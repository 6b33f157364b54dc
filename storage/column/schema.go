package column

import "mira/storage/otlp"

// enc says how a field lies on the wire and how it becomes a column.
type enc uint8

const (
	encNone     enc = iota
	encFixed64      // fixed64, sfixed64: Time, Uint, Int
	encDouble       // double: Double
	encFixed32      // fixed32: Uint
	encUint32       // uint32: Uint
	encUint64       // uint64: Uint
	encInt32        // int32, enum: Int
	encSint32       // sint32: Int
	encString       // string: String; elsewhere than in a column, a string to be checked
	encID           // bytes of a fixed length, or none: Fixed
	encMessage      // singular message: its fields are columns of the same row
	encList         // repeated message: List<Struct>
	encPacked       // repeated scalar: List
	encAttrs        // repeated KeyValue: a column per key
	encKeyValue     // repeated KeyValue inside a list: List<Struct>
	encBody         // AnyValue: a column for strings and one for the rest
	encOverflow     // a message or string without a column
)

// field describes one field of an OTLP message and the column it fills. These tables drive the
// way in (reader), the way out (Encoder) and the replacement of invalid UTF-8 (appendValid).
type field struct {
	num  int
	enc  enc
	name string  // of the column, or of the member of a struct
	typ  Type    // of the column, or of its elements (encPacked)
	sub  message // what a message or a list of messages consists of
	item enc     // encPacked: how an element lies on the wire
	keep bool    // the default is a value like any other: a field of a oneof, or optional
	not  int     // the number of the other member of the oneof
}

// message is one OTLP message, the index of its fields in messages.
type message uint8

const (
	msgNone message = iota
	msgResource
	msgEntityRef
	msgScope
	msgLogRecord
	msgSpan
	msgStatus
	msgEvent
	msgLink
	msgMetric
	msgNumber
	msgHistogram
	msgExponential
	msgSummary
	msgPositive
	msgNegative
	msgQuantile
	msgExemplar
	msgKeyValue
	msgAnyValue
	msgArrayValue
	msgKvlist
)

// schemaURL is the number under which a schema_url that is not UTF-8 lies in the overflow of
// its resource or scope. The field itself belongs to the message around those; their own numbers
// stay far below.
const schemaURL = 1000

// The numbers of AnyValue's and KeyValue's fields.
const (
	anyString = 1
	anyBool   = 2
	anyInt    = 3
	anyDouble = 4
	anyArray  = 5
	anyKvlist = 6
	anyBytes  = 7
	anyIndex  = 8 // string_value_strindex, of profiles

	kvKey   = 1
	kvValue = 2
	kvIndex = 3 // key_strindex, of profiles
)

var messages = [...][]field{
	msgResource: {
		{num: 1, enc: encAttrs, sub: msgKeyValue},
		{num: 2, enc: encUint32, name: "resource.dropped_attributes_count", typ: Uint},
		{num: 3, enc: encOverflow, sub: msgEntityRef},
		{num: schemaURL, enc: encString},
	},
	msgEntityRef: {
		{num: 1, enc: encString}, {num: 2, enc: encString}, {num: 3, enc: encString}, {num: 4, enc: encString},
	},
	msgScope: {
		{num: 1, enc: encString, name: "scope.name", typ: String},
		{num: 2, enc: encString, name: "scope.version", typ: String},
		{num: 3, enc: encAttrs, sub: msgKeyValue},
		{num: 4, enc: encUint32, name: "scope.dropped_attributes_count", typ: Uint},
		{num: schemaURL, enc: encString},
	},
	msgLogRecord: {
		{num: 1, enc: encFixed64, name: "time_unix_nano", typ: Time},
		{num: 11, enc: encFixed64, name: "observed_time_unix_nano", typ: Time},
		{num: 2, enc: encInt32, name: "severity_number", typ: Int},
		{num: 3, enc: encString, name: "severity_text", typ: String},
		{num: 5, enc: encBody, name: "body", typ: String, sub: msgAnyValue},
		{num: 6, enc: encAttrs, sub: msgKeyValue},
		{num: 7, enc: encUint32, name: "dropped_attributes_count", typ: Uint},
		{num: 8, enc: encFixed32, name: "flags", typ: Uint},
		{num: 9, enc: encID, name: "trace_id", typ: Fixed},
		{num: 10, enc: encID, name: "span_id", typ: Fixed},
		{num: 12, enc: encString, name: "event_name", typ: String},
	},
	msgSpan: {
		{num: 7, enc: encFixed64, name: "start_time_unix_nano", typ: Time},
		{num: 8, enc: encFixed64, name: "end_time_unix_nano", typ: Time},
		{num: 1, enc: encID, name: "trace_id", typ: Fixed},
		{num: 2, enc: encID, name: "span_id", typ: Fixed},
		{num: 4, enc: encID, name: "parent_span_id", typ: Fixed},
		{num: 3, enc: encString, name: "trace_state", typ: String},
		{num: 16, enc: encFixed32, name: "flags", typ: Uint},
		{num: 5, enc: encString, name: "name", typ: String},
		{num: 6, enc: encInt32, name: "kind", typ: Int},
		{num: 15, enc: encMessage, sub: msgStatus},
		{num: 9, enc: encAttrs, sub: msgKeyValue},
		{num: 10, enc: encUint32, name: "dropped_attributes_count", typ: Uint},
		{num: 11, enc: encList, name: "events", typ: List, sub: msgEvent},
		{num: 12, enc: encUint32, name: "dropped_events_count", typ: Uint},
		{num: 13, enc: encList, name: "links", typ: List, sub: msgLink},
		{num: 14, enc: encUint32, name: "dropped_links_count", typ: Uint},
	},
	msgStatus: {
		{num: 3, enc: encInt32, name: "status.code", typ: Int},
		{num: 2, enc: encString, name: "status.message", typ: String},
	},
	msgEvent: {
		{num: 1, enc: encFixed64, name: "time_unix_nano", typ: Time},
		{num: 2, enc: encString, name: "name", typ: String},
		{num: 3, enc: encKeyValue, name: "attributes", typ: List, sub: msgKeyValue},
		{num: 4, enc: encUint32, name: "dropped_attributes_count", typ: Uint},
	},
	msgLink: {
		{num: 1, enc: encID, name: "trace_id", typ: Fixed},
		{num: 2, enc: encID, name: "span_id", typ: Fixed},
		{num: 3, enc: encString, name: "trace_state", typ: String},
		{num: 4, enc: encKeyValue, name: "attributes", typ: List, sub: msgKeyValue},
		{num: 5, enc: encUint32, name: "dropped_attributes_count", typ: Uint},
		{num: 6, enc: encFixed32, name: "flags", typ: Uint},
	},
	msgMetric: {
		{num: 1, enc: encString, name: "metric.name", typ: String},
		{num: 2, enc: encString, name: "metric.description", typ: String},
		{num: 3, enc: encString, name: "metric.unit", typ: String},
		{num: 12, enc: encAttrs, sub: msgKeyValue},
	},
	msgNumber: {
		{num: 3, enc: encFixed64, name: "time_unix_nano", typ: Time},
		{num: 2, enc: encFixed64, name: "start_time_unix_nano", typ: Time},
		{num: 6, enc: encFixed64, name: "as_int", typ: Int, keep: true, not: 4},
		{num: 4, enc: encDouble, name: "as_double", typ: Double, keep: true, not: 6},
		{num: 7, enc: encAttrs, sub: msgKeyValue},
		{num: 8, enc: encUint32, name: "flags", typ: Uint},
		{num: 5, enc: encList, name: "exemplars", typ: List, sub: msgExemplar},
	},
	msgHistogram: {
		{num: 3, enc: encFixed64, name: "time_unix_nano", typ: Time},
		{num: 2, enc: encFixed64, name: "start_time_unix_nano", typ: Time},
		{num: 4, enc: encFixed64, name: "count", typ: Uint},
		{num: 5, enc: encDouble, name: "sum", typ: Double, keep: true},
		{num: 11, enc: encDouble, name: "min", typ: Double, keep: true},
		{num: 12, enc: encDouble, name: "max", typ: Double, keep: true},
		{num: 6, enc: encPacked, name: "bucket_counts", typ: Uint, item: encFixed64},
		{num: 7, enc: encPacked, name: "explicit_bounds", typ: Double, item: encDouble},
		{num: 9, enc: encAttrs, sub: msgKeyValue},
		{num: 10, enc: encUint32, name: "flags", typ: Uint},
		{num: 8, enc: encList, name: "exemplars", typ: List, sub: msgExemplar},
	},
	msgExponential: {
		{num: 3, enc: encFixed64, name: "time_unix_nano", typ: Time},
		{num: 2, enc: encFixed64, name: "start_time_unix_nano", typ: Time},
		{num: 4, enc: encFixed64, name: "count", typ: Uint},
		{num: 5, enc: encDouble, name: "sum", typ: Double, keep: true},
		{num: 12, enc: encDouble, name: "min", typ: Double, keep: true},
		{num: 13, enc: encDouble, name: "max", typ: Double, keep: true},
		{num: 6, enc: encSint32, name: "scale", typ: Int},
		{num: 7, enc: encFixed64, name: "zero_count", typ: Uint},
		{num: 14, enc: encDouble, name: "zero_threshold", typ: Double},
		{num: 8, enc: encMessage, sub: msgPositive},
		{num: 9, enc: encMessage, sub: msgNegative},
		{num: 1, enc: encAttrs, sub: msgKeyValue},
		{num: 10, enc: encUint32, name: "flags", typ: Uint},
		{num: 11, enc: encList, name: "exemplars", typ: List, sub: msgExemplar},
	},
	msgSummary: {
		{num: 3, enc: encFixed64, name: "time_unix_nano", typ: Time},
		{num: 2, enc: encFixed64, name: "start_time_unix_nano", typ: Time},
		{num: 4, enc: encFixed64, name: "count", typ: Uint},
		{num: 5, enc: encDouble, name: "sum", typ: Double},
		{num: 6, enc: encList, name: "quantile_values", typ: List, sub: msgQuantile},
		{num: 7, enc: encAttrs, sub: msgKeyValue},
		{num: 8, enc: encUint32, name: "flags", typ: Uint},
	},
	msgPositive: {
		{num: 1, enc: encSint32, name: "positive.offset", typ: Int},
		{num: 2, enc: encPacked, name: "positive.bucket_counts", typ: Uint, item: encUint64},
	},
	msgNegative: {
		{num: 1, enc: encSint32, name: "negative.offset", typ: Int},
		{num: 2, enc: encPacked, name: "negative.bucket_counts", typ: Uint, item: encUint64},
	},
	msgQuantile: {
		{num: 1, enc: encDouble, name: "quantile", typ: Double},
		{num: 2, enc: encDouble, name: "value", typ: Double},
	},
	msgExemplar: {
		{num: 2, enc: encFixed64, name: "time_unix_nano", typ: Time},
		{num: 6, enc: encFixed64, name: "as_int", typ: Int, keep: true, not: 3},
		{num: 3, enc: encDouble, name: "as_double", typ: Double, keep: true, not: 6},
		{num: 5, enc: encID, name: "trace_id", typ: Fixed},
		{num: 4, enc: encID, name: "span_id", typ: Fixed},
		{num: 7, enc: encKeyValue, name: "filtered_attributes", typ: List, sub: msgKeyValue},
	},
	msgKeyValue: {
		{num: kvKey, enc: encString},
		{num: kvValue, enc: encOverflow, sub: msgAnyValue},
	},
	msgAnyValue: {
		{num: anyString, enc: encString},
		{num: anyArray, enc: encOverflow, sub: msgArrayValue},
		{num: anyKvlist, enc: encOverflow, sub: msgKvlist},
	},
	msgArrayValue: {{num: 1, enc: encOverflow, sub: msgAnyValue}},
	msgKvlist:     {{num: 1, enc: encOverflow, sub: msgKeyValue}},
}

// field returns the field of m with that number, or nil.
func (m message) field(num int) *field {
	for i := range messages[m] {
		if messages[m][i].num == num {
			return &messages[m][i]
		}
	}
	return nil
}

// members are the members of the struct that an attribute inside a list becomes. At most one of
// those behind the key is set: none when the attribute has no value.
var members = [...]struct {
	name string
	typ  Type
}{
	{"key", String}, {"string", String}, {"bool", Bool}, {"int", Int}, {"double", Double}, {"bytes", Bytes}, {"any", Bytes},
}

// The types of attribute columns and what a second type of a key adds to the column's name.
var kinds = [...]struct {
	name string
	typ  Type
	tag  byte // in AnyValue
}{
	KindString: {"string", String, anyString<<3 | byte(otlp.Bytes)},
	KindBool:   {"bool", Bool, anyBool<<3 | byte(otlp.Varint)},
	KindInt:    {"int", Int, anyInt<<3 | byte(otlp.Varint)},
	KindDouble: {"double", Double, anyDouble<<3 | byte(otlp.Fixed64)},
	KindBytes:  {"bytes", Bytes, anyBytes<<3 | byte(otlp.Bytes)},
	KindAny:    {"any", Bytes, 0},
}

// wire returns the wire type of a field, or of an element of a packed one.
func (e enc) wire() otlp.Type {
	switch e {
	case encFixed64, encDouble:
		return otlp.Fixed64
	case encFixed32:
		return otlp.Fixed32
	case encUint32, encUint64, encInt32, encSint32:
		return otlp.Varint
	default:
		return otlp.Bytes
	}
}

// width returns the Width of the field's column: that of OTLP, whatever the values are.
func (f *field) width() int {
	switch f.enc {
	case encFixed32, encUint32, encInt32, encSint32:
		return 4
	case encID:
		if f.name == "trace_id" {
			return 16
		}
		return 8
	default:
		return f.typ.width()
	}
}

// width returns the Width of a column of attributes, or of elements, of the type.
func (t Type) width() int {
	if t == Int || t == Uint {
		return 8
	}
	return 0
}
