package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// configVerbs are what mira config can do.
var configVerbs = []string{"validate", "print", "schema"}

// configCommand looks at the settings that mira serve would run with, given the same flags,
// environment and file.
func configCommand(_ context.Context, args []string, stdout, stderr io.Writer) int {
	verb := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	s, err := parseSettings(strings.TrimSpace("mira config "+verb), args, os.Environ(), stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
	case verb == "validate":
		fmt.Fprintln(stdout, "the configuration is good")
	case verb == "print":
		err = s.print(stdout)
	case verb == "schema":
		err = printSchema(stdout, s.flags)
	default:
		err = fmt.Errorf("want one of %s, not %q", strings.Join(configVerbs, ", "), verb)
	}
	if err != nil {
		fmt.Fprintf(stderr, "mira config: %v\n", err)
		return exitUsage
	}
	return exitOK
}

// print writes the settings as a file that mira serve would read, with the source of each.
func (s *settings) print(w io.Writer) error {
	file := &yaml.Node{Kind: yaml.MappingNode}
	s.flags.VisitAll(func(g *flag.Flag) {
		if g.Name == "config" {
			return
		}
		from := s.from[g.Name]
		if from == "" {
			from = "default"
		}
		value := &yaml.Node{LineComment: "# " + from}
		value.SetString(g.Value.String())
		if kindOf(g) != "string" {
			value.Tag = "" // what is written says what it is
		}
		file.Content = append(file.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: g.Name}, value)
	})
	return yaml.NewEncoder(w).Encode(file)
}

// kindOf returns the type that a setting has in JSON Schema.
func kindOf(g *flag.Flag) string {
	getter, ok := g.Value.(flag.Getter)
	if !ok {
		return "string"
	}
	switch getter.Get().(type) {
	case bool:
		return "boolean"
	case int:
		return "integer"
	}
	return "string"
}

// printSchema writes the JSON Schema of the file, which editors use to complete and check it.
func printSchema(w io.Writer, f *flag.FlagSet) error {
	properties := map[string]any{}
	f.VisitAll(func(g *flag.Flag) {
		if g.Name != "config" {
			properties[g.Name] = schemaOf(g)
		}
	})
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Configuration of mira serve",
		"type": "object", "additionalProperties": false, "properties": properties,
	})
}

func schemaOf(g *flag.Flag) map[string]any {
	_, usage := flag.UnquoteUsage(g)
	p := map[string]any{"type": kindOf(g), "description": usage}
	switch v := g.Value.(type) {
	case *bytesize:
		p["type"], p["pattern"] = []string{"string", "integer"}, `^[0-9]+ *([KMGT]i?B|B)?$`
		p["minimum"] = 0
	case *tier:
		p["enum"] = []string{"sync", "batched", "buffered"}
	case flag.Getter:
		if _, ok := v.Get().(time.Duration); ok {
			p["pattern"] = `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`
		}
	}
	if g.DefValue == "" {
		return p
	}
	p["default"] = g.DefValue
	switch p["type"] {
	case "boolean":
		p["default"] = g.DefValue == "true"
	case "integer":
		if n, err := strconv.Atoi(g.DefValue); err == nil {
			p["default"] = n
		}
	}
	return p
}
