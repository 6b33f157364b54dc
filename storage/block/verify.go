package block

import (
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"

	"mira/storage/vfs"
)

// Verify reads every byte of the block that i names below root and compares it with the hash in
// its name. The error is a *CorruptError if they differ.
func Verify(fs vfs.FS, root string, i Info) error {
	f, err := fs.Open(filepath.Join(root, filepath.FromSlash(i.Path())))
	if err != nil {
		return fmt.Errorf("verify block: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	size, err := f.Size()
	if err != nil {
		return fmt.Errorf("verify block %s: %w", i.Path(), err)
	}
	h := sha256.New()
	if _, err := io.CopyBuffer(h, io.NewSectionReader(f, 0, size), make([]byte, 1<<18)); err != nil {
		return fmt.Errorf("verify block %s: %w", i.Path(), err)
	}
	if got := h.Sum(nil)[:len(i.Hash)]; string(got) != string(i.Hash[:]) {
		return &CorruptError{File: i.Path(), Err: fmt.Errorf("content has the hash %x", got)}
	}
	return nil
}
