// Package cases posts hand-written requests to a running mira, each with a file
// beside it that says what must come of it: the answer, that the process lives
// on, and what is read back, before and after a restart.
package cases

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mira/scripts/e2e/server"
)

func TestMain(m *testing.M) { server.Main(m) }

// expectation is one .expect file.
type expectation struct {
	fields   map[string]string
	readback []string // for people; checks holds them as code
	dir      string
}

func readExpectation(path string) (*expectation, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	e := &expectation{fields: map[string]string{}, dir: filepath.Dir(path)}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), ":")
		if !ok {
			return nil, fmt.Errorf("%s: %q has no colon", path, lines.Text())
		}
		if value = strings.TrimSpace(value); key == "readback" {
			e.readback = append(e.readback, value)
			continue
		}
		e.fields[key] = value
	}
	return e, lines.Err()
}

func (e *expectation) body() ([]byte, error) {
	name := e.fields["body"]
	if name == "" {
		return nil, nil
	}
	b, err := os.ReadFile(filepath.Join(e.dir, name))
	if err != nil || filepath.Ext(name) != ".b64" {
		return b, err
	}
	return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(b)), ""))
}

// casesDir is where the cases are: MIRA_CASES, or shared/cases beside the checkout.
func casesDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MIRA_CASES")
	if dir == "" {
		root, err := server.Root()
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(root, "..", "shared", "cases")
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("there is no directory %s: no case is tested; MIRA_CASES names another", dir)
	}
	return dir
}

func TestCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(casesDir(t), "*.expect"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	s := server.Start(t, t.TempDir())
	began := time.Now()
	stored := map[string]*answer{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".expect"), func(t *testing.T) {
			e, err := readExpectation(file)
			if err != nil {
				t.Fatal(err)
			}
			stored[e.fields["case"]] = e.post(t, s)
		})
	}
	phase := func(name string) {
		for _, id := range sorted(checks) {
			if stored[id] == nil {
				continue // not in this directory, or not answered as it should be
			}
			t.Run(name+"/"+id, func(t *testing.T) {
				checks[id](&reading{t, s, "qa-" + id, stored[id], began})
			})
		}
	}
	phase("open")
	s.Stop()
	s.Restart()
	phase("restarted")
}

func sorted[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// answer is what the server said to a case.
type answer struct {
	status   int
	body     []byte
	header   http.Header
	rejected int
	message  string
	memory   map[string]int // what a check wants to find again after the restart
}

// post sends a case and holds the answer against it.
func (e *expectation) post(t *testing.T, s *server.Server) *answer {
	t.Helper()
	body, err := e.body()
	if err != nil {
		t.Fatal(err)
	}
	var a *answer
	for range max(1, number(e.fields["repeat"])) {
		if a, err = e.send(s, body); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(strings.Split(e.fields["http-status"], "|"), strconv.Itoa(a.status)) {
			t.Fatalf("status %d, want %s: %.300q", a.status, e.fields["http-status"], a.body)
		}
		e.checkBody(t, a)
		e.checkPartial(t, a)
	}
	alive(t, s)
	return a
}

// send has curl post the case: what it adds by itself, such as Expect for a large body, is part of
// the test.
func (e *expectation) send(s *server.Server, body []byte) (*answer, error) {
	dir, err := os.MkdirTemp("", "mira-case")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	head, out := filepath.Join(dir, "head"), filepath.Join(dir, "body")
	args := []string{"-sS", "--max-time", "30", "-X", e.fields["method"], "-D", head, "-o", out}
	for header, field := range map[string]string{"Content-Type": "content-type", "Content-Encoding": "content-encoding"} {
		if v := e.fields[field]; v != "" {
			args = append(args, "-H", header+": "+v)
		}
	}
	if e.fields["expect-100"] == "yes" {
		args = append(args, "-H", "Expect: 100-continue")
	}
	if e.fields["body"] != "" {
		args = append(args, "--data-binary", "@-")
	}
	curl := exec.Command("curl", append(args, s.HTTP+e.fields["path"])...)
	curl.Stdin = bytes.NewReader(body)
	if text, err := curl.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("curl: %w: %s", err, text)
	}
	return readAnswer(head, out)
}

// readAnswer reads what curl left: the headers of every answer, interim ones first, and the body.
func readAnswer(head, out string) (*answer, error) {
	b, err := os.ReadFile(head)
	if err != nil {
		return nil, err
	}
	blocks := strings.Split(strings.TrimSpace(string(b)), "\r\n\r\n")
	last := blocks[len(blocks)-1] + "\r\n\r\n"
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(last)), nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a := &answer{status: resp.StatusCode, header: resp.Header, memory: map[string]int{}}
	a.body, err = os.ReadFile(out)
	if errors.Is(err, fs.ErrNotExist) { // curl makes no file for an empty body
		err = nil
	}
	return a, err
}

// checkBody holds an answer's form against the request's: the same encoding, an
// Export response when it is a success, a Status with a message when it is not.
func (e *expectation) checkBody(t *testing.T, a *answer) {
	t.Helper()
	if a.status == http.StatusMethodNotAllowed {
		if !strings.Contains(a.header.Get("Allow"), http.MethodPost) {
			t.Errorf("Allow: %q, want POST among it", a.header.Get("Allow"))
		}
		return
	}
	sent, _, _ := strings.Cut(e.fields["content-type"], ";")
	got, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if sent != "application/json" && sent != "application/x-protobuf" || a.status == http.StatusNotFound {
		return
	}
	if got != sent {
		t.Errorf("Content-Type %q to a request of %q", got, sent)
	}
	if sent == "application/x-protobuf" {
		if a.status != http.StatusOK && len(a.body) < 3 {
			t.Errorf("a protobuf Status of %d bytes", len(a.body))
		}
		return
	}
	var m struct {
		Message        string
		PartialSuccess map[string]any
	}
	if err := json.Unmarshal(a.body, &m); err != nil {
		t.Fatalf("answer %.200q: %v", a.body, err)
	}
	a.message = m.Message
	for key, v := range m.PartialSuccess {
		if strings.HasPrefix(key, "rejected") {
			a.rejected = number(fmt.Sprint(v))
		} else {
			a.message = fmt.Sprint(v)
		}
	}
	if a.status != http.StatusOK && a.message == "" {
		t.Errorf("status %d without a message: %.200q", a.status, a.body)
	}
}

func (e *expectation) checkPartial(t *testing.T, a *answer) {
	t.Helper()
	want := e.fields["partial"]
	n, rejects := strings.CutPrefix(want, "rejected:")
	switch {
	case a.status != http.StatusOK:
	case rejects && a.rejected != number(n):
		t.Errorf("%d rejected, want %s", a.rejected, n)
	case want == "none" && strings.HasPrefix(e.fields["content-type"], "application/json") && strings.TrimSpace(string(a.body)) != "{}":
		t.Errorf("answer %.200q to a full success, want {}", a.body)
	case want == "none" && e.fields["content-type"] == "application/x-protobuf" && len(a.body) != 0:
		t.Errorf("%d bytes to a full success, want none", len(a.body))
	}
}

// alive insists that the process still runs and takes the next request.
func alive(t *testing.T, s *server.Server) {
	t.Helper()
	if !s.Running() {
		t.Fatal("the process is gone")
	}
	resp, err := http.Post(s.HTTP+"/v1/logs", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the next request: %s", resp.Status)
	}
}

func number(s string) int {
	n, _ := strconv.Atoi(s) // absent is 0
	return n
}
