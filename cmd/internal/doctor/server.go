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

	"mira/pipeline/explain"
	"mira/storage/stage"
)

// Server is what a running server says of itself.
type Server struct {
	Addr   string          `json:"addr"`
	TooOld bool            `json:"too_old"`          // it has no GET /debug/ingest
	Wire   float64         `json:"wire_compression"` // OTLP bytes over bytes on the wire, since its start; 0: unknown
	Ingest *explain.Report `json:"ingest,omitempty"` // its GET /debug/ingest
	Advice *Advice         `json:"advice,omitempty"`
}

// top returns the n stages that take most, those of the CPU by their CPU time first.
func top(r *explain.Report, n int) []explain.Stage {
	var cpu, wait []explain.Stage
	for _, s := range r.Stages {
		if s.Kind == stage.CPU {
			cpu = append(cpu, s)
		} else {
			wait = append(wait, s)
		}
	}
	var list []explain.Stage
	for _, kind := range [][]explain.Stage{cpu, wait} {
		slices.SortStableFunc(kind, func(a, b explain.Stage) int { return cmp.Compare(b.Share, a.Share) })
		list = append(list, kind[:min(n, len(kind))]...)
	}
	return list
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
	var d explain.Report
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
