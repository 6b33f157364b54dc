package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"mira/storage/block"
	"mira/storage/frame"
	"mira/storage/vfs"
	"mira/storage/wal"
)

// VerifyReport is what Verify found.
type VerifyReport struct {
	Blocks   int
	Bytes    int64 // of the blocks
	Segments int
	Aside    int      // files in quarantine, found damaged before
	Damage   []string // one line each: the file, and what is wrong
}

// Verify re-reads every byte of the blocks and the log of a data directory. It changes nothing
// and takes no lock, so it may run beside a server. fsys nil means vfs.OS.
func Verify(ctx context.Context, dir string, fsys vfs.FS) (VerifyReport, error) {
	if fsys == nil {
		fsys = vfs.OS{}
	}
	var r VerifyReport
	if _, err := fsys.Stat(filepath.Join(dir, formatFile)); err != nil {
		return r, &UnsafeError{Dir: dir, Reason: "it is not a mira data directory", Err: err}
	}
	root := filepath.Join(dir, blocksDir)
	s := &Store{fs: fsys, dir: dir}
	err := s.walk(root, func(rel string, e vfs.Entry) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if strings.HasSuffix(rel, ".tmp") {
			return nil // a block in the making
		}
		return r.block(fsys, root, rel, e)
	})
	if err != nil {
		return r, fmt.Errorf("read blocks: %w", err)
	}
	err = s.walk(filepath.Join(dir, quarantineDir), func(string, vfs.Entry) error { r.Aside++; return nil })
	return r, errors.Join(err, r.log(fsys, filepath.Join(dir, walDir)))
}

func (r *VerifyReport) block(fsys vfs.FS, root, rel string, e vfs.Entry) error {
	info, err := block.ParsePath(filepath.ToSlash(rel))
	if err == nil {
		info.Bytes = e.Size
		err = block.Verify(fsys, root, info)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gone since the directory was read
	}
	r.Blocks++
	r.Bytes += e.Size
	if err != nil {
		r.Damage = append(r.Damage, fmt.Sprintf("%s: %v", filepath.Join(blocksDir, rel), err))
	}
	return nil
}

// log reads the segments as a start would.
func (r *VerifyReport) log(fsys vfs.FS, dir string) error {
	if _, err := fsys.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	log, err := wal.Open(wal.Options{FS: fsys, Dir: dir})
	if err != nil {
		return err
	}
	report, err := log.Replay(func(frame.Frame) error { return nil })
	if errors.Is(err, fs.ErrNotExist) { // a server retired a segment; what it held is in blocks
		err = nil
	}
	r.Segments = report.Segments
	for _, d := range report.Damage {
		r.Damage = append(r.Damage, d.Error())
	}
	return errors.Join(err, log.Close())
}
