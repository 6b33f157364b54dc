package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"mira/api"
	"mira/pipeline"
	"mira/storage"
	"mira/storage/signal"
)

// stored makes a data directory with n log records, of which the last is hostile, and a trace.
func stored(t *testing.T, n int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	store, p := openStore(t, dir)
	defer store.Close()
	defer p.Close()
	now := time.Now()
	logs := plog.NewLogs()
	rl := logs.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("service.name", "checkout")
	records := rl.ScopeLogs().AppendEmpty().LogRecords()
	for i := range n {
		r := records.AppendEmpty()
		r.SetTimestamp(pcommon.NewTimestampFromTime(now.Add(time.Duration(i-n) * time.Millisecond)))
		r.SetSeverityText("INFO")
		r.Body().SetStr(fmt.Sprintf("record %d", i))
		r.Attributes().PutInt("i", int64(i))
	}
	records.At(n - 1).Body().SetStr("\x1b[31mred\nline\u202eturned\u009b")
	payload, err := plogotlp.NewExportRequestFromLogs(logs).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	submit(t, p, signal.Logs, payload, n)
	spans, err := ptraceotlp.NewExportRequestFromTraces(family(now)).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	submit(t, p, signal.Traces, spans, 4)
	return dir
}

// family is a trace of a root, two children, and a span whose parent is not there.
func family(now time.Time) ptrace.Traces {
	traces := ptrace.NewTraces()
	spans := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i, parent := range []byte{9, 0, 2, 2} {
		s := spans.AppendEmpty()
		s.SetTraceID(pcommon.TraceID{15: 1})
		s.SetSpanID(pcommon.SpanID{7: byte(i + 1)})
		s.SetParentSpanID(pcommon.SpanID{7: parent})
		s.SetName(fmt.Sprintf("span%d", i+1))
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(now.Add(time.Duration(i) * time.Millisecond)))
		s.SetEndTimestamp(s.StartTimestamp() + 1500)
	}
	return traces
}

