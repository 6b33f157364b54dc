package cases

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"testing"

	"mira/scripts/e2e/server"
)

// TestTheBinaryHasItsBarriers looks for traces of the build that publishes blocks without them,
// which exists for one measurement: its tag, and what it says of itself.
func TestTheBinaryHasItsBarriers(t *testing.T) {
	path := server.Mira(t)
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range info.Settings {
		if s.Key == "-tags" {
			t.Errorf("mira is built with the tags %q, want none", s.Value)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("this server loses acknowledged records")) {
		t.Error("mira is the build without barriers")
	}
}
