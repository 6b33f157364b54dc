package column

import "mira/storage/otlp"

// metricTypes are the kinds of data a metric can have, a oneof of messages that each hold the
// data points: the value of metric.type, its field number in Metric, and its points.
var metricTypes = [...]struct {
	name  string
	num   int
	point message
}{
	{"gauge", 5, msgNumber},
	{"sum", 7, msgNumber},
	{"histogram", 9, msgHistogram},
	{"exponential_histogram", 10, msgExponential},
	{"summary", 11, msgSummary},
}

// The fields of those messages.
const (
	dataPoints      = 1
	dataTemporality = 2 // sum, histogram, exponential_histogram
	dataMonotonic   = 3 // sum
)

// The positions in metricTypes that have them.
const (
	typeSum         = 1
	typeExponential = 3
)

func (b *Builder) initMetrics() {
	b.metric.reader = newReader(msgMetric, &b.metric, 0, b.metric.column)
	b.metricType = b.metric.column("metric.type", String, 0)
	b.temporality = b.metric.column("metric.aggregation_temporality", Int, 4)
	b.monotonic = b.metric.column("metric.is_monotonic", Bool, 0)
	for i, t := range metricTypes {
		b.points[i] = newReader(t.point, &b.record, 0, b.record.column)
	}
	b.entry = b.appendMetric
}

// appendMetric adds a row for every data point of a metric, and then gives them what the metric
// says about itself: some of it comes behind the points on the wire.
func (b *Builder) appendMetric(p []byte) {
	typ, data := dataOf(p)
	if typ < 0 {
		return
	}
	first := b.rows
	var temporality, monotonic uint64
	for i := 0; uint(i) < uint(len(data)); {
		num, wire, v, next := otlp.Field(data, i)
		switch {
		case next < 0:
		case num == dataPoints && wire == otlp.Bytes:
			b.appendRow(b.points[typ], data[v:next])
		case num == dataTemporality && typ >= typeSum && typ <= typeExponential:
			temporality = v
		case num == dataMonotonic && typ == typeSum:
			monotonic = v
		}
		i = next
	}
	if b.rows == first {
		return
	}
	m := &b.metric
	m.begin()
	m.reader.read(p, first)
	b.metricType.str(first, []byte(metricTypes[typ].name))
	if v := int32(temporality); v != 0 {
		b.temporality.int(first, int64(v))
	}
	if monotonic != 0 {
		b.monotonic.bool(first, true)
	}
	m.end(first)
	m.repeat(first, b.rows-first-1)
}

// dataOf returns which type of data a metric has, or -1, and the data: the last member of the
// oneof counts, and what it is repeated in is joined.
func dataOf(p []byte) (typ int, data []byte) {
	typ = -1
	for i := 0; uint(i) < uint(len(p)); {
		num, wire, v, next := otlp.Field(p, i)
		for t := range metricTypes {
			if next >= 0 && wire == otlp.Bytes && num == metricTypes[t].num {
				if t != typ {
					typ, data = t, nil
				}
				data = joined(data, p[v:next])
			}
		}
		i = next
	}
	return typ, data
}
