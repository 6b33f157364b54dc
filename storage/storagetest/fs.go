// Package storagetest holds the suites that every file system of mira must pass, the real one
// and the fakes: a test on a fake proves something only as far as the fake behaves like a disk.
package storagetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"mira/storage/vfs"
)

// FS checks one implementation. open returns a file system and an empty directory in it.
func FS(t *testing.T, open func(t *testing.T) (f vfs.FS, dir string)) {
	for _, c := range []struct {
		name string
		run  func(*suite)
	}{
		{"WritesAreReadBack", (*suite).writesAreReadBack},
		{"WritesLeaveZerosBetween", (*suite).writesLeaveZerosBetween},
		{"WritevTakesManyPieces", (*suite).writevTakesManyPieces},
		{"CreateEmptiesWhatIsThere", (*suite).createEmptiesWhatIsThere},
		{"OpenForReadingDoesNotWrite", (*suite).openForReadingDoesNotWrite},
		{"MissingNamesAreErrNotExist", (*suite).missingNamesAreErrNotExist},
		{"MkdirRefusesATakenName", (*suite).mkdirRefusesATakenName},
		{"MkdirAllMakesParents", (*suite).mkdirAllMakesParents},
		{"ListIsSorted", (*suite).listIsSorted},
		{"RenameReplaces", (*suite).renameReplaces},
		{"RenameGoesBetweenDirectories", (*suite).renameGoesBetweenDirectories},
		{"OpenFileOutlivesItsName", (*suite).openFileOutlivesItsName},
		{"RemoveTakesFilesAndEmptyDirectories", (*suite).removeTakesFilesAndEmptyDirectories},
		{"TruncateCutsAndGrows", (*suite).truncateCutsAndGrows},
		{"PreallocateGrowsAndKeeps", (*suite).preallocateGrowsAndKeeps},
		{"ClosedFilesSayErrClosed", (*suite).closedFilesSayErrClosed},
		{"LockExcludes", (*suite).lockExcludes},
		{"FreeIsPositive", (*suite).freeIsPositive},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, dir := open(t)
			c.run(&suite{t, f, dir})
		})
	}
}

// suite is one case on its own file system. Its methods end the test when something fails.
type suite struct {
	*testing.T
	fs  vfs.FS
	dir string
}

func (s *suite) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) is(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Fatalf("got error %v, want %v", err, want)
	}
}

func (s *suite) create(name string) vfs.File {
	s.Helper()
	f, err := s.fs.Create(s.path(name))
	s.must(err)
	s.Cleanup(func() { _ = f.Close() })
	return f
}

func (s *suite) put(name, text string) {
	s.Helper()
	f := s.create(name)
	_, err := f.WriteAt([]byte(text), 0)
	s.must(err)
	s.must(f.Sync())
	s.must(f.Close())
}

func (s *suite) read(f vfs.File) string {
	s.Helper()
	size, err := f.Size()
	s.must(err)
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); int64(n) != size || (err != nil && err != io.EOF) {
		s.Fatalf("read %d of %d bytes: %v", n, size, err)
	}
	return string(b)
}

func (s *suite) holds(name, want string) {
	s.Helper()
	f, err := s.fs.Open(s.path(name))
	s.must(err)
	got := s.read(f)
	s.must(f.Close())
	if got != want {
		s.Fatalf("%s holds %q, want %q", name, got, want)
	}
}

func (s *suite) lists(dir string, want ...vfs.Entry) {
	s.Helper()
	got, err := s.fs.List(s.path(dir))
	s.must(err)
	if !slices.Equal(got, want) {
		s.Fatalf("list of %q: got %v, want %v", dir, got, want)
	}
}

func (s *suite) writesAreReadBack() {
	f := s.create("a")
	n, err := f.WriteAt([]byte("hello"), 0)
	s.must(err)
	m, err := f.Writev(5, [][]byte{nil, []byte(", "), {}, []byte("world")})
	s.must(err)
	if n != 5 || m != 7 {
		s.Fatalf("wrote %d and %d bytes, want 5 and 7", n, m)
	}
	_, err = f.WriteAt([]byte("J"), 0)
	s.must(err)
	s.must(f.Sync())
	if got := s.read(f); got != "Jello, world" {
		s.Fatalf("got %q", got)
	}
	b := make([]byte, 100)
	if n, err := f.ReadAt(b, 7); n != 5 || err != io.EOF {
		s.Fatalf("read at the end: %d bytes, %v; want 5, EOF", n, err)
	}
	if n, err := f.ReadAt(b, 12); n != 0 || err != io.EOF {
		s.Fatalf("read behind the end: %d bytes, %v; want 0, EOF", n, err)
	}
}

