package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
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

// parseConfig reads flags, environment and file. The error of a wrong one names it.
func parseConfig(args []string, getenv func(string) string, out io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet("mira serve", flag.ContinueOnError)
	f.SetOutput(out)
	f.Usage = func() {
		fmt.Fprint(out, "usage: mira [serve] [flags]\n\nEvery flag is also an environment variable (--data-dir: MIRA_DATA_DIR) and a key of the --config file\n(data-dir: ./data). A flag goes before the environment, the environment before the file.\n\n")
		f.PrintDefaults()
	}
	file := f.String("config", "", "read settings from this YAML `file`; keys are flag names")
	c.bind(f)
	if err := f.Parse(args); err != nil {
		return config{}, err
	}
	if f.NArg() > 0 {
		return config{}, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	set := map[string]bool{}
	f.Visit(func(g *flag.Flag) { set[g.Name] = true })
	if err := fromEnvironment(f, set, getenv); err != nil {
		return config{}, err
	}
	if *file != "" {
		if err := fromFile(f, set, *file); err != nil {
			return config{}, err
		}
	}
	return c, c.validate()
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
	return nil
}

func fromEnvironment(f *flag.FlagSet, set map[string]bool, getenv func(string) string) error {
	var err error
	f.VisitAll(func(g *flag.Flag) {
		name := "MIRA_" + strings.ToUpper(strings.ReplaceAll(g.Name, "-", "_"))
		value := getenv(name)
		if value == "" || set[g.Name] || err != nil {
			return
		}
		set[g.Name] = true
		if e := g.Value.Set(value); e != nil {
			err = fmt.Errorf("%s=%q: %w", name, value, e)
		}
	})
	return err
}

func fromFile(f *flag.FlagSet, set map[string]bool, name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	var values map[string]yaml.Node
	if err := yaml.Unmarshal(b, &values); err != nil {
		return fmt.Errorf("config %s: %w", name, err)
	}
	for key, node := range values {
		g := f.Lookup(key)
		switch {
		case g == nil || key == "config":
			return fmt.Errorf("config %s: line %d: unknown key %q", name, node.Line, key)
		case node.Kind != yaml.ScalarNode:
			return fmt.Errorf("config %s: line %d: %s: want one value", name, node.Line, key)
		case set[key]:
			continue
		}
		if err := g.Value.Set(node.Value); err != nil {
			return fmt.Errorf("config %s: line %d: %s: %w", name, node.Line, key, err)
		}
	}
	return nil
}

// bytesize is a size given as "64MiB", "1GiB", "10MB" or a plain number.
type bytesize int64

var units = []struct {
	name string
	n    int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}}

// Set implements flag.Value.
func (b *bytesize) Set(text string) error {
	number, unit := text, int64(1)
	for _, u := range units {
		if cut, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = strings.TrimSpace(cut), u.n
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return fmt.Errorf("%q is not a size such as 64MiB", text)
	}
	*b = bytesize(n * unit)
	return nil
}

// String implements flag.Value.
func (b bytesize) String() string {
	for _, u := range []int{3, 2, 1, 0} {
		if n := units[u].n; int64(b) >= n && int64(b)%n == 0 {
			return strconv.FormatInt(int64(b)/n, 10) + units[u].name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// tier is a signal.Tier as a flag.
type tier signal.Tier

// Set implements flag.Value.
func (t *tier) Set(text string) error {
	v, err := signal.ParseTier(text)
	*t = tier(v)
	return err
}

// String implements flag.Value.
func (t tier) String() string { return signal.Tier(t).String() }

// list is comma-separated values as a flag.
type list []string

// Set implements flag.Value.
func (l *list) Set(text string) error {
	*l = nil
	for v := range strings.SplitSeq(text, ",") {
		if v = strings.TrimSpace(v); v != "" {
			*l = append(*l, v)
		}
	}
	return nil
}

// String implements flag.Value.
func (l list) String() string { return strings.Join(l, ",") }
