package query

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mira/storage/column"
	"mira/storage/signal"
)

// path reads one field or attribute of a record.
type path struct {
	sig signal.Signal
	field
	attribute string // the first key, where field.keyed
	rest      []key  // further keys, inside an array or a map
}

// field is what a path's name stands for.
type field struct {
	column  string       // a column's name; "" for attributes
	level   column.Level // the message it belongs to
	number  int          // its field there, where an overflow column may hold it; 0: it never does
	missing value        // what a row without it yields
	keyed   bool         // a map of attributes: the path names one by its key
	id      bool         // a trace or span id
	any     bool         // an AnyValue: a second column, column.any, holds what is no string
}

var (
	unsetInt    = value{kind: kindInt, unset: true}
	unsetString = value{kind: kindString, unset: true}
	unsetDouble = value{kind: kindDouble, unset: true}
	unsetBool   = value{kind: kindBool, unset: true}
)

func record(name string, missing value, number int) field {
	return field{column: name, level: column.LevelRecord, missing: missing, number: number}
}

func id(name string) field { return field{column: name, level: column.LevelRecord, id: true} }

// attributeNumbers are the field numbers of the attributes in the messages of each level. Data
// points have their own, see pointAttributes.
var attributeNumbers = map[column.Level]int{
	column.LevelResource: 1, column.LevelScope: 3, column.LevelRecord: 0, column.LevelMetric: 12,
}

// recordAttributes is the field number of the attributes of a record.
var recordAttributes = map[signal.Signal]int{signal.Logs: 6, signal.Traces: 9}

// pointAttributes is the field number of the attributes of a data point, by metric.type.
var pointAttributes = map[string]int{
	"gauge": 7, "sum": 7, "histogram": 9, "exponential_histogram": 1, "summary": 7,
}

// shared are the paths every signal has.
var shared = map[string]field{
	"attributes":                        {level: column.LevelRecord, keyed: true},
	"flags":                             record("flags", unsetInt, 0),
	"resource.attributes":               {level: column.LevelResource, keyed: true},
	"resource.dropped_attributes_count": {column: "resource.dropped_attributes_count", level: column.LevelResource, missing: unsetInt},
	"resource.schema_url":               {column: "resource.schema_url", level: column.LevelResource, missing: unsetString},
	"scope.attributes":                  {level: column.LevelScope, keyed: true},
	"scope.name":                        {column: "scope.name", level: column.LevelScope, missing: unsetString, number: 1},
	"scope.version":                     {column: "scope.version", level: column.LevelScope, missing: unsetString, number: 2},
	"scope.dropped_attributes_count":    {column: "scope.dropped_attributes_count", level: column.LevelScope, missing: unsetInt},
	"scope.schema_url":                  {column: "scope.schema_url", level: column.LevelScope, missing: unsetString},
}

