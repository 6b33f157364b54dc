package storagetest

import (
	"testing"

	"mira/storage/vfs"
)

func TestOSIsAnFS(t *testing.T) {
	FS(t, func(t *testing.T) (vfs.FS, string) { return vfs.OS{}, t.TempDir() })
}

func TestMemIsAnFS(t *testing.T) {
	FS(t, func(*testing.T) (vfs.FS, string) { return vfs.NewMem(), "/" })
}

func TestCrashedMemIsAnFS(t *testing.T) {
	FS(t, func(t *testing.T) (vfs.FS, string) {
		m := vfs.NewMem()
		if err := vfs.MkdirAll(m, "some/dir"); err != nil {
			t.Fatal(err)
		}
		return m.CrashClone(vfs.Cut{}), "some/dir"
	})
}

func TestFaultyWithoutFaultsIsAnFS(t *testing.T) {
	FS(t, func(t *testing.T) (vfs.FS, string) {
		return &vfs.Faulty{
			FS:     vfs.OS{},
			Before: func(vfs.Op) error { return nil },
			After:  func(_ vfs.Op, err error) error { return err },
		}, t.TempDir()
	})
}

func TestMemLosesWhatIsNotSynced(t *testing.T) { PowerLoss(t) }
