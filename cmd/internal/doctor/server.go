package doctor

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Server is what a running server says of itself.
type Server struct {
	Addr   string  `json:"addr"`
	TooOld bool    `json:"too_old"`          // it has no GET /debug/ingest
	Wire   float64 `json:"wire_compression"` // OTLP bytes over bytes on the wire, since its start; 0: unknown
	Ingest *Ingest `json:"ingest,omitempty"`
	Advice *Advice `json:"advice,omitempty"`
}

// Ingest is the document of GET /debug/ingest, as far as it is used here.
type Ingest struct {
	Window     Seconds  `json:"window_seconds"`
	Cores      int      `json:"cores"`
	CPU        Seconds  `json:"cpu_seconds"`
	GCFraction float64  `json:"gc_cpu_fraction"`
	Records    int64    `json:"records"`
	Exports    int64    `json:"exports"`
	Bytes      int64    `json:"bytes"`
	Verdict    string   `json:"verdict"`
	BoundBy    string   `json:"bound_by"`
	Stages     []Stage  `json:"stages"`
	Gauges     Gauges   `json:"gauges"`
	Settings   Settings `json:"settings"`
}

// Stage is one step of an Export's trip.
type Stage struct {
	Name  string  `json:"name"`
	Kind  string  `json:"kind"` // cpu or wait
	Count int64   `json:"count"`
	Total Seconds `json:"total_seconds"`
	P50   Seconds `json:"p50_seconds"`
	P99   Seconds `json:"p99_seconds"`
	Share float64 `json:"share"` // of the CPU time of the process, or of the window
}

// Gauges are the state at the end of the window.
type Gauges struct {
	BudgetUsed   int64   `json:"budget_used_bytes"`
	Budget       int64   `json:"budget_bytes"`
	Parked       int64   `json:"parked_exports"`
	InFlight     int64   `json:"in_flight_exports"`
	SchedulerLag Seconds `json:"scheduler_lag_seconds"`
}

// Settings are those of the server that bear on ingest.
type Settings struct {
	BlockBytes   int64  `json:"block_bytes"`
	Shards       int    `json:"shards"`
	IngestMemory int64  `json:"ingest_memory"`
	Durability   string `json:"durability"`
	Procs        int    `json:"gomaxprocs"`
}

// stage returns a stage, or an empty one.
func (d *Ingest) stage(name string) Stage {
	for _, s := range d.Stages {
		if s.Name == name {
			return s
		}
	}
	return Stage{Name: name}
}

// busy is the share of the machine's cores that the server used.
func (d *Ingest) busy() float64 {
	return float64(d.CPU) / max(float64(d.Window)*float64(d.Cores), 1e-9)
}

// top returns the n stages that take most, those of the CPU by their CPU time first.
func (d *Ingest) top(n int) []Stage {
	list := slices.Clone(d.Stages)
	slices.SortStableFunc(list, func(a, b Stage) int {
		if a.Kind != b.Kind {
			return cmp.Compare(a.Kind, b.Kind) // "cpu" is before "wait"
		}
		return cmp.Compare(b.Share, a.Share)
	})
	cpu, _ := slices.BinarySearchFunc(list, "wait", func(s Stage, kind string) int { return cmp.Compare(s.Kind, kind) })
	return slices.Concat(list[:min(n, cpu)], list[cpu:min(cpu+n, len(list))])
}

// ask asks the server, if there is one. That nobody listens is an error only when somebody must.
func (o *Options) ask(ctx context.Context) (*Server, error) {
	if o.Addr == "" {
		return nil, nil //nolint:nilnil // there is no server, and that is fine
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	s := &Server{Addr: strings.TrimRight(o.Addr, "/")}
	body, code, err := fetch(ctx, s.Addr+"/debug/ingest")
	switch {
	case err != nil && !o.Must && (errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, context.DeadlineExceeded)):
		return nil, nil //nolint:nilnil // as above
	case err != nil:
		return nil, fmt.Errorf("ask %s: %w", s.Addr, err)
	case code == http.StatusNotFound:
		s.TooOld = true
		return s, nil
	case code != http.StatusOK:
		return nil, fmt.Errorf("ask %s: GET /debug/ingest: status %d", s.Addr, code)
	}
	var d Ingest
	if err := json.Unmarshal(body, &d); err != nil {
		return nil, fmt.Errorf("ask %s: GET /debug/ingest: %w", s.Addr, err)
	}
	if metrics, code, err := fetch(ctx, s.Addr+"/metrics"); err == nil && code == http.StatusOK {
		s.Wire = compression(metrics)
	}
	a := Advise(&d, s.Wire)
	s.Ingest, s.Advice = &d, &a
	return s, nil
}

func fetch(ctx context.Context, url string) (body []byte, code int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, 4<<20))
	return body, res.StatusCode, err
}

// compression is how many bytes of OTLP came in one byte of the wire, by the server's metrics.
func compression(metrics []byte) float64 {
	var wire, decoded float64
	for lines := bufio.NewScanner(bytes.NewReader(metrics)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "} ")
		if !strings.HasPrefix(name, "mira_receiver_bytes_total{") {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
		case strings.HasSuffix(name, `kind="wire"`):
			wire += n
		default:
			decoded += n
		}
	}
	if wire == 0 {
		return 0
	}
	return decoded / wire
}
