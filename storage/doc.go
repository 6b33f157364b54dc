// Package storage keeps one data directory: its lock, its log and its set of published blocks.
//
// It promises that a block in the set is whole and durable, that an Export in the log stays
// there until its block is in the set, and that damage is moved aside, counted and reported, but
// never deleted and never a reason not to start.
//
//	<data-dir>/
//	  FORMAT                      what this directory is: format number and node
//	  LOCK                        held (flock) while a process has the directory open
//	  mira.addr                   where the running server listens
//	  wal/<number>.wal            the log
//	  blocks/<signal>/<hour>/…    published blocks; the names are the catalog
//	  quarantine/…                damaged files, under the path they had
//
// The order that matters is in Publish: bytes on disk, name on disk, queries see it, log forgets it.
package storage
