package storage_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"mira/storage"
	"mira/storage/block"
	"mira/storage/column"
	"mira/storage/frame"
	"mira/storage/signal"
	"mira/storage/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const dir = "/data"

func open(t *testing.T, fs vfs.FS) *storage.Store {
	t.Helper()
	s, err := storage.Open(storage.Options{Dir: dir, FS: fs})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	if _, err := s.Replay(func(frame.Frame) error { return nil }); err != nil {
		t.Fatalf("replay: %v", err)
	}
	if err := s.Start(); err != nil {
		t.Fatalf("start: %v", err)
	}
	return s
}

func shut(t *testing.T, s *storage.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// table has n rows from the given time on.
func table(from int64, n int) *column.Table {
	ints := make([]int64, n)
	for i := range ints {
		ints[i] = from + int64(i)
	}
	return &column.Table{Rows: n, Columns: []column.Column{
		{Name: "time_unix_nano", Level: column.LevelRecord, Type: column.Time, Len: n, Ints: ints},
	}}
}

func write(t *testing.T, fs vfs.FS, name, text string) {
	t.Helper()
	if err := vfs.MkdirAll(fs, filepath.Dir(name)); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func blocks(t *testing.T, s *storage.Store, start, end uint64) []block.Info {
	t.Helper()
	snap, err := s.Snapshot(context.Background(), signal.Logs, start, end)
	if err != nil {
		t.Fatal(err)
	}
	return snap.Blocks
}

func mustUnsafe(t *testing.T, fs vfs.FS, want string) {
	t.Helper()
	_, err := storage.Open(storage.Options{Dir: dir, FS: fs})
	var unsafe *storage.UnsafeError
	if !errors.As(err, &unsafe) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an UnsafeError that says %q", err, want)
	}
}

func TestOpenRefusesADirectoryInUse(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	mustUnsafe(t, fs, "another mira process")
	shut(t, s)
	shut(t, open(t, fs))
}

func TestOpenRefusesANewerFormatAndLeavesItAlone(t *testing.T) {
	fs := vfs.NewMem()
	write(t, fs, dir+"/FORMAT", "mira data directory\nformat 2\nnode 00000001\n")
	write(t, fs, dir+"/blocks/logs/x.tmp", "of the newer program")
	mustUnsafe(t, fs, "format 2")
	if _, err := fs.Stat(dir + "/blocks/logs/x.tmp"); err != nil {
		t.Errorf("a file of the newer format was touched: %v", err)
	}
}

func TestOpenRefusesAnUnwritableDirectory(t *testing.T) {
	fs := &vfs.Faulty{FS: vfs.NewMem(), Before: func(op vfs.Op) error {
		if op.Kind == vfs.OpCreate {
			return errors.New("read-only file system")
		}
		return nil
	}}
	mustUnsafe(t, fs, "not writable")
}

func TestOpenTakesAnEmptyDirectoryThatIsBeingMeasured(t *testing.T) {
	fs := vfs.NewMem()
	write(t, fs, dir+"/doctor-0a1b2c3d/segment", "noise")
	shut(t, open(t, fs))
	if _, err := fs.Stat(dir + "/doctor-0a1b2c3d/segment"); err != nil {
		t.Errorf("the measurement was disturbed: %v", err)
	}
}

func TestOpenRefusesADirectoryOfSomebodyElse(t *testing.T) {
	fs := vfs.NewMem()
	write(t, fs, dir+"/thesis.tex", "")
	mustUnsafe(t, fs, "thesis.tex")
	if list, err := fs.List(dir); err != nil || len(list) != 1 {
		t.Errorf("it holds %v now, %v", list, err)
	}
	_, err := storage.Open(storage.Options{Dir: "/nowhere", FS: fs, MustExist: true})
	var unsafe *storage.UnsafeError
	if !errors.As(err, &unsafe) {
		t.Errorf("opened to look only: got %v, want an UnsafeError", err)
	}
	if _, err := fs.Stat("/nowhere"); err == nil {
		t.Error("the directory was made")
	}
}

func TestDamagedFormatFileIsReplaced(t *testing.T) {
	fs := vfs.NewMem()
	write(t, fs, dir+"/FORMAT", "\x00\x00\x00")
	s := open(t, fs)
	if got := s.Stats().Damaged; got != 1 {
		t.Errorf("damage counter is %d, want 1", got)
	}
	node := s.Node()
	shut(t, s)
	if _, err := fs.Stat(dir + "/quarantine/FORMAT"); err != nil {
		t.Errorf("the damaged file is not in quarantine: %v", err)
	}
	s = open(t, fs)
	defer shut(t, s)
	if s.Node() != node {
		t.Errorf("node changed from %08x to %08x", node, s.Node())
	}
}

func TestPublishedBlocksAreFoundByNameAndTime(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	for i := range 3 {
		if err := s.Publish(s.NextBlock(signal.Logs, 0), table(int64(i)*1000, 10)); err != nil {
			t.Fatal(err)
		}
	}
	f := func(start, end uint64, want int) {
		t.Helper()
		if got := blocks(t, s, start, end); len(got) != want {
			t.Errorf("window %d to %d: got %d blocks, want %d", start, end, len(got), want)
		}
	}
	look := func() {
		f(0, math.MaxUint64, 3)
		f(1000, 1001, 1)
		f(1009, 2000, 1) // start inclusive, end exclusive
		f(1010, 2000, 0)
		f(0, 1001, 2)
	}
	look()
	shut(t, s)
	s = open(t, fs)
	defer shut(t, s)
	look()
}

func TestTheLastNanosecondIsInAWindowWithoutEnd(t *testing.T) {
	s := open(t, vfs.NewMem())
	defer shut(t, s)
	if err := s.Publish(s.NextBlock(signal.Logs, 0), table(-1, 1)); err != nil { // all bits set
		t.Fatal(err)
	}
	if got := blocks(t, s, 0, math.MaxUint64); len(got) != 1 {
		t.Errorf("got %d blocks, want 1", len(got))
	}
}

func TestOpenSweepsTemporaryFilesAndSetsStrangersAside(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	id := s.NextBlock(signal.Logs, 0)
	if err := s.Publish(id, table(0, 10)); err != nil {
		t.Fatal(err)
	}
	good := blocks(t, s, 0, math.MaxUint64)[0]
	shut(t, s)
	hour := dir + "/blocks/" + filepath.Dir(good.Path())
	write(t, fs, hour+"/half.tmp", "half")
	write(t, fs, hour+"/holiday.jpg", "a picture")
	s = open(t, fs)
	defer shut(t, s)
	if _, err := fs.Stat(hour + "/half.tmp"); err == nil {
		t.Error("the temporary file is still there")
	}
	if _, err := fs.Stat(dir + "/quarantine/blocks/" + filepath.Dir(good.Path()) + "/holiday.jpg"); err != nil {
		t.Errorf("the stranger is not in quarantine: %v", err)
	}
	if got := blocks(t, s, 0, math.MaxUint64); len(got) != 1 {
		t.Errorf("got %d blocks, want 1", len(got))
	}
}

func TestDamagedBlockLeavesTheSetAndKeepsItsNumber(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	var last signal.BlockID
	for range 2 {
		last = s.NextBlock(signal.Logs, 0)
		if err := s.Publish(last, table(0, 10)); err != nil {
			t.Fatal(err)
		}
	}
	all := blocks(t, s, 0, math.MaxUint64)
	s.Damaged(all[1], errors.New("bad"))
	s.Damaged(all[1], errors.New("bad, says a second reader"))
	if got := s.Stats().Damaged; got != 1 {
		t.Errorf("damage counter is %d, want 1", got)
	}
	if got := blocks(t, s, 0, math.MaxUint64); len(got) != 1 {
		t.Errorf("got %d blocks, want 1", len(got))
	}
	shut(t, s)
	if r, err := storage.Verify(context.Background(), dir, fs); err != nil || r.Aside != 1 || len(r.Damage) != 0 {
		t.Errorf("verify: got %+v, %v, want one file in quarantine", r, err)
	}
	s = open(t, fs)
	defer shut(t, s)
	if got := s.Stats().Aside; got != 1 {
		t.Errorf("%d files in quarantine after a restart, want 1", got)
	}
	if id := s.NextBlock(signal.Logs, 0); id.Seq <= last.Seq {
		t.Errorf("number %d was given out before", id.Seq)
	}
}

func TestVerifyListsDamage(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	if err := s.Publish(s.NextBlock(signal.Logs, 0), table(0, 100)); err != nil {
		t.Fatal(err)
	}
	b := blocks(t, s, 0, math.MaxUint64)[0]
	r, err := storage.Verify(context.Background(), dir, fs)
	if err != nil || len(r.Damage) != 0 || r.Blocks != 1 || r.Bytes != b.Bytes {
		t.Errorf("whole store: got %+v, %v", r, err)
	}
	f, err := fs.OpenReadWrite(dir + "/blocks/" + b.Path())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0xff}, b.Bytes/2); err != nil {
		t.Fatal(err)
	}
	f.Close()
	r, err = storage.Verify(context.Background(), dir, fs)
	if err != nil || len(r.Damage) != 1 || !strings.Contains(r.Damage[0], b.Path()) {
		t.Errorf("damaged store: got %+v, %v", r, err)
	}
	shut(t, s)
}

