package column

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	"pgregory.net/rapid"

	"mira/storage/signal"
)

func TestTheSameExportsMakeTheSameTable(t *testing.T) {
	for _, s := range signal.All {
		t.Run(s.String(), rapid.MakeCheck(func(t *rapid.T) {
			g := newGenerator(t, true, true)
			payloads, _ := g.requests(s)
			other, _ := g.requests(s)
			o := g.options()
			want := dump(build(t, s, o, payloads...))

			peeking := NewBuilder(s, o)
			for _, p := range payloads {
				peeking.Append(p, 77)
				peeking.Table()
			}
			if got := dump(peeking.Table()); got != want {
				t.Errorf("with snapshots on the way\n got %s\nwant %s", got, want)
			}

			used := NewBuilder(s, o)
			for _, p := range other {
				used.Append(p, 3)
			}
			used.Table()
			used.Reset()
			for _, p := range payloads {
				used.Append(p, 77)
			}
			if got := dump(used.Table()); got != want {
				t.Errorf("after a reset\n got %s\nwant %s", got, want)
			}
		}))
	}
}

func TestASnapshotStaysAsItIs(t *testing.T) {
	for _, s := range signal.All {
		t.Run(s.String(), rapid.MakeCheck(func(t *rapid.T) {
			g := newGenerator(t, true, false)
			b := NewBuilder(s, g.options())
			var tables []*Table
			var dumps []string
			for range 4 {
				payloads, _ := g.requests(s)
				for _, p := range payloads {
					b.Append(p, 77)
				}
				table := b.Table()
				checkTable(t, table)
				tables, dumps = append(tables, table), append(dumps, dump(table))
			}
			for i, table := range tables {
				if got := dump(table); got != dumps[i] {
					t.Errorf("snapshot %d is now\n%s\nand was\n%s", i, got, dumps[i])
				}
			}
		}))
	}
}

// TestReadersDoNotRaceWithAppend is for the race detector.
func TestReadersDoNotRaceWithAppend(t *testing.T) {
	requests := corpus(4, true)
	b := NewBuilder(signal.Logs, Options{})
	var readers sync.WaitGroup
	for _, r := range requests {
		b.Append(r[:len(r):len(r)], 77)
		table := b.Table()
		readers.Go(func() {
			if got := len(table.AppendRequest(nil, signal.Logs, allRows(table)[:table.Rows/8], true)); got == 0 {
				t.Error("nothing read")
			}
			dump(&Table{Rows: table.Rows, Columns: table.Columns[:3]})
		})
	}
	readers.Wait()
}

// TestDictionariesGrowWhereValuesComeBack checks both sides of the decision at a quarter.
func TestDictionariesGrowWhereValuesComeBack(t *testing.T) {
	const most = 4000
	for every, kept := range map[int]bool{1: false, 2: true, 20: false, 7: true} { // every so many rows repeat a value
		b := NewBuilder(signal.Logs, Options{DictMax: most})
		for i := range most {
			v := i
			if i%every == every-1 && every > 1 {
				v = 0
			}
			b.Append([]byte(wire(logs(withAttrs(attr("id", str(fmt.Sprint(v))))))), 0)
		}
		if c := b.Table().Column("attributes.id"); (c.Dict != nil) != kept {
			t.Errorf("a repetition every %d rows: got a dictionary: %v, want %v", every, c.Dict != nil, kept)
		}
	}
}

func TestAColumnOfTooManyValuesBecomesPlain(t *testing.T) {
	b := NewBuilder(signal.Logs, Options{DictMax: 100})
	var want []string
	add := func(from, to int) {
		for i := from; i < to; i++ {
			m := logs(withAttrs(attr("unique", str(fmt.Sprint("value ", i))), attr("few", str(fmt.Sprint(i%100)))), withAttrs())
			b.Append([]byte(wire(m)), 0)
			want = append(want, records(m)...)
		}
	}
	add(0, 100)
	before := b.Table()
	if c := before.Column("attributes.unique"); c.Dict == nil || c.Dict.Len() != 100 {
		t.Fatalf("100 values are not in a dictionary: %+v", c)
	}
	was := dump(before)
	add(100, 300)
	table := b.Table()
	checkTable(t, table)
	if c := table.Column("attributes.unique"); c.Dict != nil || c.Index != nil {
		t.Error("300 values are still in a dictionary")
	}
	if c := table.Column("attributes.few"); c.Dict == nil {
		t.Error("100 values are not in a dictionary")
	}
	if dump(before) != was {
		t.Error("the snapshot changed")
	}
	checkRoundTrip(t, signal.Logs, table, want, asItIs)

	b.Reset()
	want = want[:0]
	add(0, 50)
	table = b.Table()
	if c := table.Column("attributes.unique"); c.Dict == nil {
		t.Error("the column of the next block starts plain")
	}
	checkRoundTrip(t, signal.Logs, table, want, asItIs)
}

