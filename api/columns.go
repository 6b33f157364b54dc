package api

import (
	"slices"
	"strconv"
	"strings"

	"mira/storage/column"
	"mira/storage/signal"
)

// projection is the columns a request names. The nil projection has all.
type projection struct {
	keys  map[string]bool            // keys of the row, and "scope.name" and the like
	named map[string]map[string]bool // object of attributes: the keys in it that are wanted
}

// objects are the keys of a row that hold attributes.
var objects = []string{"attributes", "resource.attributes", "scope.attributes", "metric.metadata"}

var scopeKeys = []string{"scope.name", "scope.version", "scope.attributes", "scope.dropped_attributes_count", "scope.schema_url"}

// parseColumns reads a comma-separated list of the keys that rows of s shall have.
func parseColumns(s signal.Signal, list string) (*projection, error) {
	known := rowKeys(s)
	p := &projection{keys: map[string]bool{}, named: map[string]map[string]bool{}}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if known[name] || slices.Contains(scopeKeys, name) {
			p.keys[name] = true
			continue
		}
		at := slices.IndexFunc(objects, func(o string) bool { return strings.HasPrefix(name, o+".") })
		if at < 0 || s != signal.Metrics && objects[at] == "metric.metadata" {
			return nil, wrong("columns", "there is no column %s in rows of %s", strconv.Quote(name), s)
		}
		object := objects[at]
		if p.named[object] == nil {
			p.named[object] = map[string]bool{}
		}
		p.named[object][name[len(object)+1:]] = true
	}
	return p, nil
}

// has reports whether the row shows key.
func (p *projection) has(key string) bool {
	return p == nil || p.keys[key] || p.named[key] != nil || strings.HasPrefix(key, "scope.") && p.keys["scope"]
}

// hasScope reports whether the row shows any of the scope.
func (p *projection) hasScope() bool {
	return p.has("scope") || slices.ContainsFunc(scopeKeys, p.has)
}

// only returns the attributes that an object shows; nil is all of them.
func (p *projection) only(object string) map[string]bool {
	if p == nil || p.keys[object] || object == "scope.attributes" && p.keys["scope"] {
		return nil
	}
	return p.named[object]
}

// wants reports whether column c is needed for the rows.
func (p *projection) wants(c *column.Column) bool {
	object := "attributes"
	switch c.Level {
	case column.LevelResource:
		object = "resource.attributes"
	case column.LevelScope:
		object = "scope.attributes"
	case column.LevelMetric:
		object = "metric.metadata"
	}
	switch c.Kind {
	case column.KindOverflow:
		return true
	case column.KindField:
		return p.has(strings.TrimSuffix(c.Name, ".any"))
	default:
		only := p.only(object)
		return p.has(object) && (only == nil || only[c.Key])
	}
}
