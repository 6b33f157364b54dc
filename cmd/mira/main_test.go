package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mira/storage"
)

// running is a server in this process.
type running struct {
	t    *testing.T
	dir  string
	addr storage.Address
	stop context.CancelFunc
	code chan int
	log  *logBuffer
}

// logBuffer takes lines from every goroutine of a server.
type logBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// boot starts a server and returns once it has printed its addresses.
func boot(t *testing.T, dir string, flags ...string) *running {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r := &running{t: t, dir: dir, stop: stop, code: make(chan int, 1), log: &logBuffer{}}
	out, in := io.Pipe()
	args := append([]string{"serve", "--data-dir", dir, "--listen-grpc", "localhost:0", "--listen-http", "localhost:0"}, flags...)
	go func() {
		code := run(ctx, args, in, r.log)
		in.Close()
		r.code <- code
	}()
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "OTLP/HTTP") {
	}
	go io.Copy(io.Discard, out)
	b, err := os.ReadFile(filepath.Join(dir, "mira.addr"))
	if err != nil {
		t.Fatalf("no address: %v; exit %d, log %s", err, <-r.code, r.log)
	}
	if err := json.Unmarshal(b, &r.addr); err != nil {
		t.Fatal(err)
	}
	return r
}

// end stops the server and returns its exit code.
func (r *running) end() int {
	r.stop()
	return <-r.code
}

func (r *running) get(path string) (int, string) {
	r.t.Helper()
	res, err := http.Get("http://" + r.addr.HTTP + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// metric returns the value of a line of /metrics.
func (r *running) metric(name string) string {
	r.t.Helper()
	_, text := r.get("/metrics")
	_, after, _ := strings.Cut(text, "\n"+name+" ")
	value, _, _ := strings.Cut(after, "\n")
	return value
}

func (r *running) send(body string) (*http.Response, string) {
	r.t.Helper()
	res, err := http.Post("http://"+r.addr.HTTP+"/v1/logs", "application/json", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res, string(b)
}

const oneLog = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"hello"}}]}]}]}`

func TestServerStoresAnswersStopsAndStartsAgain(t *testing.T) {
	dir := t.TempDir()
	r := boot(t, dir)
	res, body := r.send(oneLog)
	if res.StatusCode != 200 || body != "{}" {
		t.Errorf("export: got %d %q", res.StatusCode, body)
	}
	if got := res.Header.Get("mira-durability"); got != "sync" {
		t.Errorf("tier reached: got %q, want sync", got)
	}
	if got := res.Header.Get("mira-receipt"); !strings.HasPrefix(got, "logs/") {
		t.Errorf("receipt: got %q", got)
	}
	for path, want := range map[string]string{
		"/api/v1/logs?start=0": "hello", "/healthz": "ok", "/readyz": "ready", "/metrics": `mira_stored_records_total{signal="logs"} 1`,
		"/api/v1/status": `"stored_records":1`,
	} {
		if code, text := r.get(path); code != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: got %d %s, want %q in it", path, code, text, want)
		}
	}
	if code := r.end(); code != exitOK {
		t.Errorf("exit %d, want 0; log %s", code, r.log)
	}
	if _, err := os.Stat(filepath.Join(dir, "mira.addr")); err == nil {
		t.Error("mira.addr is left behind")
	}
	if report, err := storage.Verify(context.Background(), dir, nil); err != nil || report.Blocks != 1 || len(report.Damage) > 0 {
		t.Errorf("after the stop: got %+v, %v, want one whole block", report, err)
	}
	r = boot(t, dir)
	if code, text := r.get("/api/v1/logs?start=0"); code != 200 || strings.Count(text, "hello") != 1 {
		t.Errorf("after a restart: got %d %s", code, text)
	}
	r.end()
}

func TestAPIMayHaveAPortOfItsOwn(t *testing.T) {
	r := boot(t, t.TempDir(), "--listen-api", "localhost:0")
	defer r.end()
	if code, _ := r.get("/readyz"); code != http.StatusNotFound {
		t.Errorf("the OTLP port answers the API: got %d, want 404", code)
	}
	if res, _ := r.send(oneLog); res.StatusCode != 200 {
		t.Errorf("export: got %d", res.StatusCode)
	}
	res, err := http.Get("http://" + r.addr.API + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 200 {
		t.Errorf("the API port: got %d", res.StatusCode)
	}
}

func TestSecondServerOnADirectoryExitsWithThree(t *testing.T) {
	r := boot(t, t.TempDir())
	defer r.end()
	var log bytes.Buffer
	code := run(context.Background(), []string{"--data-dir", r.dir, "--listen-grpc", "localhost:0", "--listen-http", "localhost:0"}, io.Discard, &log)
	if code != exitUnsafe || !strings.Contains(log.String(), "another mira process") {
		t.Errorf("got exit %d, %s", code, &log)
	}
}

func TestTakenPortIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var log bytes.Buffer
	code := run(context.Background(), []string{"--data-dir", t.TempDir(), "--listen-grpc", l.Addr().String()}, io.Discard, &log)
	if code != exitFailed || !strings.Contains(log.String(), "listen-grpc") {
		t.Errorf("got exit %d, %s", code, &log)
	}
}

func TestWrongUsageExitsWithTwoAndNamesIt(t *testing.T) {
	for _, args := range [][]string{{"frobnicate"}, {"--frobnicate"}, {"serve", "--frobnicate"}, {"health", "--frobnicate"}, {"verify", "frobnicate"}} {
		var log bytes.Buffer
		if code := run(context.Background(), args, io.Discard, &log); code != exitUsage || !strings.Contains(log.String(), "frobnicate") {
			t.Errorf("%v: got exit %d, %s", args, code, &log)
		}
	}
}

func TestVerifyFindsDamageAndExitsWithFour(t *testing.T) {
	dir := t.TempDir()
	r := boot(t, dir)
	r.send(oneLog)
	r.end()
	verify := func() (int, string) {
		var out bytes.Buffer
		code := run(context.Background(), []string{"verify", "--data-dir", dir}, &out, &out)
		return code, out.String()
	}
	if code, text := verify(); code != exitOK {
		t.Errorf("whole store: got exit %d, %s", code, text)
	}
	files, err := filepath.Glob(filepath.Join(dir, "blocks", "*", "*", "*.arrow"))
	if err != nil || len(files) != 1 {
		t.Fatalf("block files %v, %v", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(files[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text := verify(); code != exitDamage || !strings.Contains(text, filepath.Base(files[0])) {
		t.Errorf("damaged store: got exit %d, %s", code, text)
	}
	if code := run(context.Background(), []string{"verify", "--data-dir", t.TempDir()}, io.Discard, io.Discard); code != exitUnsafe {
		t.Errorf("not a data directory: got exit %d, want 3", code)
	}
}

func TestHealthAsksTheServer(t *testing.T) {
	r := boot(t, t.TempDir())
	var out bytes.Buffer
	if code := run(context.Background(), []string{"health", "--addr", "http://" + r.addr.HTTP}, &out, &out); code != exitOK {
		t.Errorf("running: got exit %d, %s", code, &out)
	}
	r.end()
	if code := run(context.Background(), []string{"health", "--addr", "http://" + r.addr.HTTP}, io.Discard, io.Discard); code != exitFailed {
		t.Errorf("stopped: got exit %d, want 1", code)
	}
}
