package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func spanRow(id, parent, name, service string, from, to int64, status string) row {
	return row{
		"span_id": id, "parent_span_id": parent, "name": name, "time": fmt.Sprint(from), "status.code": json.Number(status),
		"start_time_unix_nano": fmt.Sprint(from), "end_time_unix_nano": fmt.Sprint(to),
		"resource.attributes": map[string]any{"service.name": service},
	}
}

func TestWaterfallShowsTreeTimeStatusAndOrphans(t *testing.T) {
	failed := spanRow("b", "a", "charge\x1b[0m", "payment", 250, 500, "2")
	failed["status.message"] = "no money"
	var out bytes.Buffer
	w := newWaterfall("7f", []row{
		spanRow("a", "", "GET /", "front", 0+1, 1000, "0"), failed,
		spanRow("c", "gone", "lost", "front", 900, 1000, "1"), spanRow("d", "a", "tick", "front", 999, 999, "0"),
		spanRow("e", "a", "no end", "front", 500, 0, "0"),
	}, screen{})
	if err := w.print(&out); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"trace 7f: 5 spans, 2 services, 1 error, 999ns from 1970-01-01T00:00:00.000000001Z",
		"SPAN SERVICE TIMELINE DURATION STATUS",
		"GET / front " + strings.Repeat("█", 40) + " 999ns",
		`charge\x1b[0m payment ` + strings.Repeat("█", 11) + " 250ns error no money",
		"tick front █ 0s",
		"no end front",
		"",
		"Below a parent that is not stored:",
		"lost front █████ 100ns ok",
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i := range max(len(got), len(want)) {
		line := "missing"
		if i < len(got) {
			line = strings.Join(strings.Fields(got[i]), " ")
		}
		if i >= len(want) || line != want[i] {
			t.Errorf("line %d: got %q, want %q", i, line, want[min(i, len(want)-1)])
		}
	}
	if at, root := strings.Index(out.String(), "  charge"), strings.Index(out.String(), "\nGET /"); at < 0 || root < 0 {
		t.Errorf("the child is not indented:\n%s", &out)
	}
}

func TestWaterfallFitsTheTerminal(t *testing.T) {
	var spans []row
	for i := range 200 {
		spans = append(spans, spanRow(fmt.Sprint(i), fmt.Sprint(i-1), strings.Repeat("name", 30), strings.Repeat("service", 5), int64(i+1), 1000, "2"))
	}
	spans[0]["parent_span_id"] = ""
	var out bytes.Buffer
	w := newWaterfall("7f", spans, screen{})
	w.screen.width, w.bar = 100, 33
	if err := w.print(&out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 202 {
		t.Errorf("got %d lines, want 202", n)
	}
	for line := range strings.Lines(out.String()[strings.Index(out.String(), "\n")+1:]) {
		if n := displayWidth(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Fatalf("%d cells: %q", n, line)
		}
	}
}
