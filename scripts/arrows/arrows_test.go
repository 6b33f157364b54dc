// Package arrows holds the list of who may import whom, and a test that reads the files for it.
package arrows

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root, module = "../..", "mira/"

// arrows lists every package with the packages of ours that it may import. One that is not in
// the list may not be at all: a new package is a decision.
var arrows = map[string]string{
	"storage/signal": "",
	"storage/stage":  "",
	"storage/vfs":    "",
	"storage/otlp":   "",
	"scripts/arrows": "",

	"storage/frame":       "storage/signal",
	"storage/wal":         "storage/frame storage/signal storage/stage storage/vfs",
	"storage/column":      "storage/signal storage/otlp",
	"storage/block":       "storage/column storage/signal storage/stage storage/vfs",
	"storage":             "storage/wal storage/frame storage/block storage/block/sidecar storage/column storage/signal storage/stage storage/vfs",
	"storage/query":       "storage storage/block storage/block/sidecar storage/column storage/otlp storage/signal",
	"storage/storagetest": "storage/vfs",

	"storage/block/sidecar":   "storage/block storage/column storage/signal storage/stage storage/vfs",
	"storage/query/aggregate": "storage/query storage/block storage/block/sidecar storage/column storage/otlp storage/signal",

	"pipeline":         "storage storage/block storage/column storage/frame storage/signal storage/stage",
	"receiver":         "pipeline storage/otlp storage/signal storage/stage",
	"pipeline/explain": "storage/stage",
	"api":              "storage/query storage/query/aggregate storage storage/block storage/column storage/otlp pipeline pipeline/explain storage/signal",
	"cmd/mira":         "*",

	"cmd/internal/doctor": "cmd/internal/corpus pipeline/explain storage/otlp storage/column storage/block storage/signal storage/stage storage/vfs",
	"cmd/internal/demo":   "",                                                     // as loadgen
	"cmd/internal/corpus": "",                                                     // as loadgen
	"cmd/loadgen":         "cmd/internal/corpus",                                  // shares no code with the server, so that it cannot share its bugs
	"scripts/measure":     "storage/frame storage/signal storage/vfs storage/wal", // the product from outside, and its log alone
}

// mayTouchDisk lists who may import os or unix: nobody else can open, write or sync a file but
// through vfs.FS, which is what the tests can crash.
var mayTouchDisk = []string{
	"storage", "storage/vfs", "cmd/mira", "cmd/loadgen", "scripts/arrows", "scripts/measure",
	"storage/stage", // for the CPU clock of a thread
	"receiver",      // for os.ErrDeadlineExceeded, which is about sockets
}

// testOnly lists what belongs to tests: it is slow, or big, or an oracle that the product must
// not share.
var testOnly = []string{
	"mira/storage/storagetest",
	"github.com/apache/arrow-go/",
	"github.com/google/go-cmp/",
	"go.opentelemetry.io/",
	"go.uber.org/goleak",
	"pgregory.net/rapid",
	"testing",
}

// source is one file of the main module.
type source struct {
	path, dir string
	test      bool
	imports   []string
}

// sources parses the imports of every file of the main module.
func sources(t *testing.T) (list []source) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && skipped(path):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		list = append(list, source{
			rel, filepath.ToSlash(filepath.Dir(rel)), strings.HasSuffix(path, "_test.go"), imports(f),
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// skipped tells other modules, and what is no source.
func skipped(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	name := filepath.Base(dir)
	return err == nil || strings.HasPrefix(name, ".") || slices.Contains([]string{"testdata", "node_modules", "bin", "data"}, name)
}

func imports(f *ast.File) (list []string) {
	for _, i := range f.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err == nil {
			list = append(list, path)
		}
	}
	return list
}

func TestImportsGoOneWay(t *testing.T) {
	for _, s := range sources(t) {
		allowed, known := arrows[s.dir]
		if !known {
			t.Errorf("%s: package %s is not in the list of arrows", s.path, s.dir)
			continue
		}
		for _, path := range s.imports {
			ours, ok := strings.CutPrefix(path, module)
			switch {
			case !ok || allowed == "*" || ours == s.dir || slices.Contains(strings.Fields(allowed), ours):
			case s.test && s.dir != "cmd/loadgen":
			default:
				t.Errorf("%s: %s may not import %s", s.path, s.dir, ours)
			}
		}
	}
}

func TestOnlyTheSeamTouchesTheDisk(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || slices.Contains(mayTouchDisk, s.dir) {
			continue
		}
		for _, path := range s.imports {
			if path == "os" || path == "golang.org/x/sys/unix" {
				t.Errorf("%s imports %s: files go through vfs.FS", s.path, path)
			}
		}
	}
}

func TestOraclesStayInTests(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.dir == "storage/storagetest" {
			continue
		}
		for _, path := range s.imports {
			for _, p := range testOnly {
				if path == p || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p) {
					t.Errorf("%s imports %s, which is for tests", s.path, path)
				}
			}
		}
	}
}

// A test that sleeps is slow when it sleeps too long and wrong when it does not. In a bubble of
// testing/synctest time is not real, so a file that imports it may.
func TestTestsSleepInBubblesOnly(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test || s.dir == "scripts/arrows" || slices.Contains(s.imports, "testing/synctest") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, s.path))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("time.Sleep(")) {
			t.Errorf("%s sleeps", s.path)
		}
	}
}

// A server built with the tag weaksync loses what it acknowledged. One file has the tag's code and
// one measurement builds it; what makes releases, tests and images never hears of it.
func TestOnlyOneMeasurementBuildsWithWeakSync(t *testing.T) {
	tag := []byte("weak" + "sync")
	may := []string{
		"storage/block/barrier.go", "storage/block/weaksync.go", "scripts/measure/experiments.go",
		"scripts/measure/publish-barrier.sh", "MEASUREMENTS.md", "CHANGELOG.md",
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", "bin", "data", "node_modules", "results"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if rel = filepath.ToSlash(rel); err != nil || !d.Type().IsRegular() || slices.Contains(may, rel) || rel == "scripts/arrows/arrows_test.go" {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, tag) {
			t.Errorf("%s names the tag %s", rel, tag)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
