package storagetest

import (
	"strings"
	"testing"

	"mira/storage/vfs"
)

// PowerLoss checks that Mem forgets what a disk may forget: for each barrier that a program can
// leave out there is a case in which leaving it out loses something.
func PowerLoss(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(*loss)
	}{
		{"AllBarriersKeepAll", (*loss).allBarriersKeepAll},
		{"ForgottenFileSyncLosesData", (*loss).forgottenFileSync},
		{"ForgottenDirSyncLosesTheFile", (*loss).forgottenDirSync},
		{"ForgottenParentSyncLosesTheTree", (*loss).forgottenParentSync},
		{"ForgottenDirSyncUndoesRename", (*loss).forgottenRenameSync},
		{"ForgottenDirSyncUndoesRemove", (*loss).forgottenRemoveSync},
		{"RenameIsOldOrNew", (*loss).renameIsOldOrNew},
		{"RenameBetweenDirectoriesNeedsBothSyncs", (*loss).renameNeedsBothSyncs},
		{"OverwriteTearsBySector", (*loss).overwriteTears},
		{"SizeAndDataDisagree", (*loss).sizeAndDataDisagree},
		{"UnsyncedTruncateMayComeBack", (*loss).unsyncedTruncate},
		{"KillKeepsButDoesNotSync", (*loss).killKeeps},
		{"FailedSyncIsNotMadeUpFor", (*loss).failedSync},
		{"CloneIsApart", (*loss).cloneIsApart},
		{"EqualSeedsAreEqual", (*loss).equalSeedsAreEqual},
		{"LocksAreFree", (*loss).locksAreFree},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := vfs.NewMem()
			c.run(&loss{suite{t, m, "/"}, m})
		})
	}
}

// loss is one case; its file system is mem.
type loss struct {
	suite
	mem *vfs.Mem
}

// seeds is how many random cuts stand for all of them.
const seeds = 200

// after counts the states of name in random cuts: its text, or "none".
func (l *loss) after(mode vfs.CrashMode, name string) map[string]int {
	l.Helper()
	states := map[string]int{}
	for seed := range uint64(seeds) {
		states[l.state(l.mem.CrashClone(vfs.Cut{Mode: mode, Seed: seed}), name)]++
	}
	return states
}

func (l *loss) state(m *vfs.Mem, name string) string {
	l.Helper()
	f, err := m.Open(name)
	if err != nil {
		return "none"
	}
	s := suite{l.T, m, "/"}
	return s.read(f)
}

func (l *loss) left(mode vfs.CrashMode, name, want string) {
	l.Helper()
	if got := l.state(l.mem.CrashClone(vfs.Cut{Mode: mode}), name); got != want {
		l.Fatalf("after %v %s holds %.40q, want %.40q", mode, name, got, want)
	}
}

// always wants every random cut to leave the same.
func (l *loss) always(name, want string) {
	l.Helper()
	for _, mode := range []vfs.CrashMode{vfs.Drop, vfs.Keep, vfs.Random, vfs.Torn, vfs.Garbage, vfs.Kill} {
		if got := l.after(mode, name); got[want] != seeds {
			l.Fatalf("after %v %s holds %v, want always %.40q", mode, name, got, want)
		}
	}
}

// sometimes wants each of the states in some random cut, and no others.
func (l *loss) sometimes(mode vfs.CrashMode, name string, want ...string) {
	l.Helper()
	got := l.after(mode, name)
	for _, w := range want {
		if got[w] == 0 {
			l.Fatalf("after %v %s never holds %.40q", mode, name, w)
		}
	}
	if len(got) != len(want) {
		l.Fatalf("after %v %s holds %v, want one of %q", mode, name, got, want)
	}
}

func (l *loss) allBarriersKeepAll() {
	l.must(vfs.MkdirAll(l.mem, "/a/b"))
	l.put("a/b/f", "text")
	l.must(l.mem.SyncDir("/a/b"))
	l.always("/a/b/f", "text")
}

func (l *loss) forgottenFileSync() {
	f := l.create("f")
	_, err := f.WriteAt([]byte("text"), 0)
	l.must(err)
	l.must(f.Close())
	l.must(l.mem.SyncDir("/"))
	l.left(vfs.Drop, "/f", "")
	l.left(vfs.Keep, "/f", "text")
}

func (l *loss) forgottenDirSync() {
	l.put("f", "text")
	l.left(vfs.Drop, "/f", "none")
	l.left(vfs.Keep, "/f", "text")
	l.sometimes(vfs.Torn, "/f", "none", "text")
}

func (l *loss) forgottenParentSync() {
	l.must(l.mem.Mkdir("/a"))
	l.must(l.mem.Mkdir("/a/b"))
	l.put("a/b/f", "text")
	l.must(l.mem.SyncDir("/a/b"))
	l.must(l.mem.SyncDir("/"))
	l.left(vfs.Drop, "/a/b/f", "none")
	l.must(l.mem.SyncDir("/a"))
	l.always("/a/b/f", "text")
}

func (l *loss) forgottenRenameSync() {
	l.put("a", "text")
	l.must(l.mem.SyncDir("/"))
	l.must(l.mem.Rename("/a", "/b"))
	l.left(vfs.Drop, "/a", "text")
	l.left(vfs.Drop, "/b", "none")
	l.must(l.mem.SyncDir("/"))
	l.always("/b", "text")
	l.always("/a", "none")
}

func (l *loss) forgottenRemoveSync() {
	l.put("a", "text")
	l.must(l.mem.SyncDir("/"))
	l.must(l.mem.Remove("/a"))
	l.left(vfs.Drop, "/a", "text")
	l.left(vfs.Keep, "/a", "none")
	l.must(l.mem.SyncDir("/"))
	l.always("/a", "none")
}

