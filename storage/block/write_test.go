package block

import (
	"errors"
	"fmt"
	"math"
	"path"
	"strings"
	"syscall"
	"testing"

	"mira/storage/column"
	"mira/storage/vfs"
)

// cuts are the ways for the power to go that a test tries.
func cuts() []vfs.Cut {
	list := []vfs.Cut{{Mode: vfs.Drop}, {Mode: vfs.Keep}, {Mode: vfs.Kill}}
	for seed := range uint64(4) {
		for _, mode := range []vfs.CrashMode{vfs.Random, vfs.Torn, vfs.Garbage} {
			list = append(list, vfs.Cut{Mode: mode, Seed: seed})
		}
	}
	return list
}

// files lists all files below a directory.
func files(t *testing.T, fs vfs.FS, dir string) []string {
	t.Helper()
	entries, err := fs.List(dir)
	if err != nil && !errors.Is(err, syscall.ENOENT) {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		if name := path.Join(dir, e.Name); e.Dir {
			list = append(list, files(t, fs, name)...)
		} else {
			list = append(list, name)
		}
	}
	return list
}

// published returns the blocks in a file system, all of which must be whole.
func published(t *testing.T, fs vfs.FS) []Info {
	t.Helper()
	var list []Info
	for _, name := range files(t, fs, "blocks") {
		if strings.HasSuffix(name, TempSuffix) {
			continue
		}
		i, err := ParsePath(strings.TrimPrefix(name, "blocks/"))
		if err != nil {
			t.Fatal(err)
		}
		if err := Verify(fs, "blocks", i); err != nil {
			t.Fatal(err)
		}
		list = append(list, i)
	}
	return list
}

