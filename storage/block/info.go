package block

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mira/storage/signal"
)

// Suffix is how the name of a block ends.
const Suffix = ".arrow"

// TempSuffix is how the name of a file ends that is not a block yet. After a crash such files
// are left over; nothing refers to them.
const TempSuffix = ".tmp"

// Info is what the name of a block tells, and its size.
type Info struct {
	ID    signal.BlockID
	Min   uint64   // the place in time of the earliest record, Unix nanoseconds
	Max   uint64   // and of the latest
	Hash  [16]byte // the first half of the SHA-256 of the file
	Bytes int64    // the size of the file; 0 where only the name is known
}

// Path returns the name below the directory that holds the blocks, with slashes.
func (i Info) Path() string {
	return i.Dir() + "/" + fmt.Sprintf("%020d-%020d-%s-%x%s", i.Min, i.Max, i.ID.Stem(), i.Hash, Suffix)
}

// Dir returns the directory part of Path: "logs/2026-11-30T21".
func (i Info) Dir() string {
	const second = uint64(time.Second)
	first := time.Unix(int64(i.Min/second), int64(i.Min%second))
	return i.ID.Signal.String() + "/" + first.UTC().Format("2006-01-02T15")
}

// ParsePath is the inverse of Info.Path; Bytes stays 0. It accepts only the canonical form.
func ParsePath(path string) (Info, error) {
	i, ok := parsePath(path)
	if !ok || i.Path() != path {
		return Info{}, fmt.Errorf("%q is not the name of a block", path)
	}
	return i, nil
}

// parsePath reads the parts and leaves it to the caller to see that they are all there is.
func parsePath(path string) (i Info, ok bool) {
	dir, base, _ := strings.Cut(strings.TrimSuffix(path, Suffix), "/")
	_, base, _ = strings.Cut(base, "/")
	part := strings.Split(base, "-")
	if len(part) != 4 || len(part[3]) != 2*len(i.Hash) {
		return Info{}, false
	}
	var err1, err2, err3, err4 error
	i.Min, err1 = strconv.ParseUint(part[0], 10, 64)
	i.Max, err2 = strconv.ParseUint(part[1], 10, 64)
	i.ID, err3 = signal.ParseBlockID(dir + "/" + part[2])
	_, err4 = hex.Decode(i.Hash[:], []byte(part[3]))
	return i, err1 == nil && err2 == nil && err3 == nil && err4 == nil && i.Min <= i.Max
}
