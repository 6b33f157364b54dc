package corpus

import "fmt"

// Fields of LogRecord.
const (
	logTime, logSeverity, logSeverityText, logBody, logAttributes = 1, 2, 3, 5, 6
	logFlags, logTraceID, logSpanID, logObserved, logEventName    = 8, 9, 10, 11, 12
)

// logs writes n LogRecords.
func (a *author) logs(first, n int) {
	for i := first; i < first+n; i++ {
		a.message(scopeRecords, func() { a.log(Offset(i)) })
	}
}

func (a *author) log(off uint32) {
	route, status := pick(a, routes[:]), pick(a, statuses[:])
	severity, text := 9, "INFO"
	if status >= 500 {
		severity, text = 17, "ERROR"
	}
	a.stamped(logTime, off, 0)
	a.uint(logSeverity, uint64(severity))
	a.string(logSeverityText, text)
	a.message(logBody, func() { a.string(anyString, a.body(route, status)) })
	a.attributes(logAttributes, route, status, off)
	if a.shape == Rich {
		a.tag(logFlags, wireFixed32)
		a.b = append(a.b, 1, 0, 0, 0)
		a.id(logTraceID, stampTrace, off)
		a.id(logSpanID, stampSpan, off)
	}
	a.stamped(logObserved, off, 1+uint32(a.IntN(Slot)))
	if a.shape == Rich {
		a.string(logEventName, "http.server.request")
	}
}

func (a *author) body(route string, status int) string {
	short := fmt.Sprintf("%s %s %d in %dms", pick(a, verbs[:]), route, status, a.IntN(1000))
	if a.shape == Lean {
		return short
	}
	return fmt.Sprintf("%s: %d rows from %s for %s, %d bytes sent", short, a.IntN(500), pick(a, services[:]), a.user(), a.IntN(1<<20))
}

// Fields of Span, its Event and its Status.
const (
	spanTraceID, spanID, spanParent, spanName, spanKind     = 1, 2, 4, 5, 6
	spanStart, spanEnd, spanAttributes, spanEvents          = 7, 8, 9, 11
	spanStatus, statusCode, eventTime, eventName, eventAttr = 15, 3, 1, 2, 3
)

// treeSize is how many spans a trace has: a root and its children.
const treeSize = 4

// spans writes n Spans.
func (a *author) spans(first, n int) {
	for i := first; i < first+n; i++ {
		a.message(scopeRecords, func() { a.span(i, i/treeSize*treeSize) })
	}
}

func (a *author) span(i, root int) {
	route, status := pick(a, routes[:]), pick(a, statuses[:])
	off := Offset(i)
	a.id(spanTraceID, stampTrace, Offset(root))
	a.id(spanID, stampSpan, off)
	if i != root {
		a.id(spanParent, stampSpan, Offset(root))
	}
	a.string(spanName, pick(a, verbs[:])+" "+route)
	a.uint(spanKind, uint64(2+min(i-root, 1))) // a server span and its clients
	a.stamped(spanStart, off, 0)
	a.stamped(spanEnd, off, 1+uint32(a.ExpFloat64()*40e6))
	a.attributes(spanAttributes, route, status, off)
	if a.shape == Rich {
		a.message(spanEvents, func() {
			a.stamped(eventTime, off, 1000)
			a.string(eventName, "cache.lookup")
			a.stringAttribute(eventAttr, "cache.name", pick(a, services[:]))
		})
	}
	if status >= 500 {
		a.message(spanStatus, func() { a.uint(statusCode, 2) })
	}
}

// Fields of Metric, its data and the data points.
const (
	metricName, metricDescription, metricUnit, metricSum, metricHistogram = 1, 2, 3, 7, 9
	dataPoints, dataTemporality, dataMonotonic                            = 1, 2, 3
	pointStart, pointTime, pointInt, pointAttributes                      = 2, 3, 6, 7
	histogramStart, histogramTime, histogramCount, histogramSum           = 2, 3, 4, 5
	histogramCounts, histogramBounds, histogramAttributes                 = 6, 7, 9
	histogramMin, histogramMax                                            = 11, 12
)

// series is how many points a metric has in a request.
const series = 32

// points writes n data points, as many metrics as they need: monotonic sums
// when lean, histograms when rich.
func (a *author) points(first, n int) {
	data := metricSum
	if a.shape == Rich {
		data = metricHistogram
	}
	for at := first; at < first+n; at += series {
		a.message(scopeRecords, func() {
			a.string(metricName, fmt.Sprintf("http.server.requests.%02d", (at-first)/series%20))
			a.string(metricDescription, "requests answered")
			a.string(metricUnit, "{request}")
			a.message(data, func() {
				for i := at; i < min(at+series, first+n); i++ {
					a.message(dataPoints, func() { a.point(Offset(i)) })
				}
				a.uint(dataTemporality, 2)
				if a.shape == Lean {
					a.uint(dataMonotonic, 1)
				}
			})
		})
	}
}

func (a *author) point(off uint32) {
	if a.shape == Rich {
		a.histogram(off)
		return
	}
	a.fixed(pointStart, 1_790_000_000_000_000_000)
	a.stamped(pointTime, off, 0)
	a.fixed(pointInt, a.Uint64N(1<<30))
	a.attributes(pointAttributes, pick(a, routes[:]), 0, off)
}

var bounds = [...]float64{5, 10, 25, 50, 75, 100, 250, 500, 1000}

func (a *author) histogram(off uint32) {
	var counts [len(bounds) + 1]uint64
	total := uint64(0)
	for i := range counts {
		counts[i] = a.Uint64N(1000)
		total += counts[i]
	}
	a.fixed(histogramStart, 1_790_000_000_000_000_000)
	a.stamped(histogramTime, off, 0)
	a.fixed(histogramCount, total)
	a.double(histogramSum, float64(total)*a.ExpFloat64()*40)
	a.packed(histogramCounts, len(counts), func(i int) { a.b = appendFixed(a.b, counts[i]) })
	a.packed(histogramBounds, len(bounds), func(i int) { a.b = appendDouble(a.b, bounds[i]) })
	a.attributes(histogramAttributes, pick(a, routes[:]), 200, off)
	a.double(histogramMin, a.Float64())
	a.double(histogramMax, 1000*a.Float64())
}
