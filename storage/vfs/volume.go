package vfs

// Volume tells what kind of file system a directory is on.
type Volume struct {
	Name     string // "ext", "xfs", "nfs", …; the magic number in hexadecimal when it is not known
	Network  bool   // another machine holds the bytes, so neither a lock nor a sync is to be relied on
	Fuse     bool   // a user's program holds the bytes: a sync is worth what that program makes of it
	Volatile bool   // memory: nothing survives a power cut
}
