// Package signal names the three OpenTelemetry signals and the blocks that keep them.
//
// The numbers are written to disk (log frames, block names): they are append-only and
// never change their meaning.
package signal

import (
	"fmt"
	"strconv"
	"strings"
)

// Signal is one of the three OTLP signals. The zero value is no signal.
type Signal uint8

// The signals, by their number on disk.
const (
	Logs    Signal = 1
	Traces  Signal = 2
	Metrics Signal = 3
)

// All lists the signals in the order of their numbers.
var All = [...]Signal{Logs, Traces, Metrics}

var names = [...]string{Logs: "logs", Traces: "traces", Metrics: "metrics"}

// Valid reports whether s is one of All.
func (s Signal) Valid() bool { return s >= Logs && s <= Metrics }

// String returns the name of s: "logs", "traces" or "metrics".
func (s Signal) String() string {
	if !s.Valid() {
		return "signal(" + strconv.Itoa(int(s)) + ")"
	}
	return names[s]
}

// Parse is the inverse of String.
func Parse(name string) (Signal, error) {
	for _, s := range All {
		if names[s] == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("unknown signal %q", name)
}

// BlockID is the identity of a block, given out before the block is filled and never
// given out twice in one store.
type BlockID struct {
	Signal Signal
	Shard  uint16 // the builder that fills it
	Node   uint32 // the store's own random number, so that blocks of several stores can meet in one archive
	Seq    uint64 // counts up over all signals and shards of a store
}

// String returns "logs/0a1b2c3d.0.17": signal, node in hexadecimal, shard, sequence number.
func (id BlockID) String() string {
	return id.Signal.String() + "/" + id.Stem()
}

// Stem returns String without the signal: "0a1b2c3d.0.17".
func (id BlockID) Stem() string {
	return fmt.Sprintf("%08x.%d.%d", id.Node, id.Shard, id.Seq)
}

// ParseBlockID is the inverse of BlockID.String. It accepts only the canonical form.
func ParseBlockID(text string) (BlockID, error) {
	bad := func() (BlockID, error) { return BlockID{}, fmt.Errorf("malformed block id %q", text) }
	name, stem, ok := strings.Cut(text, "/")
	if !ok {
		return bad()
	}
	sig, err := Parse(name)
	if err != nil {
		return bad()
	}
	part := strings.Split(stem, ".")
	if len(part) != 3 {
		return bad()
	}
	node, err1 := strconv.ParseUint(part[0], 16, 32)
	shard, err2 := strconv.ParseUint(part[1], 10, 16)
	seq, err3 := strconv.ParseUint(part[2], 10, 64)
	id := BlockID{Signal: sig, Node: uint32(node), Shard: uint16(shard), Seq: seq}
	if err1 != nil || err2 != nil || err3 != nil || id.String() != text {
		return bad()
	}
	return id, nil
}
