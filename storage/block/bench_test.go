package block

import (
	"fmt"
	"io"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"mira/storage/column"
	"mira/storage/vfs"
)

// leanLogs returns a table like that of a service that logs its requests: a time and an observed
// time, a severity, a body of 48 bytes with a random id from 8 templates, 3 attributes, and a
// resource.
func leanLogs(n int) *column.Table {
	r := rand.New(rand.NewPCG(1, 2))
	templates := [8]string{
		"GET /api/v1/orders done in 12 ms    id %s", "GET /api/v1/users done in 9 ms      id %s",
		"POST /api/v1/orders accepted now    id %s", "cache miss for key user profile     id %s",
		"payment of 17 EUR was authorised    id %s", "retry upstream, attempt 2 of 5      id %s",
		"session opened for the customer     id %s", "queue drained, 128 items published  id %s",
	}
	at := int64(1_796_074_200_000_000_000)
	times, observed := make([]int64, n), make([]int64, n)
	bodies := make([]string, n)
	users := make([]string, n)
	for i := range n {
		at += r.Int64N(100_000)
		times[i], observed[i] = at, at+r.Int64N(5_000_000)
		bodies[i] = fmt.Sprintf(templates[r.IntN(8)], fmt.Sprintf("%012x", r.Uint64()>>16))[:48]
		users[i] = fmt.Sprintf("user-%06d", r.IntN(1_000_000))
	}
	const record, resource = column.LevelRecord, column.LevelResource
	pick := func(name string, level column.Level, entries int) column.Column {
		c := coded(name, column.String, n, entries, nil)
		for i := range c.Index {
			c.Index[i] = int32(r.IntN(entries))
		}
		c.Level = level
		return c
	}
	severity := thin(ints("severity_number", column.Int, nil, counting(n, func(int) int64 { return 9 + 4*int64(r.IntN(3)) })...))
	status := ints("attributes.http.status_code", column.Int, nil, counting(n, func(int) int64 { return 200 + 100*int64(r.IntN(4)) })...)
	return &column.Table{Rows: n, Columns: []column.Column{
		ints("time_unix_nano", column.Time, nil, times...),
		ints("observed_time_unix_nano", column.Time, nil, observed...),
		severity,
		pick("severity_text", record, 3),
		texts("body", column.String, nil, bodies...),
		pick("attributes.http.request.method", record, 4),
		status,
		texts("attributes.user.id", column.String, nil, users...),
		pick("resource.attributes.service.name", resource, 1),
		pick("resource.attributes.host.name", resource, 20),
		pick("scope.name", column.LevelScope, 1),
	}}
}

// size returns the bytes of a table in memory as a writer sees them.
func size(t *column.Table) (n int64) {
	for _, c := range t.Columns {
		n += int64(8*len(c.Ints) + 8*len(c.Floats) + 4*len(c.Offsets) + 4*len(c.Index) + len(c.Data) + len(c.Bits) + len(c.Valid))
	}
	return n
}

const leanRows = 131_072

// spent returns the processor time of the process, which other load on the machine leaves alone.
func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // the arguments are right
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perRow reports what a row cost since start.
func perRow(b *testing.B, start time.Duration) {
	b.ReportMetric(float64((spent()-start).Nanoseconds())/float64(b.N)/leanRows, "cpu-ns/row")
}

func BenchmarkEncode(b *testing.B) {
	t := leanLogs(leanRows)
	b.SetBytes(size(t))
	b.ReportAllocs()
	var i Info
	start := spent()
	for b.Loop() {
		var err error
		if i, err = Encode(io.Discard, testID, t, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	perRow(b, start)
	b.ReportMetric(float64(i.Bytes)/leanRows, "B/row")
}

// BenchmarkEncodeColumn tells what the columns cost one by one.
func BenchmarkEncodeColumn(b *testing.B) {
	t := leanLogs(leanRows)
	for c := range t.Columns {
		one := &column.Table{Rows: t.Rows, Columns: t.Columns[c : c+1]}
		b.Run(t.Columns[c].Name, func(b *testing.B) {
			b.SetBytes(size(one))
			var i Info
			start := spent()
			for b.Loop() {
				var err error
				if i, err = Encode(io.Discard, testID, one, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			perRow(b, start)
			b.ReportMetric(float64(i.Bytes)/leanRows, "B/row")
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	t := leanLogs(leanRows)
	dir := b.TempDir()
	b.SetBytes(size(t))
	b.ReportAllocs()
	start := spent()
	for b.Loop() {
		if _, err := Write(vfs.OS{}, dir, testID, t, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	perRow(b, start)
}

func BenchmarkRead(b *testing.B) {
	t := leanLogs(leanRows)
	dir := b.TempDir()
	i, err := Write(vfs.OS{}, dir, testID, t, Options{})
	if err != nil {
		b.Fatal(err)
	}
	read := func(name string, want func(*column.Column) bool) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			start := spent()
			for b.Loop() {
				r, err := Open(vfs.OS{}, dir, i)
				if err != nil {
					b.Fatal(err)
				}
				for g := range r.Groups() {
					if _, err := r.Group(g, want); err != nil {
						b.Fatal(err)
					}
				}
				_ = r.Close()
			}
			perRow(b, start)
		})
	}
	read("all", nil)
	read("time and severity", named("time_unix_nano", "severity_number"))
	read("body", named("body"))
	read("service", named("resource.attributes.service.name"))
	read("nothing", named())
}

func BenchmarkVerify(b *testing.B) {
	dir := b.TempDir()
	i, err := Write(vfs.OS{}, dir, testID, leanLogs(leanRows), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(i.Bytes)
	for b.Loop() {
		if err := Verify(vfs.OS{}, dir, i); err != nil {
			b.Fatal(err)
		}
	}
}
