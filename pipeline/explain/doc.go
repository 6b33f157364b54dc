// Package explain says what ingest is bound by, in numbers and in words.
//
// It owns the watch over a running server and the verdict. The watch marks the counts of package
// stage every ten seconds and takes the difference of two marks, and measures how late a sleeper
// wakes. The verdict is a pure function of the document that it stands in, so whoever doubts it
// has everything before him that it was made from.
//
//	marks   ─┬──────────────┬──────────────┬────── now
//	       start            └─── window ───┘
package explain
