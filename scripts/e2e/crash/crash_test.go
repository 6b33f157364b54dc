// Package crash kills mira at random moments under load, starts it again, and
// proves from the load generator's ledger that what was acknowledged is stored,
// once, and that what was refused is not.
package crash

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mira/scripts/e2e/server"
)

func TestMain(m *testing.M) { server.Main(m) }

// cycles is how often mira is killed: MIRA_CRASH_CYCLES, or 10.
func cycles(t *testing.T) int {
	t.Helper()
	v := os.Getenv("MIRA_CRASH_CYCLES")
	if v == "" {
		return 10
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		t.Fatalf("MIRA_CRASH_CYCLES=%q: want a number above 0", v)
	}
	return n
}

// seed makes a run repeatable as far as its waits and its load go:
// MIRA_CRASH_SEED, or another one every time.
func seed(t *testing.T) uint64 {
	t.Helper()
	if n, err := strconv.ParseUint(os.Getenv("MIRA_CRASH_SEED"), 10, 64); err == nil {
		return n
	}
	return rand.Uint64()
}

// floor is what a run must have reached to prove anything.
const (
	floorRecords = 200 // acknowledged, per cycle, on average
	floorSeals   = 1   // blocks published, in all
	floorTrims   = 1   // log segments that went away or were recycled, in all
)

// total is what a run reached.
type total struct {
	acked, unsettled int
	trims            int
	segments         map[string]bool // live at the last look
}

func TestCrashLosesAndDoublesNothing(t *testing.T) {
	n, number := cycles(t), seed(t)
	t.Logf("%d cycles, MIRA_CRASH_SEED=%d", n, number)
	r := rand.New(rand.NewPCG(number, 1))
	dir, books := t.TempDir(), t.TempDir()
	// Blocks and segments so small that every life seals, trims and recycles.
	s := server.Start(t, dir, "--block-bytes", "256KiB", "--wal-segment-bytes", "256KiB", "--block-age", "2s")
	sum := total{segments: map[string]bool{}}
	for i := range n {
		book := filepath.Join(books, fmt.Sprintf("%04d", i))
		load := startLoad(t, s, r, i, book)
		server.Eventually(t, "something is acknowledged", acked(book))
		<-time.After(time.Duration(100+r.IntN(500)) * time.Millisecond) // the random moment
		s.Kill()
		load.end(t, i%2 == 0)
		sum.look(t, dir)
		s.Restart()
		v := verify(t, s, book)
		sum.acked += v.Acked
		sum.unsettled += v.Unsettled
		if !v.OK {
			t.Fatalf("cycle %d: %+v", i, v)
		}
	}
	sum.finish(t, s, books, n)
}

// load is a load generator at work.
type load struct {
	cmd  *exec.Cmd
	logs *bytes.Buffer
}

// startLoad varies the tier, the transport and the batch from cycle to cycle.
func startLoad(t *testing.T, s *server.Server, r *rand.Rand, i int, book string) *load {
	t.Helper()
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	protocol, target := "grpc", s.GRPC
	if i%3 == 2 {
		protocol, target = "http", s.HTTP
	}
	l := &load{logs: &bytes.Buffer{}}
	l.cmd = server.Command(t.Context(), server.Loadgen(t), "--for", "1h", "--ledger", book, "--protocol", protocol, "--target", target,
		"--signals", "logs,traces,metrics", "--shape", pick("lean", "rich"), "--rate", "20000", "--batch", pick("5", "50", "500"),
		"--conns", pick("1", "4", "16"), "--durability", pick("sync", "sync", "batched", "buffered"), "--seed", strconv.Itoa(i))
	l.cmd.Stderr = l.logs
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return l
}

// acked asks whether a ledger has an acknowledgement in it.
func acked(book string) func() error {
	return func() error {
		b, err := os.ReadFile(book)
		if err == nil && !bytes.Contains(b, []byte("\nacked ")) {
			err = errors.New("no acknowledgement yet")
		}
		return err
	}
}

// end kills the load generator, or lets it report.
func (l *load) end(t *testing.T, kill bool) {
	t.Helper()
	sig := syscall.SIGINT
	if kill {
		sig = syscall.SIGKILL
	}
	_ = l.cmd.Process.Signal(sig)
	err := l.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if code := l.cmd.ProcessState.ExitCode(); code == 2 {
		t.Fatalf("loadgen: exit 2: %s", l.logs)
	}
}

// verdict is what loadgen says about a ledger.
type verdict struct {
	OK                                                            bool
	Acked, Stored, Lost, Doubled, Forbidden, Strangers, Unsettled int
	Examples                                                      []string
}

func verify(t *testing.T, s *server.Server, book string) verdict {
	t.Helper()
	code, out, errs := server.Run(t.Context(), t, server.Loadgen(t), "--verify", "--ledger", book, "--api", s.HTTP, "--json")
	var doc struct{ Verify *verdict }
	if err := json.Unmarshal(out, &doc); err != nil || doc.Verify == nil {
		t.Fatalf("loadgen --verify: exit %d, %v\n%s%s", code, err, out, errs)
	}
	if doc.Verify.OK != (code == 0) {
		t.Fatalf("loadgen --verify: exit %d with %+v", code, *doc.Verify)
	}
	return *doc.Verify
}

// look counts the log segments that are gone since the last look.
func (s *total) look(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "wal", "*.wal"))
	if err != nil {
		t.Fatal(err)
	}
	live := map[string]bool{}
	for _, name := range names {
		live[name] = true
	}
	for name := range s.segments {
		if !live[name] {
			s.trims++
		}
	}
	s.segments = live
}

// finish verifies all cycles together, once more after an orderly restart, and
// holds the run against its floors.
func (s *total) finish(t *testing.T, srv *server.Server, books string, n int) {
	t.Helper()
	all := filepath.Join(t.TempDir(), "all")
	if err := concatenate(all, books); err != nil {
		t.Fatal(err)
	}
	if v := verify(t, srv, all); !v.OK || v.Acked != s.acked {
		t.Errorf("all cycles together: %+v, want %d acknowledged", v, s.acked)
	}
	srv.Stop()
	srv.Restart()
	if v := verify(t, srv, all); !v.OK || v.Acked != s.acked {
		t.Errorf("after an orderly restart: %+v, want %d acknowledged", v, s.acked)
	}
	noDamage(t, srv)
	seals := 0
	_ = filepath.WalkDir(srv.Dir, func(path string, _ os.DirEntry, _ error) error {
		if strings.HasSuffix(path, ".arrow") {
			seals++
		}
		return nil
	})
	s.look(t, srv.Dir)
	t.Logf("%d records acknowledged, %d stored of unknown end, %d blocks sealed, %d segments trimmed", s.acked, s.unsettled, seals, s.trims)
	if s.acked < floorRecords*n || seals < floorSeals || s.trims < floorTrims {
		t.Errorf("too little to prove anything: want %d records, %d seals, %d trims", floorRecords*n, floorSeals, floorTrims)
	}
}

// concatenate joins the ledgers. The last line of each may be torn.
func concatenate(to, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	var all []byte
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		all = append(all, b[:bytes.LastIndexByte(b, '\n')+1]...)
	}
	return os.WriteFile(to, all, 0o644)
}

// noDamage insists that a kill never leaves what mira calls a damaged file.
func noDamage(t *testing.T, s *server.Server) {
	t.Helper()
	_, body, err := s.Ask("/metrics", "")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "mira_damaged_files_total") && !strings.HasSuffix(strings.TrimSpace(line), " 0") {
			t.Error(strings.TrimSpace(line))
		}
	}
}
