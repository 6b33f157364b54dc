// Command mira receives OpenTelemetry data over OTLP, keeps it safe on disk and answers questions
// about it.
//
// It only wires: flags become option structs, and the packages do the work.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Exit codes; part of the command line's contract.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2 // usage or configuration
	exitUnsafe = 3 // the data directory cannot be used
	exitDamage = 4 // damage found
)

const usage = `mira receives OTLP, keeps it safe on disk, and answers questions about it.

  mira [serve] --data-dir DIR   run the server (mira serve --help lists the flags)
  mira query SIGNAL             print records: logs, spans (traces) or points (metrics)
  mira tail SIGNAL              print records as they are stored
  mira trace ID                 print one trace
  mira verify --data-dir DIR    re-read every byte; exit 4 when damage is found
  mira doctor [--data-dir DIR]  measure this machine, say what to expect of it
  mira health                   ask a running server whether it is ready
  mira version                  print the version

Exit codes: 0 ok, 1 failure, 2 usage or configuration, 3 unsafe data directory, 4 damage found.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process at once
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with its world passed in. ctx ends at the first signal.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	command, explicit := "serve", false
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		command, args, explicit = args[0], args[1:], true
	}
	if len(args) == 1 && command == "serve" {
		switch args[0] {
		case "--version", "-version":
			command = "version"
		case "--help", "-help", "-h":
			if !explicit {
				command = "help"
			}
		}
	}
	switch command {
	case "serve":
		return serveCommand(ctx, args, stdout, stderr)
	case "query":
		return queryCommand(ctx, args, stdout, stderr)
	case "tail":
		return tailCommand(ctx, args, stdout, stderr)
	case "trace":
		return traceCommand(ctx, args, stdout, stderr)
	case "verify":
		return verifyCommand(ctx, args, stdout, stderr)
	case "doctor":
		return doctorCommand(ctx, args, stdout, stderr)
	case "health":
		return healthCommand(ctx, args, stdout, stderr)
	case "version":
		fmt.Fprintln(stdout, version())
		return exitOK
	case "help":
		fmt.Fprint(stdout, usage)
		return exitOK
	}
	fmt.Fprintf(stderr, "mira: unknown command %q\n\n%s", command, usage)
	return exitUsage
}
