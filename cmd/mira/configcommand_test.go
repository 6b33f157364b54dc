package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

func runConfig(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = configCommand(context.Background(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestConfigPrintSaysWhereEveryValueComesFrom(t *testing.T) {
	t.Setenv("MIRA_DURABILITY", "batched")
	file := writeFile(t, "# mine\nblock-age: 7s\nh2c: true\n")
	code, out, errs := runConfig("print", "--config", file, "--shards", "3")
	for _, want := range []string{
		"block-age: 7s # file " + file + ", line 2", "h2c: true # file " + file + ", line 3", "shards: 3 # flag --shards",
		"durability: batched # environment MIRA_DURABILITY", "listen-grpc: localhost:4317 # default", `listen-api: "" # default`,
	} {
		if !strings.Contains(out, want+"\n") {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	if code != exitOK || errs != "" {
		t.Errorf("got %d, %q", code, errs)
	}
	again := writeFile(t, out)
	if code, out, errs := runConfig("validate", "--config", again); code != exitOK || !strings.Contains(out, "good") {
		t.Errorf("what was printed is no configuration: %d, %q", code, errs)
	}
}

func TestConfigMistakesAreNamed(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{`unknown key "colour"`, []string{"validate", "--config", writeFile(t, "colour: blue\n")}},
		{"block-age", []string{"validate", "--config", writeFile(t, "block-age: soon\n")}},
		{"log-level", []string{"validate", "--config", writeFile(t, "log-level: loud\n")}},
		{"nope", []string{"print", "--nope"}},
		{"want one of validate, print, schema", []string{"check"}},
		{"want one of validate, print, schema", nil},
	} {
		if code, out, errs := runConfig(c.args...); code != exitUsage || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%v: got %d, %q, %q, want %d and %q", c.args, code, out, errs, exitUsage, c.want)
		}
	}
	t.Setenv("MIRA_BLOCKS", "1")
	if code, _, errs := runConfig("validate"); code != exitUsage || !strings.Contains(errs, "MIRA_BLOCKS") {
		t.Errorf("unknown variable: got %d, %q", code, errs)
	}
}

func TestConfigSchemaDescribesEverySetting(t *testing.T) {
	code, out, _ := runConfig("schema")
	var doc struct {
		AdditionalProperties bool
		Properties           map[string]struct {
			Type        any
			Description string
			Pattern     string
			Enum        []string
			Default     any
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitOK {
		t.Fatalf("got %d, %v", code, err)
	}
	p := doc.Properties
	if p["shards"].Type != "integer" || p["h2c"].Default != false || len(p["durability"].Enum) != 3 || doc.AdditionalProperties {
		t.Errorf("got %s", out)
	}
	for name, values := range map[string]string{"block-bytes": "64MiB 1GiB 5", "block-age": "7s 1m30s"} {
		for v := range strings.FieldsSeq(values) {
			if !regexp.MustCompile(p[name].Pattern).MatchString(v) {
				t.Errorf("%s: the pattern refuses %s", name, v)
			}
		}
	}
	for name, v := range p {
		if v.Description == "" || name == "config" {
			t.Errorf("%s: got %+v", name, v)
		}
	}
}

func TestUsageAndCompletionKnowEveryCommand(t *testing.T) {
	var help, bash, zsh, fish bytes.Buffer
	run(context.Background(), []string{"help"}, &help, io.Discard)
	for shell, out := range map[string]*bytes.Buffer{"bash": &bash, "zsh": &zsh, "fish": &fish} {
		if code := run(context.Background(), []string{"completion", shell}, out, io.Discard); code != exitOK {
			t.Errorf("%s: got %d", shell, code)
		}
	}
	for _, c := range commands() {
		for name, out := range map[string]*bytes.Buffer{"help": &help, "bash": &bash, "zsh": &zsh, "fish": &fish} {
			if !strings.Contains(out.String(), c.name) {
				t.Errorf("%s does not know %s", name, c.name)
			}
		}
	}
	for _, want := range []string{"-l block-bytes -r -d", "-l h2c -d", "__fish_seen_subcommand_from query' -f -a spans"} {
		if !strings.Contains(fish.String(), want) {
			t.Errorf("fish: %q is missing", want)
		}
	}
	if code := run(context.Background(), []string{"completion", "tcsh"}, io.Discard, io.Discard); code != exitUsage {
		t.Errorf("unknown shell: got %d", code)
	}
}

func TestBashCompletesCommandsAndFlags(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	var script bytes.Buffer
	run(context.Background(), []string{"completion", "bash"}, &script, io.Discard)
	for line, want := range map[string]string{
		"mira ver": "verify version", "mira query lo": "logs", "mira query logs --fil": "--filter", "mira config s": "schema", "mira tail nothing": "",
	} {
		words := strings.Fields(line)
		ask := script.String() + "\nCOMP_WORDS=(" + line + ")\nCOMP_CWORD=" + string(rune('0'+len(words)-1)) + "\n_mira\necho \"${COMPREPLY[*]}\"\n"
		out, err := exec.Command(bash, "--norc", "-c", ask).Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", line, got, err, want)
		}
	}
}
