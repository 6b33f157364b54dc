package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"

	"mira/storage"
	"mira/storage/block"
	"mira/storage/column"
	"mira/storage/signal"
	"mira/storage/vfs"
)

// shelf is a Source of blocks in memory.
type shelf struct {
	t       testing.TB
	fs      vfs.FS
	blocks  []block.Info
	open    []block.View
	damaged []block.Info
}

func newShelf(t testing.TB) *shelf {
	fs := vfs.NewMem()
	if err := vfs.MkdirAll(fs, "blocks"); err != nil {
		t.Fatal(err)
	}
	return &shelf{t: t, fs: fs}
}

func (s *shelf) Snapshot(context.Context, signal.Signal, uint64, uint64) (*storage.Snapshot, error) {
	return &storage.Snapshot{Blocks: slices.Clone(s.blocks), Open: slices.Clone(s.open)}, nil
}

func (s *shelf) OpenBlock(i block.Info) (*block.Reader, error) { return block.Open(s.fs, "blocks", i) }

func (s *shelf) Damaged(i block.Info, _ error) { s.damaged = append(s.damaged, i) }

// seal publishes an open block.
func (s *shelf) seal(i int) {
	s.t.Helper()
	v := s.open[i]
	info, err := block.Write(s.fs, "blocks", v.ID, v.Table, block.Options{GroupRows: 64})
	if err != nil {
		s.t.Fatal(err)
	}
	s.blocks = append(s.blocks, info)
	s.open = slices.Delete(s.open, i, i+1)
}

// event is a record of the model, found again by its body.
type event struct {
	time     uint64
	seq      uint64
	row      int
	severity int
	service  string
	user     string
	body     string
}

var conditions = []struct {
	text  string
	holds func(event) bool
}{
	{``, func(event) bool { return true }},
	{`severity_number >= 17`, func(e event) bool { return e.severity >= 17 }},
	{`resource.attributes["service.name"] == "s1"`, func(e event) bool { return e.service == "s1" }},
	{`attributes["user"] == nil`, func(e event) bool { return e.user == "" }},
	{`attributes["user"] != nil and not IsMatch(attributes["user"], "[02468]$")`, func(e event) bool {
		return e.user != "" && (e.user[len(e.user)-1]-'0')%2 == 1
	}},
	{`severity_number == 3 or resource.attributes["service.name"] == "s0"`, func(e event) bool { return e.severity == 3 || e.service == "s0" }},
	{`attributes["nowhere"] == 1`, func(event) bool { return false }},
}

// fill adds open blocks of random records to the shelf and returns the records.
func (s *shelf) fill(rng *rand.Rand, blocks, rows int) (all []event) {
	for n := range blocks {
		b := column.NewBuilder(signal.Logs, column.Options{})
		id := signal.BlockID{Signal: signal.Logs, Node: 1, Shard: uint16(n % 2), Seq: uint64(n + 1)}
		for row := 0; row < rows; {
			logs := plog.NewLogs()
			rl := logs.ResourceLogs().AppendEmpty()
			service := fmt.Sprintf("s%d", rng.IntN(3))
			rl.Resource().Attributes().PutStr("service.name", service)
			records := rl.ScopeLogs().AppendEmpty().LogRecords()
			for range 1 + rng.IntN(20) {
				e := event{
					time: uint64(1000*n + rng.IntN(1500)), seq: id.Seq, row: row, service: service,
					severity: rng.IntN(24), body: fmt.Sprintf("%d/%d", n, row),
				}
				r := records.AppendEmpty()
				r.SetTimestamp(1 + plogTime(e.time))
				e.time++
				r.SetSeverityNumber(plog.SeverityNumber(e.severity))
				r.Body().SetStr(e.body)
				if rng.IntN(2) == 0 {
					e.user = fmt.Sprintf("u%d", rng.IntN(50))
					r.Attributes().PutStr("user", e.user)
				}
				all = append(all, e)
				row++
			}
			b.Append(logsPayload(s.t, logs), 1)
		}
		s.open = append(s.open, block.View{ID: id, Table: b.Table()})
	}
	return all
}

// answer is the model: everything that fits, sorted.
func answer(all []event, q Query, holds func(event) bool) (bodies []string) {
	var fit []event
	for _, e := range all {
		if e.time >= q.Start && e.time < q.End && holds(e) {
			fit = append(fit, e)
		}
	}
	slices.SortFunc(fit, func(a, b event) int {
		c := cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.seq, b.seq), cmp.Compare(a.row, b.row))
		if q.Ascending {
			return c
		}
		return -c
	})
	for _, e := range fit {
		bodies = append(bodies, e.body)
	}
	return bodies
}

