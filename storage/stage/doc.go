// Package stage measures where an Export spends its time, always and at next to no cost.
//
// It owns the names of the stages, the histograms behind them, and the clock that fills them. It
// promises that counting takes no lock, allocates nothing and never blocks, and that a nil *Set
// and a nil *Trip count nothing, so that whoever measures need not ask whether somebody looks.
//
//	 receiver    pipeline      storage/wal                         pipeline (shard)         storage/block                              storage
//	  check ─── admit_wait ─── log_queue ─ log_write ─ log_sync ─┬─ ack
//	                                                             └─ shard_queue ─ columns ─ seal_wait ─ encode, compress, file_write,
//	                                                                                        file_sync, rename ─────────────────────── catalog ─ trim
//	├────────── of an Export ───────────┤├─ of a group ─────────┤├──── of an Export ──────┤├──── of a block ─────────────────────────────────────┤
//
// Groups and blocks are all timed, the codec in one row group of four. Of the Exports about one in eight is, and stands for those that
// came since the last one: a reading of the clock costs as much as the rest of the work here.
package stage
