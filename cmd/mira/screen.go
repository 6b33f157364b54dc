package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"unicode"

	"golang.org/x/sys/unix"
)

// The colours, as the numbers of SGR.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	yellow = "33"
	green  = "32"
)

// screen is what is known of a terminal. The zero screen is none.
type screen struct {
	width  int // 0: unknown
	colour bool
}

// screenOf looks at what out is.
func screenOf(out io.Writer) screen {
	size, ok := terminal(out)
	if !ok {
		return screen{}
	}
	return screen{width: int(size.Col), colour: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// terminal returns the size of the terminal that out is. Other devices, such as /dev/null, are none.
func terminal(out io.Writer) (size *unix.Winsize, ok bool) {
	f, ok := out.(*os.File)
	if !ok {
		return nil, false
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return size, err == nil
}

func isTerminal(out io.Writer) bool {
	_, ok := terminal(out)
	return ok
}

// paint puts text into a colour, where there are colours.
func (s screen) paint(text, colour string) string {
	if !s.colour || colour == "" {
		return text
	}
	return fmt.Sprintf("\x1b[%sm%s\x1b[0m", colour, text)
}

// displayWidth returns how many cells of a terminal text takes.
func displayWidth(text string) int {
	n := 0
	for _, r := range text {
		n += runeCells(r)
	}
	return n
}

// runeCells knows marks that take no cell and the scripts and pictures that take two.
func runeCells(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1f64f, r >= 0x1f900 && r <= 0x1f9ff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// cut shortens text to width cells, and shows that it did.
func cut(text string, width int) string {
	if displayWidth(text) <= width {
		return text
	}
	n := 0
	for i, r := range text {
		if n+runeCells(r) > width-1 {
			return text[:i] + "…"
		}
		n += runeCells(r)
	}
	return cmp.Or(text, "…")
}