// bodiesOf decodes a page.
func bodiesOf(t testing.TB, p *Page) (bodies []string) {
	t.Helper()
	for _, c := range p.Chunks {
		req := plogotlp.NewExportRequest()
		if err := req.UnmarshalProto(c.Request); err != nil {
			t.Fatal(err)
		}
		before := len(bodies)
		for _, rl := range req.Logs().ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, r := range sl.LogRecords().All() {
					bodies = append(bodies, r.Body().Str())
				}
			}
		}
		if len(bodies)-before != len(c.Times) {
			t.Fatalf("got %d records in a chunk of %d rows", len(bodies)-before, len(c.Times))
		}
	}
	return bodies
}

func page(t testing.TB, s Source, q Query) *Page {
	t.Helper()
	scan, err := Open(context.Background(), s, q)
	if err != nil {
		t.Fatal(err)
	}
	p, err := scan.Page(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPagesEqualTheModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := newShelf(t)
	all := s.fill(rng, 6, 200)
	s.seal(4)
	s.seal(2)
	s.seal(0)
	for _, c := range conditions {
		f, err := ParseFilter(signal.Logs, c.text)
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int{1, 7, 64, 500, 10000} {
			for _, ascending := range []bool{false, true} {
				q := Query{Signal: signal.Logs, Start: 200, End: 6200, Filter: f, Ascending: ascending, Limit: limit}
				want := answer(all, q, c.holds)
				if limit == 1 {
					q.Start, q.End = 2900, 3000
					want = answer(all, q, c.holds)
				}
				var got []string
				for {
					p := page(t, s, q)
					b := bodiesOf(t, p)
					if got = append(got, b...); p.Next == nil {
						break
					}
					if len(b) != limit {
						t.Fatalf("%s: a page before the last has %d rows, want %d", c.text, len(b), limit)
					}
					q.After = p.Next
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%q limit %d ascending %v: got %d rows, want %d\n%v\n%v", c.text, limit, ascending, len(got), len(want), got, want)
				}
			}
		}
	}
}

func TestPagesOfOneScanEqualTheModel(t *testing.T) {
	s := newShelf(t)
	all := s.fill(rand.New(rand.NewPCG(3, 4)), 4, 300)
	s.seal(1)
	q := Query{Signal: signal.Logs, End: Forever, Limit: 97}
	scan, err := Open(context.Background(), s, q)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		p, err := scan.Page(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, bodiesOf(t, p)...); p.Next == nil {
			break
		}
	}
	if want := answer(all, q, conditions[0].holds); !slices.Equal(got, want) {
		t.Fatalf("got %d rows, want %d in the model's order", len(got), len(want))
	}
	if p, err := scan.Page(context.Background()); err != nil || len(p.Chunks) != 0 || p.Next != nil {
		t.Errorf("behind the last page: got %v, %v, want an empty page", p, err)
	}
}

func TestCursorSurvivesIngestAndSeal(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	s := newShelf(t)
	all := s.fill(rng, 3, 200)
	q := Query{Signal: signal.Logs, End: 5000, Limit: 50}
	want := answer(all, q, conditions[0].holds)
	var got []string
	for n := 0; ; n++ {
		p := page(t, s, q)
		if got = append(got, bodiesOf(t, p)...); p.Next == nil {
			break
		}
		switch n {
		case 0, 3, 5:
			s.seal(0)
		case 1: // later records come in
			b := column.NewBuilder(signal.Logs, column.Options{})
			logs := plog.NewLogs()
			logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().SetTimestamp(4999)
			b.Append(logsPayload(t, logs), 1)
			s.open = append(s.open, block.View{ID: signal.BlockID{Signal: signal.Logs, Node: 1, Seq: 99}, Table: b.Table()})
		}
		q.After = p.Next
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %d rows, want the %d of the beginning", len(got), len(want))
	}
}

