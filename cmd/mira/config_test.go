package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mira/storage/signal"
)

func parse(t *testing.T, env map[string]string, args ...string) (config, error) {
	t.Helper()
	return parseConfig(args, environ(env), io.Discard)
}

func environ(env map[string]string) (list []string) {
	for k, v := range env {
		list = append(list, k+"="+v)
	}
	return list
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "mira.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestDefaultsAreTheContract(t *testing.T) {
	c, err := parse(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.dataDir != "./data" || c.listenGRPC != "localhost:4317" || c.listenHTTP != "localhost:4318" ||
		signal.Tier(c.durability) != signal.Sync || c.blockBytes != 32<<20 || c.blockAge != time.Minute ||
		c.segmentBytes != 64<<20 || c.maxRequestBytes != 64<<20 || c.ingestMemory > 1<<30 || c.ingestMemory < 64<<20 {
		t.Errorf("got %+v", c)
	}
}

func TestFlagBeatsEnvironmentBeatsFileBeatsDefault(t *testing.T) {
	file := writeFile(t, "block-age: 1s\nlisten-grpc: file:1\nlisten-http: file:2\nblock-bytes: 1MiB\n")
	env := map[string]string{"MIRA_LISTEN_GRPC": "env:1", "MIRA_LISTEN_HTTP": "env:2", "MIRA_DURABILITY": "batched"}
	c, err := parse(t, env, "--config", file, "--listen-grpc", "flag:1")
	if err != nil {
		t.Fatal(err)
	}
	if c.listenGRPC != "flag:1" || c.listenHTTP != "env:2" || c.blockAge != time.Second || c.blockBytes != 1<<20 ||
		signal.Tier(c.durability) != signal.Batched || c.dataDir != "./data" {
		t.Errorf("got %+v", c)
	}
}

func TestConfigFileMayComeFromTheEnvironment(t *testing.T) {
	file := writeFile(t, "block-age: 7s\n")
	c, err := parse(t, map[string]string{"MIRA_CONFIG": file})
	if err != nil || c.blockAge != 7*time.Second {
		t.Errorf("got %s, %v", c.blockAge, err)
	}
}

func TestWrongSettingIsNamed(t *testing.T) {
	f := func(want string, env map[string]string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		_, err := parseConfig(args, environ(env), &out)
		if err == nil || !strings.Contains(err.Error()+out.String(), want) {
			t.Errorf("%v %v: got %v, want an error with %q", env, args, err, want)
		}
	}
	f("block-bytez", nil, "--block-bytez", "1")
	f("block-bytes", nil, "--block-bytes", "many")
	f("block-bytes", nil, "--block-bytes", "1")
	f("durability", nil, "--durability", "maybe")
	f("block-age", nil, "--block-age", "0s")
	f("shards", nil, "--shards", "-1")
	f("extra", nil, "extra")
	f("MIRA_BLOCK_AGE", map[string]string{"MIRA_BLOCK_AGE": "soon"})
	f("MIRA_BLOCK_AEG", map[string]string{"MIRA_BLOCK_AEG": "1s"})
	f("log-level", nil, "--log-level", "loud")
	f(`unknown key "colour"`, nil, "--config", writeFile(t, "colour: blue\n"))
	f("block-age: want one value", nil, "--config", writeFile(t, "block-age: [1s]\n"))
	f("line 2: block-age", nil, "--config", writeFile(t, "# a comment\nblock-age: soon\n"))
	f("no such file", nil, "--config", "/does/not/exist")
}

func TestSizesAreReadAndWritten(t *testing.T) {
	for text, want := range map[string]bytesize{"64MiB": 64 << 20, "1GiB": 1 << 30, "10MB": 10e6, "5": 5, "3 KiB": 3 << 10, "7B": 7} {
		var b bytesize
		if err := b.Set(text); err != nil || b != want {
			t.Errorf("%q: got %d, %v, want %d", text, b, err, want)
		}
		var again bytesize
		if err := again.Set(b.String()); err != nil || again != b {
			t.Errorf("%q is written as %q and read back as %d, %v", text, b, again, err)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1.5GiB", "99999999999TiB"} {
		var b bytesize
		if err := b.Set(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, b)
		}
	}
}
