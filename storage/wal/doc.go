// Package wal keeps an acknowledged Export on disk until a published block holds it.
//
// It owns the directory of the log: a row of segments, each a header block and frames behind it,
// written by one goroutine. It promises that
//
//   - Append returns without an error only after what its tier asks for: a sync that covers the
//     frame, or for signal.Buffered a write;
//   - a frame whose Append returned ErrFull or the error of a write is never replayed;
//   - Replay hands out every acknowledged frame of an unreleased block, in the order of the log,
//     each once, whatever the moment of the crash;
//   - a failed sync poisons the log: it acknowledges nothing ever again, because what the disk
//     holds is unknown until it is read after a restart;
//   - what looks damaged is kept, reported and moved aside, never deleted and never fatal.
//
// One segment, little-endian:
//
//	     0                               4                               8
//	   0 ┌───────────────────────────────────────────────────────┬───────┐
//	     │  'm'    'i'    'r'    'a'    'w'    'a'    'l'        │version│
//	   8 ├───────────────────────────────────────────────────────┴───────┤
//	     │                            number                             │
//	  16 ├───────────────────────────────────────────────────────────────┤
//	     │         epoch: low half of number, 32 random bits above       │
//	  24 ├───────────────────────────────────────────────────────────────┤
//	     │       floor: every block number below it was given out        │
//	  32 ├───────────────────────────────────────────────────────────────┤
//	     │                             zeros                             │
//	  56 ├───────────────────────────────┬───────────────────────────────┤
//	     │               0               │     CRC32C of bytes 0-59      │
//	  64 ├───────────────────────────────┴───────────────────────────────┤
//	     │                             zeros                             │
//	4096 ├───────────────────────────────────────────────────────────────┤
//	     │  frame │ frame │ frame │ … │ mark │ zeros or an earlier life  │
//	     └───────────────────────────────────────────────────────────────┘
//
// A file goes round: <number>.free is a spare and holds nothing; its new header is written and
// synced; only then is it renamed to <number>.wal, and the name is synced before a frame counts.
// When every block that its frames name is released, it is renamed back. Numbers only go up.
//
// A segment that is not the last one ends with a mark or with its file, and was synced whole
// before the next one got its name. So only the last segment can have a torn tail.
package wal
