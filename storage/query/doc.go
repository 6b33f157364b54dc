// Package query answers questions about stored records: it parses a filter, leaves out the blocks
// that cannot hold an answer, scans the rest, and hands back one page at a time.
//
// It owns the language of filters (OTTL conditions, as the Collector's filter processor has them),
// the order of answers and the cursor between two pages. It promises that
//
//   - a page is the next rows in the order (place in time, block, row), which no ingest and no
//     seal disturbs: a block keeps its id and its row numbers when it is published;
//   - memory is bounded by the page, never by the answer: a scan keeps the best rows seen, as
//     references, and reads their columns only when all blocks have been looked at;
//   - a damaged block costs its own rows and nothing else: it is reported and left out.
//
// One page:
//
//	Snapshot ─ blocks that overlap the window
//	   │ open ─ can the filter be true with these columns? ─ no: skipped
//	   │ per row group: time and filter columns only ─ top k references
//	   └ per row group with a hit: all wanted columns ─ OTLP, in the order of the answer
package query
