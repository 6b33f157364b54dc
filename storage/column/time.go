package column

import "mira/storage/signal"

// TimeName is the column that holds a record's place in time where its own time is 0: the
// observed time of a log record, the end of a span, or else the arrival of its Export. It is
// null (or absent) for a record that has a time of its own, which is never changed.
const TimeName = "mira.time_unix_nano"

// OwnTimeName returns the column that orders the records of s in time.
func OwnTimeName(s signal.Signal) string {
	if s == signal.Traces {
		return "start_time_unix_nano"
	}
	return "time_unix_nano"
}

// Times is the place in time of every row of a Table, in Unix nanoseconds.
type Times struct{ own, instead *Column }

// Times returns the rows' places in time.
func (t *Table) Times(s signal.Signal) Times {
	return Times{own: t.Column(OwnTimeName(s)), instead: t.Column(TimeName)}
}

// At returns the place in time of row i.
func (t Times) At(i int) uint64 {
	if t.instead != nil && !t.instead.Null(i) {
		return uint64(t.instead.Ints[i])
	}
	if t.own == nil || t.own.Null(i) {
		return 0
	}
	return uint64(t.own.Ints[i])
}
