package main

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// stages is the time that the server has spent in each stage, by its name.
type stages map[string]stage

type stage struct {
	Name  string  `json:"name"`
	Kind  string  `json:"kind"` // cpu or wait
	Count int64   `json:"count"`
	Total float64 `json:"total_seconds"`
	P99   float64 `json:"p99_seconds"`
}

// stages asks the server where its time went. An old one, and a Collector, cannot say.
func (v *server) stages() (stages, error) {
	if v.collector != "" {
		return nil, nil
	}
	res, err := v.get("/debug/ingest?format=json&window=since_start")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, nil
	}
	var doc struct {
		Stages []stage `json:"stages"`
	}
	if err := json.NewDecoder(res.Body).Decode(&doc); err != nil {
		return nil, fmt.Errorf("/debug/ingest: %w", err)
	}
	m := stages{}
	for _, s := range doc.Stages {
		m[s.Name] = s
	}
	return m, nil
}

// stages adds how many seconds of each stage fell on a second of the load; of a stage that
// computes, that is how many cores it kept busy.
func (s *sample) stages(before, after stages, seconds float64) {
	for name, a := range after {
		if d := a.Total - before[name].Total; d > 0 {
			s.Figures["stage "+name+" ("+a.Kind+"), s/s"] = d / seconds
		}
	}
}
