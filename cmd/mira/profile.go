//go:build profile

package main

import (
	"log"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
)

// With the build tag profile the server writes a CPU profile of its whole life to the file that
// MIRA_PROFILE names. scripts/pgo.sh records default.pgo with it; no release has it.
func init() {
	f, err := os.Create(os.Getenv("MIRA_PROFILE"))
	if err != nil {
		log.Fatal(err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		log.Fatal(err)
	}
	done := make(chan os.Signal, 1)
	signal.Notify(done, syscall.SIGUSR1)
	go func() {
		<-done
		pprof.StopCPUProfile()
		_ = f.Close()
	}()
}
