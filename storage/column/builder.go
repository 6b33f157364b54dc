package column

import (
	"mira/storage/otlp"
	"mira/storage/signal"
)

// Options bounds what a Builder keeps apart.
type Options struct {
	MaxColumns int // attribute columns; attributes beyond go to overflow. 0: 256
	DictMax    int // distinct values of a dictionary-encoded string column. 0: 16384
}

// A Builder turns the Exports of one block into columns. One goroutine at a time may use it;
// the Tables it gives away may be read by others all the while.
type Builder struct {
	o     Options
	names map[string]bool // of the columns

	rows     int
	bytes    int   // of OTLP appended
	columns  int   // attribute columns in use
	received int64 // when the Export being appended arrived

	resource, scope, metric, record level

	entry   func(p []byte) // reads an entry of a scope: a record, or a metric
	own     *series        // the time of a record
	instead *series        // the time that stands in for it, or nil: the arrival
	place   series         // mira.time_unix_nano
	points  [len(metricTypes)]*reader

	// Columns of a metric that its data message has.
	metricType, temporality, monotonic *series
}

// NewBuilder returns an empty Builder for blocks of s.
func NewBuilder(s signal.Signal, o Options) *Builder {
	if o.MaxColumns == 0 {
		o.MaxColumns = 256
	}
	if o.DictMax == 0 {
		o.DictMax = 16384
	}
	b := &Builder{o: o, names: make(map[string]bool)}
	b.resource.init(b, LevelResource, "resource.", "attributes.")
	b.scope.init(b, LevelScope, "scope.", "attributes.")
	b.metric.init(b, LevelMetric, "metric.", "metadata.")
	b.record.init(b, LevelRecord, "", "attributes.")
	b.place.init(Time, 0, 0)
	b.resource.schema = b.resource.column("resource.schema_url", String, 0)
	b.scope.schema = b.scope.column("scope.schema_url", String, 0)
	b.resource.reader = newReader(msgResource, &b.resource, 0, b.resource.column)
	b.scope.reader = newReader(msgScope, &b.scope, 0, b.scope.column)
	b.entry = b.appendRecord
	switch s {
	case signal.Logs:
		b.record.reader = newReader(msgLogRecord, &b.record, 0, b.record.column)
		b.instead = b.record.column("observed_time_unix_nano", Time, 0)
	case signal.Traces:
		b.record.reader = newReader(msgSpan, &b.record, 0, b.record.column)
		b.instead = b.record.column("end_time_unix_nano", Time, 0)
	case signal.Metrics:
		b.initMetrics()
	}
	b.own = b.record.column(OwnTimeName(s), Time, 0)
	return b
}

// Rows returns the number of records appended.
func (b *Builder) Rows() int { return b.rows }

// Bytes returns the number of OTLP bytes appended.
func (b *Builder) Bytes() int { return b.bytes }

// FullColumns reports that the block has as many attribute columns as it may have: attributes
// with other keys go to overflow, so it is time for a new block.
func (b *Builder) FullColumns() bool { return b.columns >= b.o.MaxColumns }

// MemBytes returns the memory the columns hold, capacity included.
func (b *Builder) MemBytes() int {
	return b.place.memBytes() + b.resource.memBytes() + b.scope.memBytes() + b.metric.memBytes() + b.record.memBytes()
}

// Reset empties the Builder for the next block and keeps its memory, which then costs no
// growing, no copying and no page faults. The caller guarantees that no Table of the block
// before is in use any more.
func (b *Builder) Reset() {
	b.rows, b.bytes, b.columns = 0, 0, 0
	clear(b.names)
	b.place.reset()
	b.resource.reset()
	b.scope.reset()
	b.metric.reset()
	b.record.reset()
}

// Append adds the records of an Export request that Check accepted and that arrived at
// received, in Unix nanoseconds. It cannot fail.
func (b *Builder) Append(payload []byte, received int64) {
	b.bytes += len(payload)
	b.received = received
	for i := 0; uint(i) < uint(len(payload)); {
		num, typ, v, next := otlp.Field(payload, i)
		if num == 1 && typ == otlp.Bytes {
			b.appendResource(payload[v:next])
		}
		i = next
	}
}

// appendResource reads a ResourceLogs, ResourceSpans or ResourceMetrics; the three look alike.
// What the records share is filled in behind them: it may come after them on the wire.
func (b *Builder) appendResource(p []byte) {
	first := b.rows
	var resource, url []byte
	for i := 0; uint(i) < uint(len(p)); {
		num, typ, v, next := otlp.Field(p, i)
		if typ == otlp.Bytes && next >= 0 {
			switch num {
			case 1:
				resource = joined(resource, p[v:next])
			case 2:
				b.appendScope(p[v:next])
			case 3:
				url = p[v:next]
			}
		}
		i = next
	}
	b.resource.fill(first, b.rows, resource, url)
}

// appendScope reads a ScopeLogs, ScopeSpans or ScopeMetrics.
func (b *Builder) appendScope(p []byte) {
	first := b.rows
	var scope, url []byte
	for i := 0; uint(i) < uint(len(p)); {
		num, typ, v, next := otlp.Field(p, i)
		if typ == otlp.Bytes && next >= 0 {
			switch num {
			case 1:
				scope = joined(scope, p[v:next])
			case 2:
				b.entry(p[v:next])
			case 3:
				url = p[v:next]
			}
		}
		i = next
	}
	b.scope.fill(first, b.rows, scope, url)
}

// appendRecord adds a row for a log record or a span.
func (b *Builder) appendRecord(p []byte) { b.appendRow(b.record.reader, p) }

// appendRow adds a row for the message that r reads.
func (b *Builder) appendRow(r *reader, p []byte) {
	row := b.rows
	b.record.begin()
	r.read(p, row)
	b.record.end(row)
	if b.own.n <= row {
		b.stampInstead(row)
	}
	b.rows++
}

// stampInstead gives a record without a time of its own a place in time.
func (b *Builder) stampInstead(row int) {
	at := b.received
	if b.instead != nil && b.instead.n > row {
		at = b.instead.ints[row]
	}
	b.place.int(row, at)
}

// column returns the fixed column of that name, making it at first. A level's columns are
// declared before the first row and never move.
func (l *level) column(name string, typ Type, width int) *series {
	for _, f := range l.fields {
		if f.name == name {
			return f.series
		}
	}
	s := &series{}
	s.init(typ, width, l.dictMax(typ))
	l.fields = append(l.fields, column{name, s})
	return s
}
