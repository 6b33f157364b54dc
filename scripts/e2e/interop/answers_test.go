package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mira/scripts/e2e/server"
)

// question is one entry of scripts/interop/questions.json or tables.json; report.mjs
// there says what the fields mean.
type question struct {
	Signal, Column, How, Member string
	List                        bool
	Mixed                       bool // tables.json
	Default                     *string
}

func (q question) name() string { return q.Signal + "/" + q.Column }

func readQuestions(t *testing.T, name string) []question {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(readers(t), name))
	if err != nil {
		t.Fatal(err)
	}
	var qs []question
	if err := json.Unmarshal(b, &qs); err != nil {
		t.Fatal(err)
	}
	return qs
}

// answer is what a reader says to a question: strings that must be equal, and
// float64s that depend on the order of a sum.
type answer map[string]any

// collections are the signals as the API calls them.
var collections = map[string]string{"logs": "logs", "traces": "spans", "metrics": "points"}

// askAPI answers the questions from the rows that the API gives, and counts those.
func askAPI(t *testing.T, s *server.Server, qs []question) (answers map[string]answer, rows map[string]int) {
	t.Helper()
	answers, rows = map[string]answer{}, map[string]int{}
	for signal, collection := range collections {
		var tallies []*tally
		for _, q := range qs {
			if q.Signal == signal {
				tallies = append(tallies, &tally{question: q, groups: map[string]int64{}})
			}
		}
		err := eachRow(s, collection, func(r server.Row) {
			rows[signal]++
			for _, a := range tallies {
				a.row(r)
			}
		})
		if err != nil {
			t.Fatalf("%s: %v", collection, err)
		}
		for _, a := range tallies {
			answers[a.name()] = a.answer()
		}
	}
	return answers, rows
}

// eachRow reads a collection row by row; all rows at once would be large.
func eachRow(s *server.Server, collection string, fn func(server.Row)) error {
	req, err := http.NewRequest(http.MethodGet, s.HTTP+"/api/v1/"+collection+"?start=0&limit=all", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/x-ndjson")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	d := json.NewDecoder(resp.Body)
	d.UseNumber()
	for {
		var r server.Row
		if err := d.Decode(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		fn(r)
	}
}

// tally is an answer in the making.
type tally struct {
	question
	groups                 map[string]int64
	elements, count, bytes int64
	sum, min, max          big.Int
	fsum, fmin, fmax       float64
}

// attributes are the objects of a row that gather attributes.
var attributes = []string{"resource.attributes", "scope.attributes", "attributes", "metric.metadata"}

// value finds the value of the question's column in a row and says what type
// its attribute has; "" for what is no attribute.
func (a *tally) value(r server.Row) (v any, kind string) {
	for _, object := range attributes {
		key, ok := strings.CutPrefix(a.Column, object+".")
		if !ok {
			continue
		}
		key, _, _ = strings.Cut(key, ":")
		v = r.At(object, key)
		return v, kindOf(v, r.At("value_types", object+"."+key))
	}
	if key, ok := strings.CutPrefix(a.Column, "scope."); ok {
		return r.At("scope", key), ""
	}
	v = r.At(a.Column)
	switch {
	case a.Column == "body":
		kind = kindOf(v, r.At("value_types", "body"))
	case a.Column == "sum" && r.At("metric.type") == "summary" && server.Text(v) == "0":
		v = nil // in a summary alone the sum is not optional, and 0 its default
	}
	return v, kind
}

// kindOf names the type of an attribute from its JSON and its note.
func kindOf(v, note any) string {
	if s, ok := note.(string); ok {
		return s
	}
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "bool"
	case json.Number:
		return "double"
	}
	return "any"
}

// holds says whether a column that is asked this way holds values of the kind.
func (a *tally) holds(kind string) bool {
	if _, own, ok := strings.Cut(a.Column, ":"); ok {
		return kind == own
	}
	switch a.How {
	case "integer":
		return kind == "int"
	case "double":
		return kind == "double"
	case "group":
		return kind == "string" || kind == "bool"
	}
	return kind == "string"
}

func (a *tally) row(r server.Row) {
	v, kind := a.value(r)
	if kind != "" && !a.holds(kind) {
		v = nil
	}
	if !a.List {
		a.add(v)
		return
	}
	list, _ := v.([]any)
	if invalid(list) {
		return // a block keeps the list as bytes
	}
	for _, e := range list {
		a.elements++
		if m, ok := e.(map[string]any); ok {
			e = m[a.Member]
		}
		a.add(e)
	}
}

// invalid says whether there is a replaced byte anywhere. What is not UTF-8 lies
// in a block as bytes, in a column of its own; only the API makes text of it.
func invalid(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, utf8.RuneError)
	case []any:
		return slices.ContainsFunc(v, invalid)
	case map[string]any:
		for _, e := range v {
			if invalid(e) {
				return true
			}
		}
	}
	return false
}

func (a *tally) add(v any) {
	absent := v == nil || invalid(v) || a.Default != nil && server.Text(v) == *a.Default
	text := server.Text(v)
	switch {
	case absent && (a.How == "group" || a.How == "id"):
		a.groups[""]++
	case absent:
	case a.How == "group":
		a.groups[text]++
	case a.How == "id":
		a.groups[text[:1]]++
	case a.How == "text":
		a.count++
		a.bytes += int64(len(text))
	case a.How == "double":
		a.double(v)
	default:
		a.integer(text)
	}
}

func (a *tally) double(v any) {
	f, err := v.(json.Number).Float64()
	if err != nil {
		panic(err)
	}
	if a.count++; a.count == 1 {
		a.fmin, a.fmax = f, f
	}
	a.fsum, a.fmin, a.fmax = a.fsum+f, min(a.fmin, f), max(a.fmax, f)
}

func (a *tally) integer(text string) {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		panic(a.name() + ": not an integer: " + text)
	}
	if a.count++; a.count == 1 {
		a.min.Set(n)
		a.max.Set(n)
	}
	if n.Cmp(&a.min) < 0 {
		a.min.Set(n)
	}
	if n.Cmp(&a.max) > 0 {
		a.max.Set(n)
	}
	if a.How == "time" {
		n.Rem(n, big.NewInt(1e9))
	}
	a.sum.Add(&a.sum, n)
}

func (a *tally) answer() answer {
	out := answer{}
	if a.List {
		out["elements"] = fmt.Sprint(a.elements)
	}
	switch {
	case a.How == "group" || a.How == "id":
		for k, n := range a.groups {
			out[k] = fmt.Sprint(n)
		}
		return out
	case a.count == 0:
	case a.How == "text":
		out["bytes"] = fmt.Sprint(a.bytes)
	case a.How == "double":
		out["sum"], out["min"], out["max"] = a.fsum, a.fmin, a.fmax
	default:
		out["sum"], out["min"], out["max"] = a.sum.String(), a.min.String(), a.max.String()
	}
	out["count"] = fmt.Sprint(a.count)
	return out
}

// empty says whether the answer is about no value at all: a question that the
// sent records do not put.
func (a answer) empty() bool {
	for k, v := range a {
		if k != "" && v != "0" {
			return false
		}
	}
	return true
}

// same compares two answers, sums of doubles to nine digits.
func same(a, b answer) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		w, ok := b[k]
		f, isFloat := v.(float64)
		g, both := w.(float64)
		if !ok || isFloat != both {
			return false
		}
		if isFloat && math.Abs(f-g) > 1e-9*max(math.Abs(f), math.Abs(g)) || !isFloat && v != w {
			return false
		}
	}
	return true
}
