package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
)

func TestMemIsFull(t *testing.T) {
	m := NewMem()
	m.SetCapacity(4 * pageSize)
	free := func(want uint64) {
		t.Helper()
		if got, err := m.Free("/"); got != want*pageSize || err != nil {
			t.Errorf("%d pages free (%v), want %d", got/pageSize, err, want)
		}
	}
	f, err := m.Create("/a")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Preallocate(2 * pageSize); err != nil {
		t.Fatal(err)
	}
	free(2)
	n, err := f.WriteAt(make([]byte, 5*pageSize), 0)
	if n != 4*pageSize || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("wrote %d bytes, %v; want %d, ENOSPC", n, err, 4*pageSize)
	}
	free(0)
	if err := f.Preallocate(5 * pageSize); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want ENOSPC", err)
	}
	if err := f.Truncate(pageSize + 1); err != nil {
		t.Fatal(err)
	}
	free(2)
	if err := m.Remove("/a"); err != nil {
		t.Fatal(err)
	}
	free(2) // f is still open
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	free(4)
}

// walk is a random program that makes the same calls on Mem and on the real thing.
type walk struct {
	*rand.Rand
	mem  *Mem
	real FS
	dir  string // of real
	log  []string
}

func (w *walk) name() string {
	return []string{"/a", "/b", "/d/a", "/d/b", "/d/e/a", "/d", "/d/e"}[w.IntN(7)]
}

// step makes one call on both and says how they differ.
func (w *walk) step() error {
	kind, a, b := w.IntN(10), w.name(), w.name()
	data := bytes.Repeat([]byte{byte(1 + w.IntN(255))}, 1+w.IntN(3*pageSize))
	off, size := w.Int64N(2*pageSize), w.Int64N(5*pageSize)
	call := func(f FS, dir string) error {
		switch kind {
		case 0:
			return f.Mkdir(dir + a)
		case 1:
			return f.Remove(dir + a)
		case 2:
			return f.Rename(dir+a, dir+b)
		case 3:
			file, err := f.Create(dir + a)
			if err != nil {
				return err
			}
			return file.Close()
		}
		return w.change(f, dir+a, func(file File) error {
			switch kind {
			case 4:
				return file.Truncate(size)
			case 5:
				return file.Preallocate(size)
			case 6:
				return file.Sync()
			}
			_, err := file.WriteAt(data, off)
			return err
		})
	}
	w.log = append(w.log, fmt.Sprintf("%d %s %s off %d len %d size %d", kind, a, b, off, len(data), size))
	mem, real := call(w.mem, ""), call(w.real, w.dir)
	if (mem == nil) != (real == nil) {
		return fmt.Errorf("mem says %v, the real one %v", mem, real) //nolint:errorlint // either may be nil
	}
	if w.IntN(4) == 0 {
		_ = w.mem.SyncDir(a)
	}
	return nil
}

func (w *walk) change(f FS, name string, call func(File) error) error {
	if e, err := f.Stat(name); err == nil && e.Dir {
		return syscall.EISDIR
	}
	file, err := f.OpenReadWrite(name)
	if err != nil {
		return err
	}
	return errors.Join(call(file), file.Close())
}

// dump is everything below dir, in a form to compare.
func dump(t *testing.T, f FS, dir string) (out []string) {
	t.Helper()
	list, err := f.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Dir {
			out = append(out, e.Name+"{")
			out = append(out, dump(t, f, dir+"/"+e.Name)...)
			out = append(out, "}")
			continue
		}
		file, err := f.Open(dir + "/" + e.Name)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, e.Size)
		if n, err := file.ReadAt(b, 0); int64(n) != e.Size {
			t.Fatal(n, err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		out = append(out, e.Name+":"+string(b))
	}
	return out
}

// taken counts the space again, from the files.
func taken(n *node) (pages int64) {
	for _, e := range n.entries {
		pages += taken(e)
	}
	if n.content.extra != countPages(n.content.pages[min(n.content.reserved, int64(len(n.content.pages))):]) {
		return -1 << 40
	}
	return pages + n.content.allocated()
}

func TestMemDoesWhatTheRealOneDoes(t *testing.T) {
	for seed := range uint64(60) {
		w := &walk{Rand: rand.New(rand.NewPCG(seed, 0)), mem: NewMem(), real: OS{}, dir: t.TempDir()}
		for range 120 {
			if err := w.step(); err != nil {
				t.Fatalf("seed %d: %v after\n%q", seed, err, w.log)
			}
		}
		want := dump(t, w.real, w.dir)
		for name, m := range map[string]*Mem{
			"as it is": w.mem, "kill": w.mem.CrashClone(Cut{Mode: Kill}), "keep": w.mem.CrashClone(Cut{Mode: Keep}),
		} {
			if got := dump(t, m, "/"); !slices.Equal(got, want) {
				t.Fatalf("seed %d, %s: got %.99q, want %.99q", seed, name, got, want)
			}
			if got := taken(m.root) * pageSize; got != m.used {
				t.Fatalf("seed %d, %s: %d bytes in use, %d counted", seed, name, got, m.used)
			}
		}
	}
}

// What was synced is in every clone of every later moment.
func TestNoCutTouchesWhatIsSynced(t *testing.T) {
	for seed := range uint64(40) {
		w := &walk{Rand: rand.New(rand.NewPCG(seed, 1)), mem: NewMem(), real: OS{}, dir: t.TempDir()}
		if err := errors.Join(workload(w.mem), w.mem.Rename("/d", "/kept"), w.mem.SyncDir("/")); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if err := w.step(); err != nil {
				t.Fatalf("seed %d: %v after\n%q", seed, err, w.log)
			}
			for mode := Drop; mode <= Kill; mode++ {
				c := w.mem.CrashClone(Cut{mode, w.Uint64()})
				if got := dump(t, c, "/kept"); !slices.Equal(got, []string{"a:hello, world"}) {
					t.Fatalf("seed %d, %v: got %q after\n%q", seed, mode, got, w.log)
				}
			}
		}
	}
}

func BenchmarkCrashClone(b *testing.B) {
	m := NewMem()
	for i := range 20 {
		f, err := m.Create(fmt.Sprintf("/%d", i))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.WriteAt(make([]byte, 64<<10), 0); err != nil {
			b.Fatal(err)
		}
		if i > 2 {
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
	}
	for b.Loop() {
		m.CrashClone(Cut{Mode: Torn, Seed: uint64(b.N)})
	}
}
