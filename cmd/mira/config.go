package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"mira/storage/signal"
)

// config is everything the server can be told. A setting comes from its flag, else from the
// environment (MIRA_LISTEN_GRPC), else from the file (listen-grpc), else it has its default.
type config struct {
	dataDir         string
	listenGRPC      string
	listenHTTP      string
	listenAPI       string
	durability      tier
	blockBytes      bytesize
	blockAge        time.Duration
	segmentBytes    bytesize
	ingestMemory    bytesize
	shards          int
	maxRequestBytes bytesize
	admitWait       time.Duration
	shutdownTimeout time.Duration
	reflection      bool
	h2c             bool
	corsOrigins     list
	logLevel        string
}

// settings is a config with where each of its values comes from.
type settings struct {
	config
	flags *flag.FlagSet
	file  string
	from  map[string]string // by the name of the flag; what is not in it has its default
}

// parseConfig reads flags, environment and file. The error of a wrong one names it.
func parseConfig(args, environ []string, out io.Writer) (config, error) {
	s, err := parseSettings("mira serve", args, environ, out)
	if err != nil {
		return config{}, err
	}
	return s.config, nil
}

// parseSettings is parseConfig for a command that shows them.
func parseSettings(command string, args, environ []string, out io.Writer) (*settings, error) {
	f := flag.NewFlagSet(command, flag.ContinueOnError)
	s := &settings{flags: f, from: map[string]string{}}
	f.SetOutput(out)
	f.Usage = func() {
		fmt.Fprintf(out, "usage: %s [flags]\n\nEvery flag is also an environment variable (--data-dir: MIRA_DATA_DIR) and a key of the --config file\n(data-dir: ./data). A flag goes before the environment, the environment before the file.\n\n", strings.Replace(command, "mira serve", "mira [serve]", 1))
		f.PrintDefaults()
	}
	f.StringVar(&s.file, "config", "", "read settings from this YAML `file`; keys are flag names")
	s.bind(f)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	f.Visit(func(g *flag.Flag) { s.from[g.Name] = "flag --" + g.Name })
	if err := s.fromEnvironment(environ); err != nil {
		return nil, err
	}
	if s.file != "" {
		if err := s.fromFile(s.file); err != nil {
			return nil, err
		}
	}
	return s, s.validate()
}

func (c *config) bind(f *flag.FlagSet) {
	c.durability = tier(signal.Sync)
	c.blockBytes, c.segmentBytes, c.maxRequestBytes, c.ingestMemory = 32<<20, 64<<20, 64<<20, defaultMemory()
	f.StringVar(&c.dataDir, "data-dir", "./data", "keep everything in this `directory`")
	f.StringVar(&c.listenGRPC, "listen-grpc", "localhost:4317", "OTLP/gRPC `address`; port 0 picks a free one")
	f.StringVar(&c.listenHTTP, "listen-http", "localhost:4318", "OTLP/HTTP and API `address`; port 0 picks a free one")
	f.StringVar(&c.listenAPI, "listen-api", "", "serve everything but OTLP on this `address` instead of listen-http")
	f.Var(&c.durability, "durability", "acknowledge at this `tier`: sync, batched or buffered; a request may choose a weaker one (default sync)")
	f.Var(&c.blockBytes, "block-bytes", "seal a block at this `size` of OTLP")
	f.DurationVar(&c.blockAge, "block-age", time.Minute, "seal a block this long after its first record")
	f.Var(&c.segmentBytes, "wal-segment-bytes", "`size` of a log segment")
	f.Var(&c.ingestMemory, "ingest-memory", "refuse Exports beyond this `size` of unpublished OTLP")
	f.IntVar(&c.shards, "shards", 0, "blocks of a signal that are filled at a time; 0: two, and one more for every two CPUs beyond two")
	f.Var(&c.maxRequestBytes, "max-request-bytes", "largest request, on the wire and inflated")
	f.DurationVar(&c.admitWait, "admit-wait", 5*time.Second, "how long an Export may wait for room before it is refused")
	f.DurationVar(&c.shutdownTimeout, "shutdown-timeout", 30*time.Second, "how long a shutdown may take")
	f.BoolVar(&c.reflection, "grpc-reflection", false, "serve gRPC reflection")
	f.BoolVar(&c.h2c, "h2c", false, "accept cleartext HTTP/2 with prior knowledge on listen-http")
	f.Var(&c.corsOrigins, "cors-origins", "comma-separated browser `origins` allowed to send OTLP/HTTP")
	f.StringVar(&c.logLevel, "log-level", "info", "debug, info, warn or error")
}

