package stage

import "fmt"

// Stage is a part of an Export's way.
type Stage uint8

// The stages, in the order of the way.
const (
	AdmitWait  Stage = iota // waiting for room in the ingest memory
	Check                   // the walk over the payload before the log
	LogQueue                // from Append until the committer takes the frame into a group
	LogWrite                // per group: layout and write, and a new segment where one is due
	LogSync                 // per group: fdatasync
	Ack                     // from the end of the sync until Submit returns
	ShardQueue              // from Logged until the shard turns to the Export
	Columns                 // filling columns
	SealWait                // from closing a block until it is being written
	Encode                  // per block: building the file's bytes, without the codec
	Compress                // per block: the codec
	FileWrite               // per block: handing the bytes to the system
	FileSync                // per block: fsync of its file
	Rename                  // per block: rename and the sync of the directory
	Catalog                 // per block: the swap of the catalog in memory
	Trim                    // per block: letting the log forget it
	count
)

// All lists every stage in its order.
var All = func() (all [count]Stage) {
	for i := range all {
		all[i] = Stage(i)
	}
	return all
}()

var names = [count]string{
	"admit_wait", "check", "log_queue", "log_write", "log_sync", "ack", "shard_queue", "columns",
	"seal_wait", "encode", "compress", "file_write", "file_sync", "rename", "catalog", "trim",
}

// String returns the name that metrics and documents use.
func (s Stage) String() string {
	if s >= count {
		return fmt.Sprintf("stage(%d)", uint8(s))
	}
	return names[s]
}

// Kind tells what time in a stage is.
type Kind string

// The kinds. Time of a CPU stage is nearly all work: it counts against the cores. Time of a Wait
// stage is somebody waiting, for a turn, for the disk or for the system.
const (
	CPU  Kind = "cpu"
	Wait Kind = "wait"
)

// Kind returns what time in s is.
func (s Stage) Kind() Kind {
	switch s {
	case Check, Columns, Encode, Compress, Catalog:
		return CPU
	default:
		return Wait
	}
}