// own are the paths of one signal's records.
var own = map[signal.Signal]map[string]field{
	signal.Logs: {
		"time_unix_nano":           record("time_unix_nano", unsetInt, 0),
		"observed_time_unix_nano":  record("observed_time_unix_nano", unsetInt, 0),
		"severity_number":          record("severity_number", unsetInt, 0),
		"severity_text":            record("severity_text", unsetString, 3),
		"body":                     {column: "body", level: column.LevelRecord, number: 5, any: true},
		"event_name":               record("event_name", unsetString, 12),
		"dropped_attributes_count": record("dropped_attributes_count", unsetInt, 0),
		"trace_id":                 id("trace_id"),
		"span_id":                  id("span_id"),
	},
	signal.Traces: {
		"start_time_unix_nano":     record("start_time_unix_nano", unsetInt, 0),
		"end_time_unix_nano":       record("end_time_unix_nano", unsetInt, 0),
		"trace_id":                 id("trace_id"),
		"span_id":                  id("span_id"),
		"parent_span_id":           id("parent_span_id"),
		"trace_state":              record("trace_state", unsetString, 3),
		"name":                     record("name", unsetString, 5),
		"kind":                     record("kind", unsetInt, 0),
		"status.code":              record("status.code", unsetInt, 0),
		"status.message":           record("status.message", unsetString, 15),
		"dropped_attributes_count": record("dropped_attributes_count", unsetInt, 0),
		"dropped_events_count":     record("dropped_events_count", unsetInt, 0),
		"dropped_links_count":      record("dropped_links_count", unsetInt, 0),
	},
	signal.Metrics: {
		"time_unix_nano":                 record("time_unix_nano", unsetInt, 0),
		"start_time_unix_nano":           record("start_time_unix_nano", unsetInt, 0),
		"value_int":                      record("as_int", value{}, 0),
		"value_double":                   record("as_double", value{}, 0),
		"as_int":                         record("as_int", value{}, 0),
		"as_double":                      record("as_double", value{}, 0),
		"count":                          record("count", unsetInt, 0),
		"sum":                            record("sum", value{}, 0),
		"min":                            record("min", value{}, 0),
		"max":                            record("max", value{}, 0),
		"scale":                          record("scale", unsetInt, 0),
		"zero_count":                     record("zero_count", unsetInt, 0),
		"zero_threshold":                 record("zero_threshold", unsetDouble, 0),
		"positive.offset":                record("positive.offset", unsetInt, 0),
		"negative.offset":                record("negative.offset", unsetInt, 0),
		"metric.name":                    {column: "metric.name", level: column.LevelMetric, missing: unsetString, number: 1},
		"metric.description":             {column: "metric.description", level: column.LevelMetric, missing: unsetString, number: 2},
		"metric.unit":                    {column: "metric.unit", level: column.LevelMetric, missing: unsetString, number: 3},
		"metric.type":                    {column: "metric.type", level: column.LevelMetric, missing: unsetString},
		"metric.aggregation_temporality": {column: "metric.aggregation_temporality", level: column.LevelMetric, missing: unsetInt},
		"metric.is_monotonic":            {column: "metric.is_monotonic", level: column.LevelMetric, missing: unsetBool},
		"metric.metadata":                {level: column.LevelMetric, keyed: true},
	},
}

// contexts are the prefixes that name the record itself.
var contexts = map[signal.Signal]string{signal.Logs: "log.", signal.Traces: "span.", signal.Metrics: "datapoint."}

// resolve finds what a path reads. reason says why there is no such path.
func resolve(s signal.Signal, name string, keys []key) (e expr, reason string) {
	plain := strings.TrimPrefix(name, contexts[s])
	if rest, ok := strings.CutPrefix(plain, "instrumentation_scope."); ok {
		plain = "scope." + rest
	}
	switch plain {
	case "body.string":
		body, reason := resolve(s, "body", keys)
		return call{arg: body, fn: asString}, reason
	case "trace_id.string", "span_id.string", "parent_span_id.string":
		plain = strings.TrimSuffix(plain, ".string") // an id compares with its string anyway
	case "duration":
		if s == signal.Traces && len(keys) == 0 {
			return newElapsed(), ""
		}
	}
	f, ok := own[s][plain]
	if !ok {
		f, ok = shared[plain]
	}
	if !ok {
		return nil, fmt.Sprintf("unknown path %q for %s; known are %s", name, s, knownPaths(s))
	}
	p := &path{sig: s, field: f, rest: keys}
	switch {
	case f.keyed && (len(keys) == 0 || keys[0].isIndex):
		return nil, fmt.Sprintf("%s needs a key: %s[\"…\"]", name, name)
	case f.keyed:
		p.attribute, p.rest = keys[0].name, keys[1:]
	case len(keys) > 0 && !f.any:
		return nil, fmt.Sprintf("%s takes no key", name)
	}
	return p, ""
}

func knownPaths(s signal.Signal) string {
	names := slices.Concat(slices.Collect(maps.Keys(own[s])), slices.Collect(maps.Keys(shared)))
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// wants reports whether the path may read column c.
func (p *path) wants(c *column.Column) bool {
	if c.Level != p.level {
		// The type of the metric says where a data point's overflow has its attributes.
		return p.keyed && p.sig == signal.Metrics && p.level == column.LevelRecord && c.Name == metricType
	}
	switch c.Kind {
	case column.KindOverflow:
		return p.keyed || p.number != 0
	case column.KindField:
		return !p.keyed && (c.Name == p.column || p.any && c.Name == p.column+".any")
	default:
		return p.keyed && c.Key == p.attribute
	}
}

const metricType = "metric.type"
