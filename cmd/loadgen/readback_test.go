package main

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzParseRow holds the walk against encoding/json: what that reads, the walk
// reads too, to the same values. Only of UTF-8, which rows are: encoding/json replaces what is not.
func FuzzParseRow(f *testing.F) {
	f.Add([]byte(`{"time_unix_nano":"5","resource.attributes":{"loadgen.run":"r","service.instance.id":"i"}}`))
	f.Add([]byte(` { "a" : [ 1 , {"b":"\\\""} , [ ] ] , "resource" : { "attributes" : { "x" : null } } } `))
	f.Add([]byte(`{"time_unix_nano":5,"x":[1.5e-3,true,{}]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := parseRow(line, "time_unix_nano")
		var want map[string]json.RawMessage
		if !utf8.Valid(line) || !json.Valid(line) || json.Unmarshal(line, &want) != nil || want == nil {
			return // then it only must not panic
		}
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		var at string
		if json.Unmarshal(want["time_unix_nano"], &at) == nil && plain(at) && at != string(r.time) && once(line) {
			t.Errorf("%q: time %q, want %q", line, r.time, at)
		}
	})
}

// plain says whether a string is the same with and without JSON's escapes.
func plain(s string) bool {
	b, err := json.Marshal(s)
	return err == nil && string(b) == `"`+s+`"`
}

// once says whether no backslash can hide a second spelling of anything.
func once(line []byte) bool {
	seen := 0
	for i := range line {
		if line[i] == '\\' {
			return false
		}
		if len(line)-i > 14 && string(line[i:i+14]) == "time_unix_nano" {
			seen++
		}
	}
	return seen == 1
}
