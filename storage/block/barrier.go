//go:build !weaksync

package block

import "mira/storage/vfs"

// barriers returns fs as it is: what is said to be on disk is.
func barriers(fs vfs.FS) vfs.FS { return fs }
