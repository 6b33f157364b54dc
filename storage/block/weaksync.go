//go:build weaksync

// A build with the tag weaksync publishes blocks without their barriers and loses acknowledged
// records when the power fails. It exists for scripts/measure/publish-barrier.sh, which asks what
// the barriers cost. Nothing else may name the tag, and scripts/arrows holds that.

package block

import "mira/storage/vfs"

// weakSyncWarning is what such a build says of itself, first thing, and is found in by.
const weakSyncWarning = "built with weaksync: this server loses acknowledged records, it is for measurements only"

func init() { println(weakSyncWarning) }

// barriers returns an fs on which no barrier is one.
func barriers(fs vfs.FS) vfs.FS { return weak{fs} }

type weak struct{ vfs.FS }

// Create implements vfs.FS.
func (w weak) Create(name string) (vfs.File, error) {
	f, err := w.FS.Create(name)
	return weakFile{f}, err
}

// SyncDir implements vfs.FS.
func (weak) SyncDir(string) error { return nil }

type weakFile struct{ vfs.File }

// Sync implements vfs.File.
func (weakFile) Sync() error { return nil }
