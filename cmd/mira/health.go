package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"
)

// healthCommand asks a running server whether it is ready, for probes that can run a program.
func healthCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("mira health", flag.ContinueOnError)
	f.SetOutput(stderr)
	addr := addAddr(f)
	timeout := f.Duration("timeout", 5*time.Second, "how long to wait for the answer")
	if err := f.Parse(args); err != nil {
		return flagExit(err)
	}
	if f.NArg() > 0 {
		fmt.Fprintf(stderr, "mira health: unexpected argument %q\n", f.Arg(0))
		return exitUsage
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, baseURL(*addr)+"/readyz", nil)
	if err != nil {
		fmt.Fprintf(stderr, "mira health: %v\n", err)
		return exitUsage
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Fprintf(stderr, "mira health: %v\n", err)
		return exitFailed
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		fmt.Fprintf(stderr, "mira health: %v\n", err)
		return exitFailed
	}
	fmt.Fprintf(stdout, "%s\n", body)
	if res.StatusCode != http.StatusOK {
		return exitFailed
	}
	return exitOK
}

// release is the version of a released build; the linker sets it.
var release = "dev"

func version() string {
	text := "mira " + release
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return text
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text + " " + info.GoVersion
}