func TestPublishingTakesTwoBarriers(t *testing.T) {
	var ops []string
	fs := &vfs.Faulty{FS: vfs.NewMem(), After: func(o vfs.Op, err error) error {
		if o.Kind.Mutates() {
			ops = append(ops, fmt.Sprintf("%s %s", o.Kind, path.Ext(o.Name)))
		}
		return err
	}}
	table := everyType(10, 3)
	if _, err := Write(fs, "blocks", testID, table, Options{}); err != nil {
		t.Fatal(err)
	}
	ops = nil // the directories are there now
	next := testID
	next.Seq++
	if _, err := Write(fs, "blocks", next, table, Options{}); err != nil {
		t.Fatal(err)
	}
	want := "create .tmp, write .tmp, sync .tmp, rename .tmp, syncdir "
	if got := strings.Join(ops, ", "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPowerCutLeavesAWholeBlockOrNone(t *testing.T) {
	table := &column.Table{Rows: 5000, Columns: plainColumns(5000, 7)} // several pages
	mem := vfs.NewMem()
	steps, names := 0, map[int]bool{}
	fs := &vfs.Faulty{FS: mem, After: func(o vfs.Op, err error) error {
		if o.Kind.Mutates() {
			steps++
			for _, c := range cuts() {
				names[len(published(t, mem.CrashClone(c)))] = true
			}
		}
		return err
	}}
	i, err := Write(fs, "blocks", testID, table, Options{GroupRows: 1024})
	if err != nil {
		t.Fatal(err)
	}
	if steps < 8 || !names[0] || !names[1] || len(names) != 2 {
		t.Errorf("%d steps left %v blocks", steps, names)
	}
	for _, c := range cuts() {
		if got := published(t, mem.CrashClone(c)); len(got) != 1 || got[0].Path() != i.Path() {
			t.Errorf("after %v: %v, want %v", c, got, i)
		}
	}
}

func TestWriteIsRepeatedAfterAnyError(t *testing.T) {
	table := &column.Table{Rows: 5000, Columns: plainColumns(5000, 7)}
	_, want := publish(t, table, Options{})
	for step := 1; ; step++ {
		mem := vfs.NewMem()
		hit := vfs.OpFree
		fs := &vfs.Faulty{FS: mem, Before: func(o vfs.Op) error {
			if o.N != step {
				return nil
			}
			hit = o.Kind
			return &vfs.Short{N: o.Len / 2, Err: syscall.EIO}
		}}
		_, err := Write(fs, "blocks", testID, table, Options{})
		if hit == vfs.OpFree {
			if step < 8 {
				t.Errorf("only %d steps", step)
			}
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Fatalf("step %d, %v: %v", step, hit, err)
		}
		left := files(t, mem, "blocks")
		if hit == vfs.OpSyncDir && len(left) == 1 && !strings.HasSuffix(left[0], TempSuffix) {
			left = nil // the name may be there
		}
		if len(left) != 0 {
			t.Errorf("step %d, %v: left %q", step, hit, left)
		}
		if got, err := Write(fs, "blocks", testID, table, Options{}); got != want || err != nil {
			t.Errorf("step %d, %v: repeated: %+v, %v, want %+v", step, hit, got, err, want)
		}
		if got := published(t, mem.CrashClone(vfs.Cut{})); len(got) != 1 {
			t.Errorf("step %d, %v: after the power cut: %v", step, hit, got)
		}
	}
}

func TestFullDiskIsToldAndLeavesNothing(t *testing.T) {
	mem := vfs.NewMem()
	mem.SetCapacity(8192)
	table := &column.Table{Rows: 5000, Columns: plainColumns(5000, 7)}
	if _, err := Write(mem, "blocks", testID, table, Options{}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if left := files(t, mem, "blocks"); len(left) != 0 {
		t.Errorf("left %q", left)
	}
	mem.SetCapacity(0)
	if _, err := Write(mem, "blocks", testID, table, Options{}); err != nil {
		t.Error(err)
	}
}

func TestBrokenTableIsAnError(t *testing.T) {
	f := func(what string, c column.Column) {
		t.Helper()
		table := &column.Table{Rows: 9, Columns: []column.Column{c}}
		if _, err := Write(vfs.NewMem(), "blocks", testID, table, Options{}); err == nil {
			t.Errorf("%s was written", what)
		}
	}
	one := ints("n", column.Int, nil, 1, 2, 3, 4, 5, 6, 7, 8)
	nine := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	f("a short column", one)
	one.Len = 9
	f("too few integers", one)
	of := func(typ column.Type, width int, last int64) column.Column {
		c := ints("n", typ, nil, 1, 2, 3, 4, 5, 6, 7, 8, last)
		c.Width = width
		return c
	}
	f("an integer of 33 bits", of(column.Int, 4, math.MaxInt32+1))
	f("a negative one of 33 bits", of(column.Int, 4, math.MinInt32-1))
	f("an unsigned one of 33 bits", of(column.Uint, 4, math.MaxUint32+1))
	f("a negative unsigned one", of(column.Uint, 4, -1))
	f("integers of 2 bytes", of(column.Int, 2, 1))
	f("a column without a type", column.Column{Name: "n", Len: 9})
	f("short validity", column.Column{Type: column.Struct, Len: 9, Valid: []byte{1}})
	f("too few bits", column.Column{Type: column.Bool, Len: 9, Bits: []byte{1}})
	f("too few floats", column.Column{Type: column.Double, Len: 9})
	f("no width", column.Column{Type: column.Fixed, Len: 9, Data: make([]byte, 100)})
	f("too few ids", column.Column{Type: column.Fixed, Width: 8, Len: 9, Data: make([]byte, 71)})
	f("too few offsets", column.Column{Type: column.String, Len: 9, Offsets: nine[1:], Data: make([]byte, 9)})
	f("offsets beyond the data", column.Column{Type: column.String, Len: 9, Offsets: nine, Data: make([]byte, 8)})
	f("too few indices", column.Column{Type: column.Bytes, Len: 9, Index: nine[:8], Dict: dict(9)})
	f("no dictionary", column.Column{Type: column.Bytes, Len: 9, Index: nine})
	f("a list of nothing", column.Column{Type: column.List, Len: 9, Offsets: nine})
	f("a list beyond its elements", column.Column{Type: column.List, Len: 9, Offsets: nine, Elem: &column.Column{Type: column.Struct, Len: 8}})
	f("a short member", column.Column{Type: column.Struct, Len: 9, Fields: []column.Column{one}})
	deep := column.Column{Type: column.Struct, Len: 9}
	for range maxDepth {
		deep = column.Column{Type: column.Struct, Len: 9, Fields: []column.Column{deep}}
	}
	f("a column of many levels", deep)
	twice := column.Column{Name: "n", Type: column.Struct, Len: 9}
	table := &column.Table{Rows: 9, Columns: []column.Column{twice, twice}}
	if _, err := Write(vfs.NewMem(), "blocks", testID, table, Options{}); err == nil {
		t.Error("two columns of one name were written")
	}
}
