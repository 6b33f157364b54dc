package main

import (
	"bytes"
	"io"
	"slices"
	"strings"
)

// tableColumn is one column of a table.
type tableColumn struct {
	title string
	least int // how far it may be cut to fit a terminal; 0: it is never cut
}

// tableColumns are what a table shows of each kind of row.
var tableColumns = map[string][]tableColumn{
	"logs":   {{"TIME", 19}, {"SEVERITY", 0}, {"SERVICE", 6}, {"BODY", 12}, {"ATTRIBUTES", 3}},
	"spans":  {{"START", 19}, {"DURATION", 0}, {"SERVICE", 6}, {"NAME", 8}, {"STATUS", 5}, {"TRACE", 8}, {"SPAN", 8}},
	"points": {{"TIME", 19}, {"SERVICE", 6}, {"METRIC", 8}, {"VALUE", 0}, {"UNIT", 2}, {"ATTRIBUTES", 3}},
}

// cell is what one row has in one column.
type cell struct{ text, colour string }

// table prints rows below each other. On a terminal its lines are as long as that is wide, and
// coloured; elsewhere nothing is cut.
type table struct {
	out     io.Writer
	columns []tableColumn
	screen  screen
	widths  []int // of the columns, as far as printed; they only grow
	lines   [][]cell
}

// newTable returns a table with nothing but its header.
func newTable(out io.Writer, columns []tableColumn) *table {
	t := &table{out: out, columns: columns, screen: screenOf(out), widths: make([]int, len(columns))}
	header := make([]cell, len(columns))
	for i, c := range columns {
		header[i] = cell{c.title, bold}
	}
	t.lines = append(t.lines, header)
	return t
}

// add puts a row at the table's end. What commands a terminal is shown and not sent.
func (t *table) add(cells ...cell) {
	for i := range cells {
		cells[i].text = escape(cells[i].text)
	}
	t.lines = append(t.lines, cells)
}

// flush prints the rows added since the last flush.
func (t *table) flush() error {
	for _, cells := range t.lines {
		for i, c := range cells {
			t.widths[i] = max(t.widths[i], min(displayWidth(c.text), maxWidth))
		}
	}
	var b bytes.Buffer
	widths := t.fit()
	for _, cells := range t.lines {
		t.line(&b, cells, widths)
	}
	t.lines = t.lines[:0]
	_, err := t.out.Write(b.Bytes())
	return err
}

const (
	gap = 2 // blanks between two columns
	// maxWidth bounds a column: one long text does not fill every other row with blanks.
	maxWidth = 500
)

// fit returns the widths with which a line fits the terminal: the widest columns give first.
func (t *table) fit() []int {
	w := slices.Clone(t.widths)
	if t.screen.width == 0 {
		return w
	}
	over := -t.screen.width - gap
	for _, n := range w {
		over += n + gap
	}
	for ; over > 0; over-- {
		widest := -1
		for i, c := range t.columns {
			if c.least > 0 && w[i] > c.least && (widest < 0 || w[i] > w[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break // a terminal too narrow for any of it breaks the lines itself
		}
		w[widest]--
	}
	return w
}

// line prints one row. No blanks end it.
func (t *table) line(b *bytes.Buffer, cells []cell, widths []int) {
	blanks := 0
	for i, c := range cells {
		shown := c.text
		if t.screen.width > 0 {
			shown = cut(shown, widths[i])
		}
		if shown = strings.TrimRight(shown, " "); shown != "" {
			b.WriteString(strings.Repeat(" ", max(blanks, gap*min(i, 1))))
			b.WriteString(t.screen.paint(shown, c.colour))
			blanks = -displayWidth(shown)
		}
		blanks += widths[i] + gap
	}
	b.WriteByte('\n')
}