// BenchmarkOpenTenThousandBlocks opens a store of 10,000 published blocks and an empty log.
func BenchmarkOpenTenThousandBlocks(b *testing.B) {
	root := b.TempDir()
	s, err := storage.Open(storage.Options{Dir: root})
	if err != nil {
		b.Fatal(err)
	}
	node := s.Node()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	const hour = int64(3600e9)
	for i := range int64(10_000) {
		at := 1_800_000_000_000_000_000 + i*hour/60
		info := block.Info{ID: signal.BlockID{Signal: signal.Logs, Node: node, Seq: uint64(i)}, Min: uint64(at), Max: uint64(at + 1)}
		writeOS(b, filepath.Join(root, "blocks", info.Path()))
	}
	for b.Loop() {
		s, err := storage.Open(storage.Options{Dir: root})
		if err != nil {
			b.Fatal(err)
		}
		if got := s.Stats().Blocks[signal.Logs]; got != 10_000 {
			b.Fatalf("got %d blocks", got)
		}
		s.Close()
	}
}

func writeOS(b *testing.B, name string) {
	b.Helper()
	var fs vfs.OS
	for _, err := fs.Stat(filepath.Dir(name)); err != nil; _, err = fs.Stat(filepath.Dir(name)) {
		if err := vfs.MkdirAll(fs, filepath.Dir(name)); err != nil {
			b.Fatal(err)
		}
	}
	f, err := fs.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	fmt.Fprint(writerAt{f}, "a block, as far as a name can tell")
	f.Close()
}

type writerAt struct{ vfs.File }

func (w writerAt) Write(p []byte) (int, error) { return w.WriteAt(p, 0) }
