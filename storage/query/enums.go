package query

import "strconv"

// enums are the enum names of the Collector's contexts.
var enums = enumValues()

func enumValues() map[string]value {
	out := map[string]value{
		"SEVERITY_NUMBER_UNSPECIFIED": intValue(0),
		"FLAG_NONE":                   intValue(0), "FLAG_NO_RECORDED_VALUE": intValue(1),
		"METRIC_DATA_TYPE_NONE": stringValue(""), "METRIC_DATA_TYPE_GAUGE": stringValue("gauge"),
		"METRIC_DATA_TYPE_SUM": stringValue("sum"), "METRIC_DATA_TYPE_HISTOGRAM": stringValue("histogram"),
		"METRIC_DATA_TYPE_EXPONENTIAL_HISTOGRAM": stringValue("exponential_histogram"),
		"METRIC_DATA_TYPE_SUMMARY":               stringValue("summary"),
	}
	number := func(prefix string, names ...string) {
		for i, n := range names {
			out[prefix+n] = intValue(int64(i))
		}
	}
	number("SPAN_KIND_", "UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
	number("STATUS_CODE_", "UNSET", "OK", "ERROR")
	number("AGGREGATION_TEMPORALITY_", "UNSPECIFIED", "DELTA", "CUMULATIVE")
	for i, name := range [...]string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"} {
		for j := range 4 {
			suffix := ""
			if j > 0 {
				suffix = strconv.Itoa(j + 1)
			}
			out["SEVERITY_NUMBER_"+name+suffix] = intValue(int64(4*i + j + 1))
		}
	}
	return out
}
