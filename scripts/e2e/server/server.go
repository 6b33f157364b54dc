// Package server drives built binaries from outside, the way an operator does:
// it starts mira on a data directory, waits until it is ready, kills it, starts
// it again, and reads its HTTP API. It imports nothing of mira's.
package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for something that should take a moment.
const patience = 60 * time.Second

// Server is one mira on one data directory, running or not.
type Server struct {
	Dir  string // the data directory
	GRPC string // host:port
	HTTP string // http://host:port
	PID  int

	t     testing.TB
	flags []string
	cmd   *exec.Cmd
	log   *os.File
	gone  chan struct{} // closed when the process has been waited for
}

// Start starts mira with further flags on dir, on free ports, and waits until it
// is ready. It is killed when the test ends; its log is shown if the test fails.
func Start(t testing.TB, dir string, flags ...string) *Server {
	t.Helper()
	s := &Server{Dir: dir, t: t, flags: flags, gone: make(chan struct{})}
	close(s.gone)
	log, err := os.Create(filepath.Join(t.TempDir(), "mira.log"))
	if err != nil {
		t.Fatal(err)
	}
	s.log = log
	t.Cleanup(s.cleanup)
	s.start("localhost:0", "localhost:0")
	return s
}

func (s *Server) cleanup() {
	s.Kill()
	if s.t.Failed() {
		b, _ := os.ReadFile(s.log.Name())
		s.t.Logf("mira's log:\n%s", b[max(0, len(b)-8000):])
	}
	_ = s.log.Close()
}

// Restart starts a stopped server again, on the addresses it had.
func (s *Server) Restart() {
	s.t.Helper()
	s.start(s.GRPC, strings.TrimPrefix(s.HTTP, "http://"))
}

func (s *Server) start(grpc, http string) {
	s.t.Helper()
	args := append([]string{"--data-dir", s.Dir, "--listen-grpc", grpc, "--listen-http", http}, s.flags...)
	s.cmd = Command(context.Background(), Mira(s.t), args...)
	s.cmd.Stderr, s.cmd.Stdout = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.PID = s.cmd.Process.Pid
	s.gone = make(chan struct{})
	go func(cmd *exec.Cmd, gone chan struct{}) {
		_ = cmd.Wait()
		close(gone)
	}(s.cmd, s.gone)
	Eventually(s.t, "mira is ready", s.ready)
}

// ready reads the addresses this process wrote and asks it.
func (s *Server) ready() error {
	select {
	case <-s.gone:
		s.t.Fatalf("mira ended: %v", s.cmd.ProcessState)
	default:
	}
	b, err := os.ReadFile(filepath.Join(s.Dir, "mira.addr"))
	if err != nil {
		return err
	}
	var addr struct {
		GRPC, HTTP string
		PID        int
	}
	if err := json.Unmarshal(b, &addr); err != nil {
		return err
	}
	if addr.PID != s.PID {
		return fmt.Errorf("mira.addr is of process %d, want %d", addr.PID, s.PID)
	}
	s.GRPC, s.HTTP = addr.GRPC, "http://"+addr.HTTP
	resp, err := http.Get(s.HTTP + "/readyz")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New("/readyz: " + resp.Status)
	}
	return nil
}

// Kill ends the process at once, as a crash does, and waits for its end.
func (s *Server) Kill() { s.signal(syscall.SIGKILL) }

// Stop ends the process in order and fails the test unless it exits with 0.
func (s *Server) Stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		s.t.Fatalf("mira exited with %d after SIGTERM", code)
	}
}

func (s *Server) signal(sig os.Signal) {
	s.t.Helper()
	select {
	case <-s.gone:
		return
	default:
	}
	_ = s.cmd.Process.Signal(sig)
	select {
	case <-s.gone:
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-s.gone
		s.t.Errorf("mira did not end within %v after %v", patience, sig)
	}
}

// Running says whether the process that was started is still there.
func (s *Server) Running() bool {
	select {
	case <-s.gone:
		return false
	default:
		return true
	}
}

// Eventually asks until the answer is nil, and fails the test with the last one
// when patience ends. Processes have no virtual clock, so it asks every 20 ms.
func Eventually(t testing.TB, what string, ask func() error) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(patience)
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("%s: not within %v: %v", what, patience, err)
		}
	}
}

// Command is a command that ends with the test at the latest.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = dieWithParent()
	return cmd
}

// Run runs a command to its end and returns its exit code and output.
func Run(ctx context.Context, t testing.TB, name string, args ...string) (code int, stdout, stderr []byte) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := Command(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", name, err)
	}
	return cmd.ProcessState.ExitCode(), out.Bytes(), errs.Bytes()
}

// Mira returns the path of the binary under test: MIRA_BIN, or a fresh build.
func Mira(t testing.TB) string {
	t.Helper()
	if bin := os.Getenv("MIRA_BIN"); bin != "" {
		return bin
	}
	return built(t, "mira")
}

// Loadgen returns the path of the load generator: LOADGEN_BIN, or a fresh build.
func Loadgen(t testing.TB) string {
	t.Helper()
	if bin := os.Getenv("LOADGEN_BIN"); bin != "" {
		return bin
	}
	return built(t, "loadgen")
}

// buildDir is where build put the binaries; empty when it was not needed.
var buildDir string

// build compiles both commands once per test binary.
var build = sync.OnceValues(func() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "mira-e2e-")
	if err != nil {
		return "", err
	}
	buildDir = dir
	cmd := exec.Command("go", "build", "-pgo=off", "-o", dir+"/", "./cmd/mira", "./cmd/loadgen")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return dir, nil
})

func built(t testing.TB, name string) string {
	t.Helper()
	dir, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// Main runs a package's tests and removes what Mira and Loadgen built.
func Main(m *testing.M) {
	code := m.Run()
	if buildDir != "" {
		_ = os.RemoveAll(buildDir)
	}
	os.Exit(code)
}

// Root is the directory of mira's go.mod.
func Root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		b, missing := os.ReadFile(filepath.Join(dir, "go.mod"))
		if missing == nil && bytes.HasPrefix(b, []byte("module mira\n")) {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("no go.mod of module mira above the test")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}