func (s *suite) writesLeaveZerosBetween() {
	f := s.create("a")
	_, err := f.WriteAt([]byte("x"), 9000)
	s.must(err)
	if got := s.read(f); got != string(make([]byte, 9000))+"x" {
		s.Fatalf("got %d bytes that are not zeros and an x", len(got))
	}
}

func (s *suite) writevTakesManyPieces() {
	var bufs [][]byte
	var want bytes.Buffer
	for i := range 3000 {
		b := fmt.Appendf(nil, "%d,", i)
		bufs = append(bufs, b, nil)
		want.Write(b)
	}
	before := slices.Clone(bufs)
	f := s.create("a")
	n, err := f.Writev(0, bufs)
	s.must(err)
	if n != int64(want.Len()) || s.read(f) != want.String() {
		s.Fatalf("wrote %d bytes, want %d of %d pieces in order", n, want.Len(), len(bufs))
	}
	for i, b := range bufs {
		if !bytes.Equal(b, before[i]) {
			s.Fatalf("piece %d was changed", i)
		}
	}
}

func (s *suite) createEmptiesWhatIsThere() {
	s.put("a", "old text")
	f := s.create("a")
	if got := s.read(f); got != "" {
		s.Fatalf("got %q, want nothing", got)
	}
	_, err := s.fs.Create(s.path("none", "a"))
	s.is(err, fs.ErrNotExist)
}

func (s *suite) openForReadingDoesNotWrite() {
	s.put("a", "text")
	f, err := s.fs.Open(s.path("a"))
	s.must(err)
	if _, err := f.WriteAt([]byte("x"), 0); err == nil {
		s.Fatal("wrote to a file opened for reading")
	}
	s.must(f.Close())
	g, err := s.fs.OpenReadWrite(s.path("a"))
	s.must(err)
	_, err = g.WriteAt([]byte("n"), 0)
	s.must(err)
	s.must(g.Close())
	s.holds("a", "next")
}

func (s *suite) missingNamesAreErrNotExist() {
	_, err := s.fs.Open(s.path("a"))
	s.is(err, fs.ErrNotExist)
	_, err = s.fs.OpenReadWrite(s.path("a"))
	s.is(err, fs.ErrNotExist)
	_, err = s.fs.Stat(s.path("a"))
	s.is(err, fs.ErrNotExist)
	_, err = s.fs.List(s.path("a"))
	s.is(err, fs.ErrNotExist)
	s.is(s.fs.SyncDir(s.path("a")), fs.ErrNotExist)
	s.is(s.fs.Remove(s.path("a")), fs.ErrNotExist)
	s.is(s.fs.Rename(s.path("a"), s.path("b")), fs.ErrNotExist)
	s.is(s.fs.Mkdir(s.path("a", "b")), fs.ErrNotExist)
	var path *fs.PathError
	if _, err = s.fs.Open(s.path("a")); !errors.As(err, &path) {
		s.Fatalf("got %T, want a *fs.PathError", err)
	}
}

func (s *suite) mkdirRefusesATakenName() {
	s.must(s.fs.Mkdir(s.path("d")))
	s.is(s.fs.Mkdir(s.path("d")), fs.ErrExist)
	s.put("f", "")
	s.is(s.fs.Mkdir(s.path("f")), fs.ErrExist)
}

func (s *suite) mkdirAllMakesParents() {
	s.must(vfs.MkdirAll(s.fs, s.path("a", "b", "c")))
	s.must(vfs.MkdirAll(s.fs, s.path("a", "b", "c")))
	s.put("a/b/c/f", "x")
	s.lists("a/b", vfs.Entry{Name: "c", Dir: true})
	if err := vfs.MkdirAll(s.fs, s.path("a", "b", "c", "f")); err == nil {
		s.Fatal("made a directory where a file is")
	}
}

func (s *suite) listIsSorted() {
	s.put("b", "22")
	s.put("c", "333")
	s.put("a", "1")
	s.must(s.fs.Mkdir(s.path("ab")))
	s.lists("", vfs.Entry{Name: "a", Size: 1}, vfs.Entry{Name: "ab", Dir: true},
		vfs.Entry{Name: "b", Size: 2}, vfs.Entry{Name: "c", Size: 3})
	e, err := s.fs.Stat(s.path("c"))
	s.must(err)
	if want := (vfs.Entry{Name: "c", Size: 3}); e != want {
		s.Fatalf("stat: got %v, want %v", e, want)
	}
	e, err = s.fs.Stat(s.path("ab"))
	s.must(err)
	if want := (vfs.Entry{Name: "ab", Dir: true}); e != want {
		s.Fatalf("stat: got %v, want %v", e, want)
	}
}

