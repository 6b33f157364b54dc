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

// subcommand is one of mira's commands.
type subcommand struct {
	name, about string
	args        string   // as the usage shows them
	words       []string // that may stand behind it
	run         func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

// commands returns all of them, in the order in which they are shown.
func commands() []subcommand {
	rows := []string{"logs", "spans", "points", "traces", "metrics"}
	return []subcommand{
		{"serve", "run the server (mira serve --help lists the flags)", "--data-dir DIR", nil, serveCommand},
		{"query", "print records: logs, spans (traces) or points (metrics)", "SIGNAL", rows, queryCommand},
		{"tail", "print records as they are stored", "SIGNAL", rows, tailCommand},
		{"trace", "print one trace", "ID", nil, traceCommand},
		{"verify", "re-read every byte; exit 4 when damage is found", "--data-dir DIR", nil, verifyCommand},
		{"doctor", "measure this machine, say what to expect of it", "[--data-dir DIR]", nil, doctorCommand},
		{"health", "ask a running server whether it is ready", "", nil, healthCommand},
		{"config", "look at the settings: validate, print or schema", "VERB", configVerbs, configCommand},
		{"completion", "print the completion for bash, zsh or fish", "SHELL", shells, completionCommand},
		{"version", "print the version", "", nil, versionCommand},
		{"help", "print this", "", nil, helpCommand},
	}
}

func usage() string {
	var b strings.Builder
	b.WriteString("mira receives OTLP, keeps it safe on disk, and answers questions about it.\n\n")
	for _, c := range commands() {
		name := c.name
		if name == "serve" {
			name = "[serve]"
		}
		fmt.Fprintf(&b, "  %-29s %s\n", strings.TrimSpace("mira "+name+" "+c.args), c.about)
	}
	b.WriteString("\nExit codes: 0 ok, 1 failure, 2 usage or configuration, 3 unsafe data directory, 4 damage found.\n")
	return b.String()
}

func versionCommand(_ context.Context, _ []string, stdout, _ io.Writer) int {
	fmt.Fprintln(stdout, version())
	return exitOK
}

func helpCommand(_ context.Context, _ []string, stdout, _ io.Writer) int {
	fmt.Fprint(stdout, usage())
	return exitOK
}

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
	name, explicit := "serve", false
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args, explicit = args[0], args[1:], true
	}
	if len(args) == 1 && name == "serve" {
		switch args[0] {
		case "--version", "-version":
			name = "version"
		case "--help", "-help", "-h":
			if !explicit {
				name = "help"
			}
		}
	}
	for _, c := range commands() {
		if c.name == name {
			return c.run(ctx, args, stdout, stderr)
		}
	}
	fmt.Fprintf(stderr, "mira: unknown command %q\n\n%s", name, usage())
	return exitUsage
}
