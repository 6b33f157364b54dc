package block

import (
	"fmt"
	"path/filepath"

	"mira/storage/column"
	"mira/storage/signal"
	"mira/storage/stage"
	"mira/storage/vfs"
)

// View is the rows of a block that is not published yet.
type View struct {
	ID    signal.BlockID
	Table *column.Table
}

// Write publishes the table as a block below root, in this order:
//
//  1. the hour's directory is on disk
//  2. the bytes are on disk, under a name that nobody reads
//  3. the name is on disk
//
// That is two barriers, and more when the directory is new. After an error the block is not
// published, as far as anybody can tell, and Write may be called again: it makes the same file
// under the same name. Only when the last barrier fails, the name is there all the same, and
// whether a power cut would take it away again nobody knows.
func Write(fs vfs.FS, root string, id signal.BlockID, t *column.Table, o Options) (Info, error) {
	fs = barriers(fs)
	first, last := extent(t, id.Signal)
	dir := filepath.Join(root, filepath.FromSlash(Info{ID: id, Min: first, Max: last}.Dir()))
	if err := vfs.MkdirAll(fs, dir); err != nil {
		return Info{}, fmt.Errorf("make directory for block %s: %w", id, err)
	}
	temp := filepath.Join(dir, id.Stem()+TempSuffix)
	i, err := writeTemp(fs, temp, id, t, o)
	synced := stage.Now()
	if err == nil {
		err = fs.Rename(temp, filepath.Join(root, filepath.FromSlash(i.Path())))
	}
	if err != nil {
		_ = fs.Remove(temp) // what is left is swept at the next start
		return Info{}, fmt.Errorf("write block %s: %w", id, err)
	}
	if err := fs.SyncDir(dir); err != nil {
		return Info{}, fmt.Errorf("make name of block %s durable: %w", id, err)
	}
	o.Stages.Observe(stage.Rename, stage.Now().Since(synced))
	return i, nil
}

// writeTemp makes the bytes of a block durable under the name temp.
func writeTemp(fs vfs.FS, temp string, id signal.BlockID, t *column.Table, o Options) (Info, error) {
	f, err := fs.Create(temp)
	if err != nil {
		return Info{}, err
	}
	i, err := Encode(&tail{file: f}, id, t, o)
	if err == nil {
		began := stage.Now()
		err = f.Sync()
		o.Stages.Observe(stage.FileSync, stage.Now().Since(began))
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return i, err
}

// tail is the end of a file, to write behind.
type tail struct {
	file vfs.File
	at   int64
}

// Write appends p.
func (t *tail) Write(p []byte) (int, error) {
	n, err := t.file.WriteAt(p, t.at)
	t.at += int64(n)
	return n, err
}
