package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// row is a record as the API shows it.
type row map[string]any

// eachRow decodes NDJSON.
func eachRow(in io.Reader, fn func(row)) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			r, err := parseRow(line)
			if err != nil {
				return err
			}
			fn(r)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func parseRow(line []byte) (r row, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("row of the answer: %w", err)
	}
	return r, nil
}

// text shows the value of a key: a string as it is, everything else as JSON.
func (r row) text(key string) string { return plain(r[key]) }

func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (r row) service() string {
	attributes, _ := r["resource.attributes"].(map[string]any)
	return plain(attributes["service.name"])
}

// pairs shows the attributes of the record on one line.
func (r row) pairs() string {
	attributes, _ := r["attributes"].(map[string]any)
	parts := make([]string, 0, len(attributes))
	for k, v := range attributes {
		parts = append(parts, k+"="+plain(v))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// cells are the row's in a table of its kind.
func (r row) cells(rows string) []cell {
	var shown []cell
	plain := func(texts ...string) {
		for _, text := range texts {
			shown = append(shown, cell{text: text})
		}
	}
	switch rows {
	case "logs":
		plain(r.text("time"), r.severity(), r.service(), r.text("body"), r.pairs())
		shown[1].colour = r.severityColour()
	case "spans":
		plain(r.text("time"), r.duration(), r.service(), r.text("name"), r.status(), r.text("trace_id"), r.text("span_id"))
		shown[4].colour = r.statusColour()
	default:
		value := r.text("as_int") + r.text("as_double")
		if _, ok := r["count"]; ok {
			value = "count=" + r.text("count") + " sum=" + r.text("sum")
		}
		plain(r.text("time"), r.service(), r.text("metric.name"), value, r.text("metric.unit"), r.pairs())
	}
	return shown
}

// severity shows a log record's severity: its text, or else what OTLP calls its number.
func (r row) severity() string {
	if text := r.text("severity_text"); text != "" {
		return text
	}
	n := r.severityNumber()
	if n < 1 || n > 24 {
		return strings.TrimPrefix(r.text("severity_number"), "0")
	}
	name := severities[(n-1)/4]
	if n%4 != 1 {
		name += strconv.Itoa((n-1)%4 + 1)
	}
	return name
}

var severities = [...]string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}

func (r row) severityNumber() int {
	n, err := strconv.Atoi(r.text("severity_number"))
	if err != nil {
		return 0
	}
	return n
}

func (r row) severityColour() string {
	switch n := r.severityNumber(); {
	case n >= 17:
		return red
	case n >= 13:
		return yellow
	case n >= 9:
		return green
	default:
		return dim
	}
}

func (r row) statusColour() string {
	if r.text("status.code") == "2" {
		return red
	}
	return green
}

func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// escape makes text safe for a terminal: what could command it, break its line or turn its
// direction is shown and not sent.
func escape(text string) string {
	if strings.IndexFunc(text, unsafeRune) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !unsafeRune(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
	}
	return b.String()
}
