package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal makes a terminal that is cols wide. What is written to it comes out of keeper.
func openTerminal(t *testing.T, cols uint16) (keeper, tty *os.File) {
	t.Helper()
	keeper, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { keeper.Close() })
	fd := int(keeper.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: cols})
	}
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { tty.Close() })
	return keeper, tty
}

func TestTerminalIsToldFromOtherDevices(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	_, tty := openTerminal(t, 77)
	if got, want := screenOf(tty), (screen{width: 77, colour: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	t.Setenv("NO_COLOR", "1")
	if got := screenOf(tty); got.colour {
		t.Error("NO_COLOR changes nothing")
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if got := screenOf(null); got != (screen{}) || isTerminal(null) || isTerminal(&bytes.Buffer{}) {
		t.Errorf("%s: got %+v, want no terminal", os.DevNull, got)
	}
}

func TestLongWaitIsToldToATerminal(t *testing.T) {
	keeper, tty := openTerminal(t, 77)
	w := &waits{rows: 7}
	w.on(tty)
	w.every = time.Millisecond
	done := w.begin()
	b := make([]byte, 1<<10)
	n, err := keeper.Read(b)
	done()
	if err != nil || !strings.Contains(string(b[:n]), "looking for 0s, 7 rows so far") {
		t.Errorf("got %q, %v", b[:n], err)
	}
}