func TestDamagedBlockCostsItsOwnRows(t *testing.T) {
	for _, place := range []string{"values", "footer"} {
		t.Run(place, func(t *testing.T) {
			s := newShelf(t)
			all := s.fill(rand.New(rand.NewPCG(7, 8)), 3, 200)
			s.seal(1)
			bad := s.blocks[0]
			damage(t, s.fs, "blocks/"+bad.Path(), place)
			q := Query{Signal: signal.Logs, End: Forever, Limit: 1000}
			p := page(t, s, q)
			want := answer(all, q, func(e event) bool { return e.seq != bad.ID.Seq })
			if got := bodiesOf(t, p); !slices.Equal(got, want) {
				t.Errorf("got %d rows, want the %d of the whole blocks", len(got), len(want))
			}
			if p.Stats.BlocksDamaged != 1 || len(s.damaged) != 1 || s.damaged[0].ID != bad.ID {
				t.Errorf("got %d damaged, told %v, want %v once", p.Stats.BlocksDamaged, s.damaged, bad.ID)
			}
		})
	}
}

// damage overwrites a part of a file.
func damage(t *testing.T, fs vfs.FS, name, place string) {
	t.Helper()
	f, err := fs.OpenReadWrite(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	at := size / 2
	if place == "footer" {
		at = size - 64
	}
	if _, err := f.WriteAt([]byte("XXXXXXXXXXXXXXXX"), at); err != nil {
		t.Fatal(err)
	}
}

func TestMissingBlockIsLeftOut(t *testing.T) {
	s := newShelf(t)
	s.fill(rand.New(rand.NewPCG(7, 8)), 1, 20)
	s.seal(0)
	if err := s.fs.Remove("blocks/" + s.blocks[0].Path()); err != nil {
		t.Fatal(err)
	}
	p := page(t, s, Query{Signal: signal.Logs, End: Forever})
	if p.Stats.BlocksMissing != 1 || len(p.Chunks) != 0 || len(s.damaged) != 0 {
		t.Errorf("got %+v and %d damaged, want one missing block", p.Stats, len(s.damaged))
	}
}

func TestBlockWithoutTheColumnIsNotScanned(t *testing.T) {
	s := newShelf(t)
	s.fill(rand.New(rand.NewPCG(9, 1)), 2, 50)
	s.seal(0)
	s.seal(0)
	f, err := ParseFilter(signal.Logs, `attributes["nowhere"] == "x"`)
	if err != nil {
		t.Fatal(err)
	}
	p := page(t, s, Query{Signal: signal.Logs, End: Forever, Filter: f})
	if p.Stats.BlocksTotal != 2 || p.Stats.BlocksScanned != 0 || p.Stats.BytesRead != 0 {
		t.Errorf("got %+v, want 2 blocks and none scanned", p.Stats)
	}
}

func TestBlocksBehindThePageAreNotScanned(t *testing.T) {
	s := newShelf(t)
	s.fill(rand.New(rand.NewPCG(9, 1)), 6, 200)
	for range 6 {
		s.seal(0)
	}
	p := page(t, s, Query{Signal: signal.Logs, End: Forever, Limit: 10})
	if p.Stats.BlocksTotal != 6 || p.Stats.BlocksScanned > 2 {
		t.Errorf("got %+v, want 6 blocks and at most 2 scanned", p.Stats)
	}
}

func TestCancelledQueryEnds(t *testing.T) {
	s := newShelf(t)
	s.fill(rand.New(rand.NewPCG(9, 1)), 1, 20)
	ctx, cancel := context.WithCancel(context.Background())
	scan, err := Open(ctx, s, Query{Signal: signal.Logs, End: Forever})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := scan.Page(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestLargeRowsMakeSmallPages(t *testing.T) {
	s := newShelf(t)
	b := column.NewBuilder(signal.Logs, column.Options{})
	big := strings.Repeat("x", 1<<20)
	for n := range 100 {
		logs := plog.NewLogs()
		r := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
		r.SetTimestamp(plogTime(uint64(n + 1)))
		r.Body().SetStr(big)
		b.Append(logsPayload(t, logs), 1)
	}
	s.open = []block.View{{ID: signal.BlockID{Signal: signal.Logs, Seq: 1}, Table: b.Table()}}
	q := Query{Signal: signal.Logs, End: Forever, Limit: 1000, Ascending: true}
	rows := 0
	for {
		p := page(t, s, q)
		rows += len(bodiesOf(t, p))
		if len(p.Chunks) > 1 {
			t.Fatalf("got %d chunks, want a page that ends after the first", len(p.Chunks))
		}
		if p.Next == nil {
			break
		}
		q.After = p.Next
	}
	if rows != 100 {
		t.Errorf("got %d rows, want 100", rows)
	}
}
