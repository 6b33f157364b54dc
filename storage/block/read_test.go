package block

import (
	"errors"
	"io/fs"
	"sync"
	"syscall"
	"testing"

	"mira/storage/column"
	"mira/storage/vfs"
)

// named wants the columns of some names.
func named(names ...string) func(*column.Column) bool {
	return func(c *column.Column) bool {
		for _, n := range names {
			if c.Name == n {
				return true
			}
		}
		return false
	}
}

// counted returns a file system that counts the bytes read from it.
func counted(under vfs.FS, read *int64) vfs.FS {
	return &vfs.Faulty{FS: under, Before: func(o vfs.Op) error {
		if o.Kind == vfs.OpRead {
			*read += o.Len
		}
		return nil
	}}
}

func TestGroupReadsOnlyWhatIsWanted(t *testing.T) {
	const n = 100_000
	table := &column.Table{Rows: n, Columns: plainColumns(n, 7)}
	mem, i := publish(t, table, Options{})
	var read int64
	r := open(t, counted(mem, &read), i)
	if read > 1<<16 {
		t.Errorf("Open reads %d bytes of %d", read, i.Bytes)
	}
	for at := range r.Fields() {
		f := &r.foot.fields[at]
		for g := range r.Groups() {
			bufs := r.groups[g].buffers[r.first[at].buffer:r.first[at+1].buffer]
			want := bufs[len(bufs)-1].at + bufs[len(bufs)-1].size - bufs[0].at
			if f.dict && g == 0 {
				want += r.dicts[f.id].meta + r.dicts[f.id].body
			}
			read = 0
			got, err := r.Group(g, named(f.col.Name))
			if err != nil {
				t.Fatal(err)
			}
			if read != want {
				t.Errorf("%s, group %d: read %d bytes, want %d", f.col.Name, g, read, want)
			}
			sameTable(t, got, &column.Table{Columns: table.Columns[at : at+1]}, g*(1<<16))
		}
	}
}

func TestGroupKeepsTheOrderOfTheSchema(t *testing.T) {
	mem, i := publish(t, everyType(100, 3), Options{})
	r := open(t, mem, i)
	got, err := r.Group(0, named("overflow", "bucket_counts", "count", "big", "no such column"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range got.Columns {
		names = append(names, c.Name)
	}
	if len(names) != 4 || names[0] != "big" || names[1] != "count" || names[2] != "overflow" || names[3] != "bucket_counts" {
		t.Errorf("got %q", names)
	}
	none, err := r.Group(0, func(*column.Column) bool { return false })
	if err != nil || none.Rows != 100 || len(none.Columns) != 0 {
		t.Errorf("got %+v, %v", none, err)
	}
}

func TestGroupsShareTheirDictionaries(t *testing.T) {
	mem, i := publish(t, everyType(1000, 3), Options{GroupRows: 64})
	r := open(t, mem, i)
	dicts := make([]*column.Dict, r.Groups())
	var wg sync.WaitGroup
	for g := range dicts {
		wg.Go(func() {
			got, err := r.Group(g, nil)
			if err != nil {
				t.Error(err)
				return
			}
			dicts[g] = got.Column("overflow").Dict
		})
	}
	wg.Wait()
	for g, d := range dicts {
		if d == nil || d != dicts[0] {
			t.Errorf("group %d has a dictionary of its own", g)
		}
	}
}

func TestTablesStayWhenTheReaderGoes(t *testing.T) {
	table := everyType(500, 3)
	mem, i := publish(t, table, Options{})
	r := open(t, mem, i)
	got, err := r.Group(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // its buffers are used again
		if _, err := r.Group(0, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	sameTable(t, got, table, 0)
}

func TestMissingBlockIsNotDamage(t *testing.T) {
	mem, i := publish(t, everyType(1, 0), Options{})
	i.ID.Seq++
	damaged := new(CorruptError)
	if _, err := Open(mem, "blocks", i); !errors.Is(err, fs.ErrNotExist) || errors.As(err, &damaged) {
		t.Errorf("Open: %v", err)
	}
	if err := Verify(mem, "blocks", i); !errors.Is(err, fs.ErrNotExist) || errors.As(err, &damaged) {
		t.Errorf("Verify: %v", err)
	}
}

func TestReadErrorIsNotDamage(t *testing.T) {
	mem, i := publish(t, everyType(1000, 3), Options{GroupRows: 512})
	for bad := 1; ; bad++ {
		reads := 0
		fs := &vfs.Faulty{FS: mem, Before: func(o vfs.Op) error {
			if o.Kind == vfs.OpRead {
				if reads++; reads == bad {
					return syscall.EIO
				}
			}
			return nil
		}}
		err := readAll(t, fs, i)
		if reads < bad {
			if err != nil || bad < 4 {
				t.Errorf("%d reads: %v", reads, err)
			}
			return
		}
		damaged := new(CorruptError)
		if !errors.Is(err, syscall.EIO) || errors.As(err, &damaged) {
			t.Fatalf("read %d: %v", bad, err)
		}
	}
}

// readAll reads a block, values and all, and fails the test when the answer is a table whose
// parts do not fit each other.
func readAll(t *testing.T, fs vfs.FS, i Info) error {
	t.Helper()
	r, err := Open(fs, "blocks", i)
	if err != nil {
		return err
	}
	defer r.Close()
	rows := 0
	for g := range r.Groups() {
		got, err := r.Group(g, nil)
		if err != nil {
			return err
		}
		if _, err := plan(got); err != nil {
			t.Fatal(err)
		}
		for c := range got.Columns {
			for row := range got.Rows {
				text(&got.Columns[c], row)
			}
		}
		rows += got.Rows
	}
	if rows != r.Rows() {
		t.Fatalf("got %d rows of %d", rows, r.Rows())
	}
	return nil
}
