package storage

import (
	"mira/storage/vfs"
)

// checkVolume refuses a network file system, whose locks and syncs nobody can vouch for, and
// warns of one that some program (FUSE) or memory stands behind.
func (s *Store) checkVolume() error {
	if _, real := s.fs.(vfs.OS); !real {
		return nil // a test's file system
	}
	v, err := vfs.VolumeOf(s.dir)
	switch {
	case err != nil:
		return &UnsafeError{Dir: s.dir, Reason: "its file system cannot be told", Err: err}
	case v.Network:
		return &UnsafeError{Dir: s.dir, Reason: "it is on a network file system (" + v.Name + "), where an fsync does not say that data is safe; use a local disk"}
	case v.Fuse:
		s.logger.Warn().Str("dir", s.dir).Str("volume", v.Name).Msg("the data directory is on FUSE: durability is what that program makes of fsync")
	case v.Volatile:
		s.logger.Warn().Str("dir", s.dir).Str("volume", v.Name).Msg("the data directory is in memory: nothing survives a power cut")
	}
	return nil
}