func openStore(t *testing.T, dir string) (*storage.Store, *pipeline.Pipeline) {
	t.Helper()
	store, err := storage.Open(storage.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.Open(pipeline.Options{Store: store})
	if err != nil {
		store.Close()
		t.Fatal(err)
	}
	return store, p
}

func submit(t *testing.T, p *pipeline.Pipeline, s signal.Signal, payload []byte, records int) {
	t.Helper()
	if _, err := p.Submit(context.Background(), pipeline.Export{Signal: s, Payload: payload, Records: records, Received: time.Now()}); err != nil {
		t.Fatal(err)
	}
}

// command runs one and returns what it printed.
func command(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	run := map[string]func(context.Context, []string, io.Writer, io.Writer) int{
		"query": queryCommand, "tail": tailCommand, "trace": traceCommand,
	}[args[0]]
	code = run(context.Background(), args[1:], &out, &errs)
	return code, out.String(), errs.String()
}

func TestQueryReadsADirectory(t *testing.T) {
	dir := stored(t, 5)
	for _, c := range []struct {
		args  string
		lines int
		hint  string
	}{
		{"logs --output ndjson", 5, ""},
		{"--output ndjson logs --limit 2", 2, ""},
		{"logs --output ndjson --filter attributes[\"i\"]<3", 3, ""},
		{"logs --output ndjson --start now", 0, ""},
		{"logs --output otlp", 1, ""},
		{"logs --output json", 1, ""},
		{"logs", 6, ""}, // with the header
		{"logs --limit 2", 3, "2 logs shown, there are more"},
		{"spans --start 0", 5, ""},
		{"points", 1, "no points since -1h"},
	} {
		code, out, errs := command(append([]string{"query", "--data-dir", dir}, strings.Fields(c.args)...)...)
		if got := strings.Count(out, "\n"); code != exitOK || got != c.lines || !strings.Contains(errs, c.hint) || (c.hint == "") != (errs == "") {
			t.Errorf("%s: got %d, %d lines, %q, want %d lines:\n%s", c.args, code, got, errs, c.lines, out)
		}
	}
}

func TestQueryFollowsTheCursor(t *testing.T) {
	dir := stored(t, pageRows+5)
	for _, limit := range []string{"all", "10003"} {
		want := pageRows + 5
		if limit != "all" {
			want = 10003
		}
		_, out, errs := command("query", "logs", "--data-dir", dir, "--output", "ndjson", "--limit", limit)
		seen := map[string]bool{}
		for line := range strings.Lines(out) {
			var r struct{ Attributes struct{ I string } }
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			seen[r.Attributes.I] = true
		}
		if len(seen) != want || strings.Count(out, "\n") != want || errs != "" {
			t.Errorf("limit %s: got %d rows, %d different, %q, want %d", limit, strings.Count(out, "\n"), len(seen), errs, want)
		}
	}
}

func TestNoOutputCommandsATerminal(t *testing.T) {
	dir := stored(t, 1)
	for _, output := range []string{"table", "json", "ndjson"} {
		_, out, _ := command("query", "logs", "--data-dir", dir, "--output", output)
		if strings.ContainsAny(out, "\x1b\u009b\a\x00") {
			t.Errorf("%s: got %q", output, out)
		}
	}
	_, out, _ := command("query", "logs", "--data-dir", dir)
	if !strings.Contains(out, `\x1b[31mred\nline\u202eturned`) {
		t.Errorf("table: got %q, want the escapes to be seen", out)
	}
}

func TestQueryMistakesAreUsage(t *testing.T) {
	dir := stored(t, 1)
	for _, c := range []struct{ args, want string }{
		{"query", "want one of logs, spans, points"},
		{"query trees", "want one of logs, spans, points"},
		{"query logs spans", "want one of logs, spans, points"},
		{"query logs --nope", "nope"},
		{"query logs --output csv", "output"},
		{"query logs --limit 0", "limit"},
		{"query logs --order up", "order"},
		{"query logs --start soon", "start"},
		{"query logs --filter foo==1", `unknown path "foo"`},
		{"trace", "one trace id"},
		{"trace xyz", "no trace id"},
		{"trace --output json 1", "table or otlp"},
	} {
		args := strings.Fields(c.args)
		code, out, errs := command(append(args, "--data-dir", dir)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%s: got %d, %q, %q, want %d and %q", c.args, code, out, errs, exitUsage, c.want)
		}
	}
}

func TestQueryOfADirectoryInUseIsUnsafe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	store, p := openStore(t, dir)
	defer store.Close()
	defer p.Close()
	code, _, errs := command("query", "logs", "--data-dir", dir)
	if code != exitUnsafe || !strings.Contains(errs, "another mira process") {
		t.Errorf("got %d, %q, want %d", code, errs, exitUnsafe)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	if code, _, errs := command("query", "logs", "--data-dir", missing); code != exitUnsafe || !strings.Contains(errs, "not a mira data directory") {
		t.Errorf("missing: got %d, %q, want %d", code, errs, exitUnsafe)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("the query made the directory")
	}
}

func TestQueryAsksAServer(t *testing.T) {
	store, p := openStore(t, stored(t, 3))
	defer store.Close()
	defer p.Close()
	srv := httptest.NewServer(api.New(api.Options{Source: store}))
	defer srv.Close()
	defer http.DefaultClient.CloseIdleConnections()
	code, out, errs := command("query", "logs", "--addr", srv.URL+"/", "--limit", "2")
	if code != exitOK || strings.Count(out, "\n") != 3 {
		t.Errorf("got %d, %q, %q", code, out, errs)
	}
	srv.Close()
	if code, _, errs := command("query", "logs", "--addr", srv.URL); code != exitFailed || errs == "" {
		t.Errorf("no server: got %d, %q, want %d", code, errs, exitFailed)
	}
}

func TestTraceIsATree(t *testing.T) {
	dir := stored(t, 1)
	code, out, errs := command("trace", "00000000000000000000000000000001", "--data-dir", dir)
	var names []string
	for line := range strings.Lines(out) {
		if at := strings.Index(line, "span"); at >= 0 && at < 4 {
			names = append(names, strings.Fields(line[at:])[0])
		}
	}
	if code != exitOK || fmt.Sprint(names) != "[span2 span3 span4 span1]" || !strings.Contains(out, "  span3") || !strings.Contains(out, "not stored:\nspan1") || !strings.Contains(out, "1.5µs") {
		t.Errorf("got %d, %q:\n%s", code, errs, out)
	}
	code, out, _ = command("trace", "0000000000000001", "--output", "otlp", "--data-dir", dir)
	if code != exitOK || strings.Count(out, `"spanId"`) != 4 || !json.Valid([]byte(out)) {
		t.Errorf("otlp: got %d, %s", code, out)
	}
	if code, _, errs := command("trace", "000000000000000f", "--data-dir", dir); code != exitFailed || !strings.Contains(errs, "no span") {
		t.Errorf("unknown: got %d, %q, want %d", code, errs, exitFailed)
	}
}

func TestTreeCutsCirclesAndShowsEverySpan(t *testing.T) {
	span := func(id, parent, at string) row {
		return row{"span_id": id, "parent_span_id": parent, "time": at}
	}
	for _, c := range []struct {
		name  string
		spans []row
		want  string
	}{
		{"chain", []row{span("a", "", "1"), span("b", "a", "2"), span("c", "b", "3")}, "0a 1b 2c "},
		{"own parent", []row{span("a", "a", "1")}, "0a "},
		{"circle", []row{span("a", "b", "1"), span("b", "a", "2")}, "0a 1b "},
		{"circle with a tail", []row{span("a", "b", "3"), span("b", "a", "2"), span("c", "a", "1")}, "0c 0b 1a "},
		{"sent twice", []row{span("a", "", "1"), span("a", "", "1"), span("b", "a", "2")}, "0a 1b 0a "},
	} {
		got := ""
		for _, l := range inTree(c.spans) {
			got += fmt.Sprintf("%d%s ", l.depth, l.text("span_id"))
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTableFitsTheTerminalAndColoursIt(t *testing.T) {
	var out bytes.Buffer
	x := newTable(&out, tableColumns["logs"])
	x.screen = screen{width: 60, colour: true}
	r := row{"time": "2026-11-30T12:00:00.000000000Z", "severity_number": json.Number("18"), "body": strings.Repeat("語", 40), "attributes": map[string]any{"k": strings.Repeat("v", 100)}}
	x.add(r.cells("logs")...)
	if err := x.flush(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\x1b[31mERROR2\x1b[0m") || !strings.Contains(out.String(), "語…") {
		t.Errorf("got %q", &out)
	}
	for line := range strings.Lines(regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(out.String(), "")) {
		if n := displayWidth(strings.TrimSuffix(line, "\n")); n > 60 {
			t.Errorf("%d cells: %q", n, line)
		}
	}
}

func TestSeverityIsShownByItsName(t *testing.T) {
	for number, want := range map[string]string{"": "", "0": "", "1": "TRACE", "4": "TRACE4", "9": "INFO", "17": "ERROR", "24": "FATAL4", "25": "25", "-3": "-3"} {
		if got := (row{"severity_number": json.Number(number)}).severity(); got != want {
			t.Errorf("%q: got %q, want %q", number, got, want)
		}
	}
	if got := (row{"severity_number": json.Number("9"), "severity_text": "note"}).severity(); got != "note" {
		t.Errorf("got %q, want the text", got)
	}
}

func TestQueryAsArrowIsOneStream(t *testing.T) {
	dir := stored(t, 5)
	code, out, errs := command("query", "logs", "--data-dir", dir, "--output", "arrow", "--limit", "all")
	if code != exitOK || errs != "" {
		t.Fatalf("got %d, %q", code, errs)
	}
	r, err := ipc.NewReader(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	rows := int64(0)
	for r.Next() {
		rows += r.RecordBatch().NumRows()
	}
	if rows != 5 || r.Err() != nil {
		t.Errorf("got %d rows, %v, want 5", rows, r.Err())
	}
	if code, _, errs := command("query", "logs", "--data-dir", dir, "--output", "arrow", "--limit", "20000"); code != exitUsage || !strings.Contains(errs, "limit") {
		t.Errorf("got %d, %q, want %d and the limit named", code, errs, exitUsage)
	}
}
