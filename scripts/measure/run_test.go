package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain lets the test's own binary be the mira and the loadgen of an experiment, by name.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "mira":
		fakeMira()
	case "loadgen":
		fakeLoadgen()
	default:
		os.Exit(m.Run())
	}
}

// fakeMira says that it is ready, and counts a block with each look at its metrics.
func fakeMira() {
	if slices.Contains(os.Args, "--version") {
		fmt.Println("mira fake")
		return
	}
	dir := os.Args[slices.Index(os.Args, "--data-dir")+1]
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		panic(err)
	}
	looks := 0
	http.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		looks++
		fmt.Fprintf(w, "# a comment\nmira_wal_syncs_total %d\nmira_published_blocks_total{signal=\"logs\"} %d\nmira_published_blocks_total{signal=\"spans\"} 1\n", 10*looks, looks-1)
	})
	http.HandleFunc("/debug/ingest", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"stages":[{"name":"compress","kind":"cpu","count":%d,"total_seconds":%d}]}`, looks, looks)
	})
	go http.Serve(l, nil)
	addr := fmt.Sprintf(`{"grpc":%q,"http":%q,"pid":%d}`, l.Addr(), l.Addr(), os.Getpid())
	os.WriteFile(filepath.Join(dir, "block.arrow"), make([]byte, 3000), 0o600)
	os.WriteFile(filepath.Join(dir, "mira.addr"), []byte(addr), 0o600)
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
	os.Remove(filepath.Join(dir, "mira.addr"))
}

// fakeLoadgen reports a run of one second. FAKE_REFUSED makes it one with a refusal.
func fakeLoadgen() {
	refused := ""
	if os.Getenv("FAKE_REFUSED") != "" {
		refused = `"UNAVAILABLE":2`
	}
	fmt.Printf(`{"corpus":"feed","seconds":1,"records":1000,"records_per_second":1000,"wire_bytes_per_record":15,
		"refusals":{%s},"ack_us":{"p50":100,"p99":300},"server":{"cpu_seconds":0.5,"peak_rss_bytes":1048576}}`, refused)
}

// fakes is a bench whose binaries are the fakes.
func fakes(t *testing.T) *bench {
	b := &bench{bin: t.TempDir(), dir: t.TempDir(), out: t.TempDir(), rounds: 2, cells: regexp.MustCompile("")}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mira", "loadgen"} {
		if err := os.Symlink(self, filepath.Join(b.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func TestARunMeasuresAFreshServerAndLeavesNothing(t *testing.T) {
	b := fakes(t)
	s, err := serve(setup{}, "--batch 10")(b)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		recordsPerSec: 1000, wirePerSec: 0.015, ackTail: 3, peakMiB: 1, serverCores: 0.5, windowPerCPU: 2000,
		recordsPerSync: 100, recordsPerBlk: 1000, "stage compress (cpu), s/s": 1,
		diskPerWire: 3000.0 / 30000, // of the warm-up's bytes too
	}
	for figure, v := range want {
		if got := s.Figures[figure]; got != v {
			t.Errorf("%s: got %v, want %v", figure, got, v)
		}
	}
	if s.Corpus != "feed" {
		t.Errorf("corpus %q, want the one that loadgen told", s.Corpus)
	}
	if left, _ := os.ReadDir(b.dir); len(left) > 0 {
		t.Errorf("%v is left behind", left)
	}
}

func TestAnExperimentWithARefusalFails(t *testing.T) {
	b := fakes(t)
	b.rounds = 1
	t.Setenv("FAKE_REFUSED", "1")
	e := &experiment{name: "refusing", cells: func(*bench) ([]cell, error) {
		return []cell{{name: "c", arms: []arm{{"a", serve(setup{}, "")}}, shown: []string{recordsPerSec}}}, nil
	}}
	r, err := b.carryOut(e)
	if err == nil || !strings.Contains(err.Error(), "2 Exports refused with UNAVAILABLE") {
		t.Errorf("got %v, want the refusal", err)
	}
	if len(r.Cells[0].Rows) > 0 {
		t.Errorf("got %v, want no numbers", r.Cells[0].Rows)
	}
}

func TestAnExperimentLeavesItsResult(t *testing.T) {
	b := fakes(t)
	var ran []string
	fixed := func(name string, v float64) arm {
		return arm{name, func(*bench) (sample, error) {
			ran = append(ran, name)
			return sample{Figures: map[string]float64{"x": v}, Others: 0.5}, nil
		}}
	}
	e := &experiment{name: "two", asks: "which?", cells: func(*bench) ([]cell, error) {
		return []cell{{name: "c", arms: []arm{fixed("a", 2), fixed("b", 3)}, shown: []string{"x"}}}, nil
	}}
	if _, err := b.carryOut(e); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(ran, ""); got != "abba" {
		t.Errorf("ran %s, want abba", got)
	}
	text, err := os.ReadFile(filepath.Join(b.out, "two.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Host.Mira != "mira fake" || !r.Shared || r.Others != 0.5 || r.Rounds != 2 || len(r.Cells) != 1 || len(r.Cells[0].Rounds) != 2 {
		t.Errorf("got %+v, want two rounds of the fake on a shared machine", r)
	}
	if x := r.Cells[0].Rows[1]; x.Ratio == nil || x.Ratio.Median != 1.5 || x.Ratio.Signs != "++" {
		t.Errorf("got %+v, want b at 1.5 of a, twice", x)
	}
	b.short = true
	e.name = "short"
	if _, err := b.carryOut(e); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(b.out, "short.json")); err == nil {
		t.Error("a short form left a result")
	}
}

func TestAnExperimentThatIsRunInPartsKeepsThem(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.json")
	write := func(rounds int, cells ...string) {
		t.Helper()
		r := &result{Rounds: rounds}
		for _, c := range cells {
			r.Cells = append(r.Cells, finished{Name: c})
		}
		if err := r.write(name); err != nil {
			t.Fatal(err)
		}
	}
	f := func(want string) {
		t.Helper()
		r, err := readResult(name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range r.Cells {
			got = append(got, c.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the file has %v, want %s", got, want)
		}
	}
	write(8, "a")
	write(8, "b")
	f("b a")
	write(8, "a")
	f("a b")
	write(3, "c") // not under the same conditions
	f("c")
}

func TestTheDocumentQuotesResults(t *testing.T) {
	b := fakes(t)
	b.doc = filepath.Join(t.TempDir(), "DOC.md")
	text := "words\n<!-- reach: written by scripts/measure -->\nold\n<!-- end of reach -->\n" +
		"more\n<!-- figures: written by scripts/measure -->\n<!-- end of figures -->\nlast\n"
	if err := os.WriteFile(b.doc, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	fixed := func(name string, v float64) arm {
		return arm{name, func(*bench) (sample, error) {
			return sample{Figures: map[string]float64{"x": v}, Others: 0.5}, nil
		}}
	}
	e := *experiments[0]
	e.cells = func(*bench) ([]cell, error) {
		c := cell{name: "c", arms: []arm{fixed("a", 2), fixed("b", 3)}, shown: []string{"x"}}
		c.goals = []goal{{arm: "b", figure: "x", ratio: true, least: true, bound: 2}}
		return []cell{c}, nil
	}
	if _, err := b.carryOut(&e); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(b.doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"words\n", "more\n", "last\n", "| conn-sweep: c: b | x | ratio >= 2 | 1.50 (1.50 to 1.50) | `++` | **missed** (shared machine) |",
		"| c | a | x | 2 | 2 to 2 |  |  |", "| c | b | x | 3 | 3 to 3 | 1.500 | `++` |",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the document lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(string(got), "old") {
		t.Error("what was there before is still there")
	}
}

func TestTheLogIsMeasuredInThisProcess(t *testing.T) {
	b := fakes(t)
	b.length, b.warm = 50*time.Millisecond, 50*time.Millisecond
	w := writers{n: 2, size: 4096, logs: 2}
	s, err := inProcess(w.run)(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, figure := range []string{"frames/s", "MB/s", ackP50, framesPerGroup, meanSyncMicros} {
		if s.Figures[figure] <= 0 {
			t.Errorf("%s is %v", figure, s.Figures[figure])
		}
	}
}

func TestTheRingAnswersWhenBothAreDone(t *testing.T) {
	r, err := newRing()
	if err != nil {
		t.Skip(err)
	}
	defer r.close()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	body := []byte{0, 'x', 'y'}
	vec := []unix.Iovec{{Base: &body[0], Len: 1}, {Base: &body[1], Len: 2}}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer preempt(unix.Gettid())()
	for i := range 100 {
		body[0] = byte(i)
		if err := r.writeAndSync(f, vec, int64(3*i), 3); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 3)
		if _, err := f.ReadAt(got, int64(3*i)); err != nil || string(got) != string(body) {
			t.Fatalf("write %d: the file has %q, %v, want %q", i, got, err, body)
		}
		if tail := *word(r.cq, r.params.CQ.Tail); tail != r.seenCQ {
			t.Fatalf("write %d: %d answers, %d seen", i, tail, r.seenCQ)
		}
	}
	if err := r.writeAndSync(f, vec, 0, 4); err == nil {
		t.Error("a short write is taken for a whole one")
	}
}

// preempt keeps sending a thread the signal by which the runtime preempts, until stopped.
func preempt(thread int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			unix.Tgkill(os.Getpid(), thread, unix.SIGURG)
		}
	}()
	return func() { cancel(); <-ended }
}

func TestEveryExperimentHasItsScript(t *testing.T) {
	for _, e := range experiments {
		text, err := os.ReadFile(e.name + ".sh")
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(text), "./scripts/measure "+e.name+" ") {
			t.Errorf("%s.sh does not run %s", e.name, e.name)
		}
		if cells, err := e.cells(&bench{a: "x", b: "x", loads: "-"}); err != nil || len(cells) == 0 {
			t.Errorf("%s: %d cells, %v", e.name, len(cells), err)
		}
	}
}

func TestAnArgumentOfAbIsEnvironmentBinaryAndFlags(t *testing.T) {
	f := func(text, binary, env, flags string) {
		t.Helper()
		s, err := parseSetup(text)
		if got := strings.Join(s.env, " "); err != nil || s.binary != binary || got != env || strings.Join(s.flags, " ") != flags {
			t.Errorf("%q: got %+v, %v", text, s, err)
		}
	}
	f("bin/mira", "bin/mira", "", "")
	f("GOMAXPROCS=1 A=b ./mira --block-bytes 1MiB --x=y", "./mira", "GOMAXPROCS=1 A=b", "--block-bytes 1MiB --x=y")
	if _, err := parseSetup("A=b"); err == nil {
		t.Error("a setup without a binary is taken")
	}
}

// samples are the durations from 1 to n microseconds, the longest first.
func samples(n int) (list []time.Duration) {
	for i := n; i > 0; i-- {
		list = append(list, time.Duration(i)*time.Microsecond)
	}
	return list
}
