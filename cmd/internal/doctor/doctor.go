package doctor

import (
	"context"
	"io/fs"
	"time"

	"mira/cmd/internal/corpus"
	"mira/storage/vfs"
)

// Seconds is a time as the JSON document has it.
type Seconds float64

// seconds converts.
func seconds(d time.Duration) Seconds { return Seconds(d.Seconds()) }

// Options say what to measure, and what the caller knows about the server.
type Options struct {
	Dir    string        // the data directory; where it is missing its parent is measured
	FS     vfs.FS        // holds Dir
	Root   fs.FS         // the machine's root, for its control group
	Shape  corpus.Shape  // of the records
	Budget time.Duration // about how long it may all take

	Addr string // a server's HTTP URL; empty: none is asked
	Must bool   // somebody has to answer there

	Procs        int   // the GOMAXPROCS that the server gives itself
	Memory       int64 // bytes of the machine
	IngestMemory int64 // bytes; the server's default

	Progress func(done float64, doing string) // may be nil
}

// Report is all that was found out.
type Report struct {
	Shape      string     `json:"shape"`
	Box        Box        `json:"box"`
	Disk       Disk       `json:"disk"`
	CPU        CPU        `json:"cpu"`
	Prediction Prediction `json:"prediction"`
	Warnings   []string   `json:"warnings"`
	Server     *Server    `json:"server,omitempty"` // nil: nobody listens there
}

// The shares of the budget. What is left over is slack for the last block of each measurement.
const smallShare, largeShare, bandwidthShare, cpuShare = 0.12, 0.12, 0.12, 0.52

// Run measures. It returns early with ctx's error, and leaves nothing behind in either case. A
// server that had to answer and did not is an error beside a whole report.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Progress == nil {
		o.Progress = func(float64, string) {}
	}
	r := &Report{Shape: o.Shape.String(), Box: o.box(), Warnings: []string{}}
	var serverErr error
	r.Server, serverErr = o.ask(ctx) // first: what follows disturbs it
	if serverErr != nil && !o.Must {
		r.Warnings, serverErr = append(r.Warnings, serverErr.Error()), nil
	}
	before := readTicks(o.Root)
	var err error
	if r.Disk, err = o.measureDisk(ctx); err != nil {
		return nil, err
	}
	if r.CPU, err = o.measureCPU(ctx); err != nil {
		return nil, err
	}
	r.Box.Others = before.othersSince(readTicks(o.Root), r.Box.Cores)
	r.Prediction = predict(r.Box.usable(), r.CPU, r.Disk)
	r.Warnings = append(r.Warnings, warnings(r)...)
	return r, serverErr
}

// step calls the progress of a measurement that begins at one share of the whole and ends at
// another, by the time it has taken.
func (o *Options) step(from, share float64, doing string) func(took time.Duration) {
	whole := float64(o.Budget) * share
	return func(took time.Duration) {
		o.Progress(from+share*min(1, float64(took)/whole), doing)
	}
}
