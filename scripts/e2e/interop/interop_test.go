// Package interop tests that other programs open the blocks of a real server and
// find in them what its API tells: ClickHouse, Polars and the JavaScript
// implementation of Arrow, all of them in scripts/interop.
//
//	loadgen, odd records ──OTLP──> mira ──> *.arrow ──> clickhouse.mjs, polars.mjs, arrow.mjs ─┐
//	                                └──> API, NDJSON ──> the same questions ──> the same answers
package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"mira/scripts/e2e/server"
)

func TestMain(m *testing.M) { server.Main(m) }

// readers is the directory of the programs that read blocks.
func readers(t *testing.T) string {
	t.Helper()
	root, err := server.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "scripts", "interop")
}

// installed skips the test where the readers, some 650 MB, are not installed;
// `make interop` installs them and sets MIRA_INTEROP, and then nothing is skipped.
func installed(t *testing.T, dir string) {
	t.Helper()
	if os.Getenv("MIRA_INTEROP") != "" {
		return
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		t.Skip("the readers of other people are not installed: make interop")
	}
}

// `npm ci` wants every optional package in the lock file, those of other platforms
// too. Where npm leaves the libraries @chdb/lib-* of other platforms out, they are
// written into it by hand, without a hash; npm then passes over them.
func TestTheLockFileOfTheReadersNamesNoHost(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(readers(t), "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte(`"resolved"`)) {
		t.Error("package-lock.json records where packages were downloaded: npm config set omit-lockfile-registry-resolved true")
	}
}

func TestInteropReadersFindWhatTheAPITells(t *testing.T) {
	dir := readers(t)
	installed(t, dir)
	s := fill(t)
	qs := readQuestions(t, "questions.json")
	want, rows := askAPI(t, s, qs)
	s.Stop()
	t.Logf("%d log records, %d spans, %d points", rows["logs"], rows["traces"], rows["metrics"])
	for _, q := range qs {
		if want[q.name()].empty() {
			t.Errorf("%s: no record that was sent has a value", q.name())
		}
	}
	reports := map[string]report{}
	for _, reader := range []string{"clickhouse", "polars", "arrow"} {
		t.Run(reader, func(t *testing.T) {
			r := read(t, dir, reader, s.Dir)
			reports[reader] = r
			for _, q := range qs {
				if got := r.Answers[q.name()]; !same(got, want[q.name()]) {
					t.Errorf("%s (%s)\n got %v\nwant %v", q.name(), q.How, got, want[q.name()])
				}
			}
			r.sums(t, s.Dir, rows)
		})
	}
	t.Run("columns", func(t *testing.T) { agree(t, reports) })
}

// report is what a reader prints.
type report struct {
	Answers map[string]answer
	Files   map[string]file
}

// file is one block as a reader sees it: its rows, and the values in its columns
// that are not null, or for lists their elements.
type file struct {
	Rows    string
	Columns map[string]string
}

// read runs a reader over a data directory.
func read(t *testing.T, dir, reader, data string) report {
	t.Helper()
	var r report
	run(t, dir, reader, data, &r)
	return r
}

// run runs a program of readers over a data directory; it prints JSON.
func run(t *testing.T, dir, program, data string, into any) {
	t.Helper()
	code, out, errs := server.Run(t.Context(), t, "node", filepath.Join(dir, program+".mjs"), data)
	if code != 0 {
		t.Fatalf("%s: exit %d\n%s", program, code, errs)
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, errs)
	}
}

// sums checks that the reader saw every block, and in them as many rows as the API.
func (r report) sums(t *testing.T, data string, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for name, f := range r.Files {
		var n int
		if _, err := fmt.Sscan(f.Rows, &n); err != nil {
			t.Fatal(err)
		}
		signal, _, _ := strings.Cut(name, "/")
		got[signal] += n
	}
	if !maps.Equal(got, want) {
		t.Errorf("rows: got %v, want %v", got, want)
	}
	files, err := filepath.Glob(filepath.Join(data, "blocks", "*", "*", "*.arrow"))
	if err != nil || len(files) != len(r.Files) {
		t.Errorf("read %d files of %d (%v)", len(r.Files), len(files), err)
	}
}

