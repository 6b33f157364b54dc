package clients

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mira/scripts/e2e/server"
)

// npmInstall makes js/node_modules match the lock file. npm keeps a copy of the
// lock file among the modules; when that is newer, there is nothing to do.
func npmInstall(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: the JS SDK is not tested", tool)
		}
	}
	want, err := os.Stat(filepath.Join("js", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.Stat(filepath.Join("js", "node_modules", ".package-lock.json"))
	if err == nil && !have.ModTime().Before(want.ModTime()) {
		return
	}
	code, out, errs := server.Run(t.Context(), t, "npm", "ci", "--prefix", "js", "--no-audit", "--no-fund", "--ignore-scripts")
	if code != 0 {
		t.Fatalf("npm ci: exit %d\n%s%s", code, out, errs)
	}
}

func TestTheLockFileNamesNoHost(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("js", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte(`"resolved"`)) {
		t.Error("package-lock.json records where packages were downloaded: npm config set omit-lockfile-registry-resolved true")
	}
}

func TestInteropJSSDKOverHTTPJSON(t *testing.T) {
	npmInstall(t)
	s := server.Start(t, t.TempDir())
	const service = "js-sdk"
	code, out, errs := server.Run(t.Context(), t, "node", filepath.Join("js", "send.mjs"), s.HTTP, service)
	if code != 0 {
		t.Fatalf("node: exit %d\n%s%s", code, out, errs)
	}
	for _, r := range ofService(t, s, "spans", service, 21) {
		if r.At("name") != "root" && (r.Attr("n") == nil || server.Text(r.Attr("tags")) != "[a b]") {
			t.Errorf("span %v", r)
		}
	}
	for _, r := range ofService(t, s, "logs", service, 20) {
		if server.Text(r.Attr("big")) != "9007199254740991" || r.At("severity_text") != "WARN" {
			t.Errorf("log record %v", r)
		}
	}
	ofService(t, s, "points", service, 2)
}
