package storage

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mira/storage/vfs"
)

// FormatVersion is the newest data directory format that this program reads, and the one it writes.
const FormatVersion = 1

const (
	formatFile  = "FORMAT"
	formatTitle = "mira data directory"
	maxFormat   = 4096 // bytes; a FORMAT file is a few lines
)

// format is what the FORMAT file says.
type format struct {
	version int
	node    uint32 // the store's random number, part of every block's name
}

func (f format) bytes() []byte {
	return fmt.Appendf(nil, "%s\nformat %d\nnode %08x\n", formatTitle, f.version, f.node)
}

// parseFormat reads a FORMAT file. Lines it does not know belong to a format that a newer
// program may still call by this number, and are skipped.
func parseFormat(b []byte) (format, error) {
	lines := strings.Split(string(b), "\n")
	if lines[0] != formatTitle {
		return format{}, errors.New("not a FORMAT file")
	}
	var f format
	for _, line := range lines[1:] {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "format":
			n, err := strconv.Atoi(value)
			if err != nil {
				return format{}, fmt.Errorf("format number: %w", err)
			}
			f.version = n
		case "node":
			n, err := strconv.ParseUint(value, 16, 32)
			if err != nil {
				return format{}, fmt.Errorf("node: %w", err)
			}
			f.node = uint32(n)
		}
	}
	if f.version < 1 {
		return format{}, errors.New("no format number")
	}
	return f, nil
}

// own are the names that a data directory without a FORMAT file may hold: it is being made, or lost
// that one file.
var own = []string{"LOCK", blocksDir, walDir, quarantineDir, addressFile, formatFile + ".tmp", addressFile + ".tmp", "probe", "probe.tmp", "lost+found"}

// doctorPrefix begins the name of a directory that mira doctor measures in for a moment.
const doctorPrefix = "doctor-"

// recognize refuses a directory that is somebody else's.
func (s *Store) recognize(mustExist bool) error {
	_, err := s.fs.Stat(filepath.Join(s.dir, formatFile))
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return nil // what is wrong with it is found later
	}
	if mustExist {
		return &UnsafeError{Dir: s.dir, Reason: "it is not a mira data directory"}
	}
	entries, err := s.fs.List(s.dir)
	if err != nil {
		return nil // it is not there yet, or prepare will say why not
	}
	for _, e := range entries {
		if !slices.Contains(own, e.Name) && !strings.HasPrefix(e.Name, doctorPrefix) {
			return &UnsafeError{Dir: s.dir, Reason: fmt.Sprintf("it is not a mira data directory and holds other files (%s); choose an empty one", e.Name)}
		}
	}
	return nil
}

// loadFormat reads the FORMAT file of dir, or writes one where none is. A damaged one is moved to
// quarantine and replaced: the blocks' own names carry the node, so nothing hangs on this file.
func (s *Store) loadFormat() error {
	b, err := readFile(s.fs, filepath.Join(s.dir, formatFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.newFormat()
	case err != nil:
		return &UnsafeError{Dir: s.dir, Reason: "its FORMAT file cannot be read", Err: err}
	}
	f, err := parseFormat(b)
	if err != nil {
		if err := s.quarantine(formatFile, err); err != nil {
			return &UnsafeError{Dir: s.dir, Reason: "its damaged FORMAT file cannot be moved aside", Err: err}
		}
		return s.newFormat()
	}
	if f.version > FormatVersion {
		return &UnsafeError{Dir: s.dir, Reason: fmt.Sprintf(
			"it has format %d and this program knows %d; use the newer program that wrote it", f.version, FormatVersion)}
	}
	s.node = f.node
	return nil
}

func (s *Store) newFormat() error {
	var b [4]byte
	rand.Read(b[:]) // crypto/rand.Read does not fail
	s.node = binary.LittleEndian.Uint32(b[:])
	if err := writeFile(s.fs, s.dir, formatFile, format{FormatVersion, s.node}.bytes()); err != nil {
		return &UnsafeError{Dir: s.dir, Reason: "it is not writable", Err: err}
	}
	return nil
}

func readFile(fsys vfs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	n, err := f.Size()
	if err != nil {
		return nil, err
	}
	if n > maxFormat {
		return nil, fmt.Errorf("%s: %d bytes, want at most %d", name, n, maxFormat)
	}
	b := make([]byte, n)
	if _, err := f.ReadAt(b, 0); err != nil && n > 0 {
		return nil, err
	}
	return b, nil
}

// writeFile puts a small file into dir, whole or not at all, and durably.
func writeFile(fsys vfs.FS, dir, name string, b []byte) error {
	tmp := filepath.Join(dir, name+".tmp")
	if err := writeSync(fsys, tmp, b); err != nil {
		return err
	}
	if err := fsys.Rename(tmp, filepath.Join(dir, name)); err != nil {
		return err
	}
	return fsys.SyncDir(dir)
}

func writeSync(fsys vfs.FS, name string, b []byte) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}