// agree compares what the readers say of each file, column by column.
func agree(t *testing.T, reports map[string]report) {
	first := reports["clickhouse"]
	if len(reports) != 3 || len(first.Files) == 0 {
		t.Fatal("a reader is missing")
	}
	columns := 0
	for _, reader := range slices.Sorted(maps.Keys(reports)) {
		for name, want := range first.Files {
			got := reports[reader].Files[name]
			if got.Rows != want.Rows || len(got.Columns) != len(want.Columns) {
				t.Errorf("%s: %s sees %s rows and %d columns, clickhouse %s and %d", name, reader, got.Rows, len(got.Columns), want.Rows, len(want.Columns))
			}
			for c, n := range want.Columns {
				columns++
				if got.Columns[c] != n {
					t.Errorf("%s: %q: %s sees %s values, clickhouse %s", name, c, reader, got.Columns[c], n)
				}
			}
		}
	}
	t.Logf("%d files, %d columns each read by 3", len(first.Files), columns/3)
}

// fill makes a data directory with several blocks of every signal, all of it
// published, and a server on it. The first blocks hold the odd records, the last
// one of logs has more than one row group.
func fill(t *testing.T) *server.Server {
	t.Helper()
	s := server.Start(t, t.TempDir())
	send(t, s)
	load(t, s, "lean", "logs,traces,metrics", 30_000)
	s.Stop()
	s.Restart()
	load(t, s, "rich", "logs,traces,metrics", 30_000)
	load(t, s, "lean", "logs", 70_000)
	s.Stop()
	s.Restart()
	return s
}

func load(t *testing.T, s *server.Server, shape, signals string, records int) {
	t.Helper()
	code, out, errs := server.Run(t.Context(), t, server.Loadgen(t), "--target", s.GRPC, "--shape", shape, "--signals", signals,
		"--records", fmt.Sprint(records), "--batch", "1000", "--conns", "2", "--for", "60s")
	if code != 0 {
		t.Fatalf("loadgen: exit %d\n%s%s", code, out, errs)
	}
}

// send sends the hand-written records of testdata. Where they say INVALID, seven
// bytes go out that are not UTF-8.
func send(t *testing.T, s *server.Server) {
	t.Helper()
	encode := map[string]func([]byte) ([]byte, error){
		"logs": func(b []byte) ([]byte, error) {
			d, err := new(plog.JSONUnmarshaler).UnmarshalLogs(b)
			if err != nil {
				return nil, err
			}
			return new(plog.ProtoMarshaler).MarshalLogs(d)
		},
		"traces": func(b []byte) ([]byte, error) {
			d, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(b)
			if err != nil {
				return nil, err
			}
			return new(ptrace.ProtoMarshaler).MarshalTraces(d)
		},
		"metrics": func(b []byte) ([]byte, error) {
			d, err := new(pmetric.JSONUnmarshaler).UnmarshalMetrics(b)
			if err != nil {
				return nil, err
			}
			return new(pmetric.ProtoMarshaler).MarshalMetrics(d)
		},
	}
	for signal, proto := range encode {
		b, err := os.ReadFile(filepath.Join("testdata", signal+".json"))
		if err == nil {
			b, err = proto(b)
		}
		if err != nil {
			t.Fatalf("%s: %v", signal, err)
		}
		b = bytes.ReplaceAll(b, []byte("INVALID"), []byte("\xff\xfe\xc3(\xed\xa0\x80"))
		post(t, s, signal, "application/x-protobuf", b)
	}
}

func post(t *testing.T, s *server.Server, signal, contentType string, body []byte) {
	t.Helper()
	resp, err := http.Post(s.HTTP+"/v1/"+signal, contentType, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", signal, resp.Status)
	}
}
