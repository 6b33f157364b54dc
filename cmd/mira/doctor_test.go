package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// doctorOnly runs mira doctor for as short as it goes, with the arguments.
func doctorOnly(ctx context.Context, t *testing.T, dir string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(ctx, append([]string{"doctor", "--data-dir", dir, "--seconds", "0.001"}, args...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestDoctorWorksBesideARunningServer(t *testing.T) {
	r := boot(t, t.TempDir())
	defer r.end()
	names := func() string {
		list, err := os.ReadDir(r.dir)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, e := range list {
			b.WriteString(e.Name() + " ")
		}
		return b.String()
	}
	before := names()
	code, out, errs := doctorOnly(t.Context(), t, r.dir, "--addr", "http://"+r.addr.HTTP)
	if code != exitOK || !strings.Contains(out, "server ") || !strings.Contains(out, r.addr.HTTP) || !strings.Contains(out, "expect ") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if !strings.Contains(errs, "measuring: small synced writes\n") || strings.Contains(errs, "\r") {
		t.Errorf("progress where there is no terminal: %q", errs)
	}
	if after := names(); after != before {
		t.Errorf("the directory holds %s, held %s", after, before)
	}
	if res, body := r.send(oneLog); res.StatusCode != 200 {
		t.Errorf("the server answers %d %s afterwards", res.StatusCode, body)
	}
}

func TestDoctorPrintsOneDocumentAndNothingElse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data") // not there yet
	code, out, errs := doctorOnly(t.Context(), t, dir, "--json", "--shape", "rich")
	var doc struct {
		Shape      string
		Prediction struct {
			Records float64 `json:"records_per_second"`
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitOK || errs != "" || doc.Shape != "rich" || doc.Prediction.Records <= 0 {
		t.Errorf("exit %d, %v, %q, %s", code, err, errs, out)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the data directory was made")
	}
}

func TestDoctorWhoIsInterruptedFailsAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, out, errs := doctorOnly(ctx, t, dir)
	if code != exitFailed || out != "" || !strings.Contains(errs, "mira doctor: interrupted") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

func TestDoctorNamesWhatIsWrongWithItsFlags(t *testing.T) {
	for says, args := range map[string][]string{
		"shape": {"--shape", "fat"}, "seconds": {"--seconds", "0"}, "NaN": {"--seconds", "NaN"}, "addr": {"--addr", "localhost"},
		"data-dir": {"--data-dir", ""}, "extra": {"extra"}, "nonsense": {"--nonsense"},
	} {
		var log bytes.Buffer
		if code := run(t.Context(), append([]string{"doctor"}, args...), io.Discard, &log); code != exitUsage || !strings.Contains(log.String(), says) {
			t.Errorf("%v: exit %d, %s", args, code, &log)
		}
	}
	if code := run(t.Context(), []string{"doctor", "--help"}, io.Discard, io.Discard); code != exitOK {
		t.Errorf("--help: exit %d", code)
	}
	if code, _, errs := doctorOnly(t.Context(), t, "/nowhere/at/all"); code != exitFailed || !strings.Contains(errs, "no such directory") {
		t.Errorf("no directory: exit %d, %s", code, errs)
	}
	if code, out, errs := doctorOnly(t.Context(), t, t.TempDir(), "--addr", "http://127.0.0.1:1"); code != exitFailed || !strings.Contains(errs, "127.0.0.1:1") || !strings.Contains(out, "expect ") {
		t.Errorf("nobody listens where somebody must: exit %d, %s%s", code, out, errs)
	}
}

func TestProgressIsABarOnATerminalAndGoesAway(t *testing.T) {
	var out bytes.Buffer
	p := &progress{out: &out, bar: true}
	p.show(0.5, "columns")
	p.show(0.5, "columns")
	p.clear()
	if want := "\r[###############...............]  50 %  columns                   \r\x1b[K"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
