package stage_test

import (
	"testing"

	"mira/storage/stage"
)

// BenchmarkPerExport is all that one Export pays which is alone in its group: its own laps, or
// the decision that it has none, and the counts of the group. The two readings of the clock
// around a sync are not in it: the log takes them for its own sake.
func BenchmarkPerExport(b *testing.B) {
	set := new(stage.Set)
	b.ReportAllocs()
	for i := stage.Mark(0); b.Loop(); i += 1000 { // a million Exports per second: one in eight is timed
		perExport(set, i)
	}
}

func perExport(set *stage.Set, start stage.Mark) {
	trip := set.Begin(start)
	trip.Lap(stage.Check)
	trip.Lap(stage.AdmitWait)
	at := stage.Mark(5)
	trip.LapAt(stage.LogQueue, at)
	set.Observe(stage.LogWrite, 20_000)
	set.Observe(stage.LogSync, 1_000_000)
	set.Group(1, 1_300_000)
	trip.Skip(at)
	fork := trip.Fork()
	trip.Lap(stage.Ack)
	fork.Lap(stage.ShardQueue)
	fork.Lap(stage.Columns)
}

// BenchmarkTimed is an Export that is timed, in a group of many.
func BenchmarkTimed(b *testing.B) {
	set := new(stage.Set)
	b.ReportAllocs()
	for i := stage.Mark(1e9); b.Loop(); i += 1e9 {
		trip := set.Begin(i)
		trip.Lap(stage.Check)
		trip.Lap(stage.AdmitWait)
		trip.LapAt(stage.LogQueue, i)
		trip.Skip(i)
		fork := trip.Fork()
		trip.Lap(stage.Ack)
		fork.Lap(stage.ShardQueue)
		fork.Lap(stage.Columns)
	}
}

// BenchmarkSnapshot is what a scrape costs.
func BenchmarkSnapshot(b *testing.B) {
	set := new(stage.Set)
	for b.Loop() {
		set.Snapshot()
	}
}