func (s *suite) renameReplaces() {
	s.put("a", "young")
	s.put("b", "old")
	s.must(s.fs.Rename(s.path("a"), s.path("b")))
	s.must(s.fs.SyncDir(s.dir))
	s.lists("", vfs.Entry{Name: "b", Size: 5})
	s.holds("b", "young")
	s.must(s.fs.Mkdir(s.path("d")))
	if err := s.fs.Rename(s.path("b"), s.path("d")); err == nil {
		s.Fatal("a file replaced a directory")
	}
	if err := s.fs.Rename(s.path("d"), s.path("b")); err == nil {
		s.Fatal("a directory replaced a file")
	}
}

func (s *suite) renameGoesBetweenDirectories() {
	s.must(s.fs.Mkdir(s.path("d")))
	s.put("d/a", "text")
	s.must(s.fs.Mkdir(s.path("e")))
	s.must(s.fs.Rename(s.path("d/a"), s.path("e/b")))
	s.lists("d")
	s.holds("e/b", "text")
	s.must(s.fs.Rename(s.path("e"), s.path("d/e")))
	s.holds("d/e/b", "text")
	if err := s.fs.Rename(s.path("d"), s.path("d/e/d")); err == nil {
		s.Fatal("a directory went into itself")
	}
}

func (s *suite) openFileOutlivesItsName() {
	f := s.create("a")
	_, err := f.WriteAt([]byte("text"), 0)
	s.must(err)
	s.must(s.fs.Rename(s.path("a"), s.path("b")))
	_, err = f.WriteAt([]byte("n"), 0)
	s.must(err)
	s.holds("b", "next")
	s.must(s.fs.Remove(s.path("b")))
	if got := s.read(f); got != "next" {
		s.Fatalf("got %q after Remove", got)
	}
	s.must(f.Close())
}

func (s *suite) removeTakesFilesAndEmptyDirectories() {
	s.must(s.fs.Mkdir(s.path("d")))
	s.put("d/a", "x")
	if err := s.fs.Remove(s.path("d")); err == nil {
		s.Fatal("removed a directory that is not empty")
	}
	s.must(s.fs.Remove(s.path("d/a")))
	s.must(s.fs.Remove(s.path("d")))
	s.must(s.fs.SyncDir(s.dir))
	s.lists("")
}

func (s *suite) truncateCutsAndGrows() {
	s.put("a", "0123456789")
	f, err := s.fs.OpenReadWrite(s.path("a"))
	s.must(err)
	s.must(f.Truncate(4))
	s.must(f.Truncate(6))
	if got := s.read(f); got != "0123\x00\x00" {
		s.Fatalf("got %q", got)
	}
	s.must(f.Truncate(10000))
	s.must(f.Truncate(0))
	s.must(f.Sync())
	s.must(f.Close())
	s.holds("a", "")
}

func (s *suite) preallocateGrowsAndKeeps() {
	s.put("a", "text")
	f, err := s.fs.OpenReadWrite(s.path("a"))
	s.must(err)
	s.must(f.Preallocate(10000))
	if got := s.read(f); got != "text"+string(make([]byte, 9996)) {
		s.Fatalf("got %d bytes that are not the text and zeros", len(got))
	}
	s.must(f.Preallocate(100))
	if size, err := f.Size(); size != 10000 || err != nil {
		s.Fatalf("size %d, %v after reserving less; want 10000", size, err)
	}
	_, err = f.WriteAt([]byte("x"), 9999)
	s.must(err)
	s.must(f.Close())
}

func (s *suite) closedFilesSayErrClosed() {
	f := s.create("a")
	s.must(f.Close())
	_, err := f.WriteAt([]byte("x"), 0)
	s.is(err, fs.ErrClosed)
	_, err = f.Writev(0, [][]byte{[]byte("x")})
	s.is(err, fs.ErrClosed)
	_, err = f.ReadAt(make([]byte, 1), 0)
	s.is(err, fs.ErrClosed)
	_, err = f.Size()
	s.is(err, fs.ErrClosed)
	s.is(f.Sync(), fs.ErrClosed)
	s.is(f.Truncate(1), fs.ErrClosed)
	s.is(f.Preallocate(1), fs.ErrClosed)
	s.is(f.Close(), fs.ErrClosed)
}

func (s *suite) lockExcludes() {
	lock, err := s.fs.Lock(s.path("lock"))
	s.must(err)
	_, err = s.fs.Lock(s.path("lock"))
	s.is(err, vfs.ErrLocked)
	s.must(lock.Close())
	lock, err = s.fs.Lock(s.path("lock"))
	s.must(err)
	s.must(lock.Close())
	s.lists("", vfs.Entry{Name: "lock"})
}

func (s *suite) freeIsPositive() {
	if n, err := s.fs.Free(s.dir); n == 0 || err != nil {
		s.Fatalf("got %d, %v", n, err)
	}
}