func (c *config) validate() error {
	if c.dataDir == "" {
		return errors.New("data-dir: want a directory")
	}
	for _, v := range []struct {
		name string
		bytesize
		min, max bytesize
	}{
		{"block-bytes", c.blockBytes, 1 << 10, 1 << 30},
		{"wal-segment-bytes", c.segmentBytes, 64 << 10, 16 << 30},
		{"ingest-memory", c.ingestMemory, 1 << 20, 1 << 50},
		{"max-request-bytes", c.maxRequestBytes, 1 << 10, 256 << 20}, // the most that a frame of the log holds
	} {
		if v.bytesize < v.min || v.bytesize > v.max {
			return fmt.Errorf("%s: %s, want %s to %s", v.name, v.bytesize, v.min, v.max)
		}
	}
	if c.shards < 0 || c.shards > 1<<10 {
		return fmt.Errorf("shards: %d, want 0 to %d", c.shards, 1<<10)
	}
	for _, v := range []struct {
		name string
		time.Duration
	}{{"block-age", c.blockAge}, {"admit-wait", c.admitWait}, {"shutdown-timeout", c.shutdownTimeout}} {
		if v.Duration <= 0 {
			return fmt.Errorf("%s: %s, want more than 0", v.name, v.Duration)
		}
	}
	_, err := levelOf(c.logLevel)
	return err
}

// variable is the name of a setting in the environment.
func variable(name string) string {
	return "MIRA_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// notSettings are variables that begin like settings and are read by the tests, which hand their
// environment to the servers that they start, or by a build that records a profile.
var notSettings = []string{"MIRA_BIN", "MIRA_CASES", "MIRA_CRASH_CYCLES", "MIRA_CRASH_SEED", "MIRA_GRPC", "MIRA_INTEROP", "MIRA_PROFILE"}

// fromEnvironment sets what no flag has set. A variable that names no setting is an error: it would
// have been meant as one.
func (s *settings) fromEnvironment(environ []string) error {
	names := map[string]string{}
	s.flags.VisitAll(func(g *flag.Flag) { names[variable(g.Name)] = g.Name })
	for _, entry := range environ {
		key, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(key, "MIRA_") || value == "" || slices.Contains(notSettings, key) {
			continue
		}
		name, known := names[key]
		if !known {
			return fmt.Errorf("unknown environment variable %s: no setting has that name", key)
		}
		if s.from[name] != "" {
			continue
		}
		s.from[name] = "environment " + key
		if err := s.flags.Set(name, value); err != nil {
			return fmt.Errorf("%s=%q: %w", key, value, err)
		}
	}
	return nil
}

func (s *settings) fromFile(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	var values map[string]yaml.Node
	if err := yaml.Unmarshal(b, &values); err != nil {
		return fmt.Errorf("config %s: %w", name, err)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		node := values[key]
		g := s.flags.Lookup(key)
		switch {
		case g == nil || key == "config":
			return fmt.Errorf("config %s: line %d: unknown key %q", name, node.Line, key)
		case node.Kind != yaml.ScalarNode:
			return fmt.Errorf("config %s: line %d: %s: want one value", name, node.Line, key)
		case s.from[key] != "":
			continue
		}
		s.from[key] = fmt.Sprintf("file %s, line %d", name, node.Line)
		if err := s.flags.Set(key, node.Value); err != nil {
			return fmt.Errorf("config %s: line %d: %s: %w", name, node.Line, key, err)
		}
	}
	return nil
}