func TestABigResourceIsKeptOnce(t *testing.T) {
	b := NewBuilder(signal.Logs, Options{DictMax: 1})
	for i := range 3 {
		m := logs(withAttrs(), withAttrs(), withAttrs())
		for range 9 {
			m.ResourceLogs[0].ScopeLogs[0].LogRecords = append(m.ResourceLogs[0].ScopeLogs[0].LogRecords, m.ResourceLogs[0].ScopeLogs[0].LogRecords...)
		}
		m.ResourceLogs[0].Resource = newResource(attr("command", str(fmt.Sprint(i)+strings.Repeat("x", 1<<16))))
		b.Append([]byte(wire(m)), 0)
	}
	if got, limit := b.MemBytes(), 1<<20; got > limit {
		t.Errorf("%d rows with a resource of 64 KiB take %d bytes, want at most %d", b.Rows(), got, limit)
	}
}

func TestHashTellsShortStringsApart(t *testing.T) {
	seen := map[uint32]string{}
	collisions := 0
	for i := range 200_000 {
		s := fmt.Sprintf("%x", i*7919)
		h := fingerprintOf([]byte(s)).hash(len(s))
		if other, ok := seen[h]; ok && other != s {
			collisions++
		}
		seen[h] = s
	}
	if collisions > 50 { // 4.7 are expected of a random 32-bit function
		t.Errorf("%d collisions", collisions)
	}
}

// TestShortValuesAreTheirFingerprints checks what lets find skip the comparison.
func TestShortValuesAreTheirFingerprints(t *testing.T) {
	value := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xff}), 0, exact)
	rapid.Check(t, func(t *rapid.T) {
		a, b := value.Draw(t, "a"), value.Draw(t, "b")
		same := len(a) == len(b) && fingerprintOf(a) == fingerprintOf(b)
		if same != (string(a) == string(b)) {
			t.Errorf("%x and %x: the same is %v", a, b, same)
		}
	})
}

// TestRecordsThatLookAlikeComeBack checks the short way through attribute.
func TestRecordsThatLookAlikeComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1, 200))
		text := rapid.SampledFrom([]string{"", "x", "GET", strings.Repeat("y", 123), strings.Repeat("y", 124), strings.Repeat("z", 130), bad})
		var all []*logspb.LogRecord
		for range rapid.IntRange(1, 20).Draw(t, "records") {
			kvs := []*commonpb.KeyValue{
				attr("string", str(text.Draw(t, "text"))),
				attr("int", integer(number.Draw(t, "number"))),
				attr("bool", boolean(rapid.Bool().Draw(t, "bool"))),
				attr("double", double(rapid.Float64().Draw(t, "double"))),
				attr("bytes", &commonpb.AnyValue{Value: &commonpb.AnyValue_BytesValue{BytesValue: []byte(text.Draw(t, "bytes"))}}),
				attr("any", array(str(text.Draw(t, "in an array")))),
				attr(strings.Repeat("k", 130), str("v")),
			}
			switch i := rapid.IntRange(0, len(kvs)-1).Draw(t, "which"); rapid.IntRange(0, 9).Draw(t, "difference") {
			case 0:
				kvs = slices.Delete(kvs, i, i+1)
			case 1:
				kvs = append(kvs, kvs[i])
			case 2:
				kvs[i].Value = integer(1)
			}
			all = append(all, withAttrs(kvs...))
		}
		m := logs(all...)
		checkRoundTrip(t, signal.Logs, build(t, signal.Logs, Options{}, spoil([]byte(wire(m)))), records(m), mend)
	})
}

// FuzzRoundTrip holds what comes back against what protobuf reads, for any bytes that Check
// accepts. Where protobuf refuses a string, as many records must come back, and protobuf must
// take them when they are made valid.
func FuzzRoundTrip(f *testing.F) {
	for _, m := range oddities() {
		f.Add(uint8(signalOf(m)), []byte(wire(m)))
	}
	f.Fuzz(func(t *testing.T, n uint8, b []byte) {
		s := signal.Signal(n)
		if !s.Valid() || len(b) > 4096 { // the test itself reads every record twice
			return
		}
		if _, err := check(s, b); err != nil {
			return
		}
		table := build(t, s, Options{MaxColumns: 20}, b, b)
		if m, err := decode(s, b); err == nil {
			checkRoundTrip(t, s, table, append(records(m), records(m)...), asItIs)
			return
		}
		if n := len(reread(t, s, table.AppendRequest(nil, s, allRows(table), true))); n != table.Rows {
			t.Fatalf("%d of %d records come back", n, table.Rows)
		}
	})
}