func (l *loss) renameIsOldOrNew() {
	l.put("a", "old")
	l.must(l.mem.SyncDir("/"))
	l.put("a.tmp", "young")
	l.must(l.mem.Rename("/a.tmp", "/a"))
	l.sometimes(vfs.Random, "/a", "old", "young")
	for seed := range uint64(seeds) {
		m := l.mem.CrashClone(vfs.Cut{Mode: vfs.Torn, Seed: seed})
		if l.state(m, "/a") == "young" && l.state(m, "/a.tmp") != "none" {
			l.Fatal("both names are there")
		}
	}
}

func (l *loss) renameNeedsBothSyncs() {
	l.must(vfs.MkdirAll(l.mem, "/a"))
	l.must(vfs.MkdirAll(l.mem, "/b"))
	l.put("a/f", "text")
	l.must(l.mem.SyncDir("/a"))
	l.must(l.mem.Rename("/a/f", "/b/f"))
	l.must(l.mem.SyncDir("/b"))
	l.left(vfs.Drop, "/a/f", "text")
	l.must(l.mem.SyncDir("/a"))
	l.always("/b/f", "text")
	l.always("/a/f", "none")
}

func (l *loss) overwriteTears() {
	old, young := strings.Repeat("o", 1024), strings.Repeat("y", 1024)
	l.put("f", old)
	l.must(l.mem.SyncDir("/"))
	f, err := l.mem.OpenReadWrite("/f")
	l.must(err)
	_, err = f.WriteAt([]byte(young), 0)
	l.must(err)
	l.sometimes(vfs.Random, "/f", old, young)
	l.sometimes(vfs.Torn, "/f", old, young, young[:512]+old[512:], old[:512]+young[512:])
	l.must(f.Sync())
	l.always("/f", young)
}

func (l *loss) sizeAndDataDisagree() {
	f := l.create("f")
	l.must(l.mem.SyncDir("/"))
	_, err := f.WriteAt([]byte("text"), 0)
	l.must(err)
	got := l.after(vfs.Torn, "/f")
	for _, want := range []string{"", "text", "\x00\x00\x00\x00", "te"} {
		if got[want] == 0 {
			l.Errorf("never holds %q", want)
		}
	}
}

func (l *loss) unsyncedTruncate() {
	text := strings.Repeat("x", 10000)
	l.put("f", text)
	l.must(l.mem.SyncDir("/"))
	f, err := l.mem.OpenReadWrite("/f")
	l.must(err)
	l.must(f.Truncate(0))
	l.sometimes(vfs.Torn, "/f", text, "")
	l.must(f.Truncate(10000))
	l.must(f.Sync())
	l.always("/f", string(make([]byte, 10000)))
}

func (l *loss) killKeeps() {
	l.must(l.mem.Mkdir("/d"))
	f := l.create("d/f")
	_, err := f.WriteAt([]byte("text"), 0)
	l.must(err)
	killed := l.mem.CrashClone(vfs.Cut{Mode: vfs.Kill})
	after := &loss{suite{l.T, killed, "/"}, killed}
	after.holds("d/f", "text")
	after.left(vfs.Drop, "/d/f", "none")
	after.must(killed.SyncDir("/"))
	after.must(killed.SyncDir("/d"))
	after.left(vfs.Drop, "/d/f", "")
	g, err := killed.OpenReadWrite("/d/f")
	after.must(err)
	after.must(g.Sync())
	after.always("/d/f", "text")
	l.left(vfs.Drop, "/d/f", "none")
}

func (l *loss) failedSync() {
	f := l.create("f")
	l.must(f.Sync())
	l.must(l.mem.SyncDir("/"))
	_, err := f.WriteAt([]byte("text"), 0)
	l.must(err)
	l.must(l.mem.Forget("/f"))
	l.must(f.Sync())
	l.holds("f", "text")
	l.left(vfs.Drop, "/f", "\x00\x00\x00\x00")
	l.left(vfs.Kill, "/f", "text")
}

func (l *loss) cloneIsApart() {
	l.put("f", "text")
	l.must(l.mem.SyncDir("/"))
	clone := l.mem.CrashClone(vfs.Cut{})
	f, err := l.mem.OpenReadWrite("/f")
	l.must(err)
	_, err = f.WriteAt([]byte("n"), 0)
	l.must(err)
	l.must(f.Sync())
	g, err := clone.OpenReadWrite("/f")
	l.must(err)
	_, err = g.WriteAt([]byte("T"), 3)
	l.must(err)
	l.must(g.Sync())
	l.holds("f", "next")
	if got := l.state(clone, "/f"); got != "texT" {
		l.Fatalf("clone holds %q", got)
	}
}

func (l *loss) equalSeedsAreEqual() {
	for _, name := range []string{"c", "a", "b"} {
		f := l.create(name)
		_, err := f.WriteAt([]byte(strings.Repeat(name, 9000)), 0)
		l.must(err)
	}
	cut := vfs.Cut{Mode: vfs.Garbage, Seed: 7}
	first, second := l.mem.CrashClone(cut), l.mem.CrashClone(cut)
	for _, name := range []string{"/a", "/b", "/c"} {
		if l.state(first, name) != l.state(second, name) {
			l.Fatalf("%s differs", name)
		}
	}
}

func (l *loss) locksAreFree() {
	_, err := l.mem.Lock("/lock")
	l.must(err)
	for _, mode := range []vfs.CrashMode{vfs.Drop, vfs.Keep, vfs.Kill} {
		lock, err := l.mem.CrashClone(vfs.Cut{Mode: mode}).Lock("/lock")
		l.must(err)
		l.must(lock.Close())
	}
}
