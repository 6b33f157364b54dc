package vfs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestOSKeepsFilesPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	name := filepath.Join(dir, "f")
	if err := MkdirAll(OS{}, dir); err != nil {
		t.Fatal(err)
	}
	f, err := OS{}.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, name: 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

func TestFillWritesZerosWhereNothingCanBeReserved(t *testing.T) {
	f, err := OS{}.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("text"), 0); err != nil {
		t.Fatal(err)
	}
	const size = 3<<20 + 17
	if err := f.(*osFile).fill(4, size); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, size)
	if _, err := f.ReadAt(got, 0); err != nil {
		t.Fatal(err)
	}
	if n, _ := f.Size(); n != size || string(got[:4]) != "text" || slices.Max(got[4:]) != 0 {
		t.Errorf("size %d, want %d: the text and zeros", n, size)
	}
}

func TestVolumeOfKnowsThisMachine(t *testing.T) {
	v, err := VolumeOf(t.TempDir())
	if err != nil || v.Name == "" {
		t.Fatalf("got %+v, %v", v, err)
	}
	if _, err := VolumeOf("/no/such/directory"); err == nil {
		t.Error("no error for a directory that is not there")
	}
}
