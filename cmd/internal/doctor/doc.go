// Package doctor measures the machine that mira runs on, and says what to expect of it.
//
// It owns three measurements and what follows from them:
//
//	disk   write + fdatasync into a file that was written before, as the log does it ─┐
//	cpu    check, columns and encoding of loadgen's requests, on one core             ├─> Prediction
//	box    CPUs, control group, file system, free space                              ─┘   and warnings
//	server GET /debug/ingest of one that runs                                        ───> Advice
//
// It promises to be safe beside a running server: it neither opens nor locks the data directory,
// writes only below a directory of its own in it (doctor-<8 hex>), which the server does not look
// at, and removes that again however Run ends.
package doctor
