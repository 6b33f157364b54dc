package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"mira/storage"
)

// verifyCommand re-reads every byte of a data directory. It changes nothing, so it works while a
// server runs on the directory.
func verifyCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("mira verify", flag.ContinueOnError)
	f.SetOutput(stderr)
	dir := f.String("data-dir", "./data", "verify this data `directory`")
	if err := f.Parse(args); err != nil {
		return flagExit(err)
	}
	if f.NArg() > 0 {
		fmt.Fprintf(stderr, "mira verify: unexpected argument %q\n", f.Arg(0))
		return exitUsage
	}
	report, err := storage.Verify(ctx, *dir, nil)
	if err != nil {
		fmt.Fprintf(stderr, "mira verify: %v\n", err)
		return exitOf(err)
	}
	for _, d := range report.Damage {
		fmt.Fprintf(stdout, "damaged: %s\n", d)
	}
	fmt.Fprintf(stdout, "%d blocks (%d bytes), %d log segments: %d damaged; %d files in quarantine from earlier\n",
		report.Blocks, report.Bytes, report.Segments, len(report.Damage), report.Aside)
	if len(report.Damage) > 0 {
		return exitDamage
	}
	return exitOK
}

// exitOf returns the exit code for an error of the storage.
func exitOf(err error) int {
	var unsafe *storage.UnsafeError
	if errors.As(err, &unsafe) {
		return exitUnsafe
	}
	return exitFailed
}

// flagExit returns the exit code for an error of flag.Parse, which has printed it.
func flagExit(err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	return exitUsage
}
