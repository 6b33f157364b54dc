package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// waits tells somebody at a terminal that an answer takes its time. The zero waits is silent.
type waits struct {
	out   io.Writer
	every time.Duration
	began time.Time
	rows  int64 // had so far
}

// on makes w speak, if out is a terminal.
func (w *waits) on(out io.Writer) {
	if isTerminal(out) {
		w.out, w.every, w.began = out, time.Second, time.Now()
	}
}

// begin waits for one answer. done takes away what was said about it.
func (w *waits) begin() (done func()) {
	if w.out == nil {
		return func() {}
	}
	end := make(chan struct{})
	var told sync.WaitGroup
	told.Go(func() {
		tick := time.NewTicker(w.every)
		defer tick.Stop()
		said := false
		for {
			select {
			case <-tick.C:
				said = true
				fmt.Fprintf(w.out, "\r\x1b[Klooking for %s, %d rows so far", time.Since(w.began).Round(time.Second), w.rows)
			case <-end:
				if said {
					fmt.Fprint(w.out, "\r\x1b[K")
				}
				return
			}
		}
	})
	return func() {
		close(end)
		told.Wait()
	}
}
