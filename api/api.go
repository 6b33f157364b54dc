package api

import (
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"mira/pipeline/explain"
	"mira/storage"
	"mira/storage/query"
	"mira/storage/signal"
)

// Options says where answers come from. Source is needed, all else may be left out.
type Options struct {
	Source  query.Source
	Checks  func() []storage.Check                // for /readyz; nil: always ready
	Metrics func(io.Writer)                       // writes the Prometheus text; nil: there is no /metrics
	Status  func() any                            // the document of /api/v1/status; nil: there is none
	Ingest  func(sinceStart bool) *explain.Report // for /debug/ingest; nil: there is none
	Follow  func(signal.Signal) (Follower, error) // for the tails; nil: there are none
	Logger  zerolog.Logger
	Queries int // answered at the same time, others wait; 0: 16
	Now     func() time.Time
}

// New returns the handler of every path that the package document lists.
func New(o Options) http.Handler {
	if o.Queries == 0 {
		o.Queries = 16
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &server{Options: o, turns: make(chan struct{}, o.Queries)}
	s.routes = map[string]handler{
		"/api/v1/logs":   s.records(signal.Logs),
		"/api/v1/spans":  s.records(signal.Traces),
		"/api/v1/points": s.records(signal.Metrics),
		openapiPath:      openapi,
		"/healthz":       s.healthz,
		"/readyz":        s.readyz,
	}
	if o.Metrics != nil {
		s.routes["/metrics"] = s.metrics
	}
	if o.Status != nil {
		s.routes["/api/v1/status"] = s.status
	}
	if o.Follow != nil {
		for name, sig := range rowRoutes {
			s.routes["/api/v1/"+name+"/tail"] = s.tail(sig)
		}
	}
	if o.Ingest != nil {
		s.routes["/debug/ingest"] = s.ingest
	}
	return s
}

// rowRoutes are the signals by what the paths call their rows.
var rowRoutes = map[string]signal.Signal{"logs": signal.Logs, "spans": signal.Traces, "points": signal.Metrics}

// handler answers a GET or HEAD request. What it returns as an error is sent as a problem, unless
// the answer has been begun.
type handler func(w http.ResponseWriter, r *http.Request) error

type server struct {
	Options
	routes map[string]handler
	turns  chan struct{} // holds one element per query that is being answered
}

const tracePrefix = "/api/v1/traces/"

// ServeHTTP finds the handler, and sends what it returns as an error.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	handle, ok := s.routes[r.URL.Path]
	if !ok && strings.HasPrefix(r.URL.Path, tracePrefix) {
		handle, ok = s.trace, true
	}
	var err error
	switch {
	case !ok:
		err = &problem{Status: http.StatusNotFound, Code: "not_found", Detail: "there is nothing at " + r.URL.Path}
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		err = &problem{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Detail: "only GET and HEAD work here"}
	default:
		err = handle(w, r)
	}
	if err != nil {
		s.fail(w, r, err)
	}
}

// turn waits until a query may be answered. done gives the turn back.
func (s *server) turn(r *http.Request) (done func(), err error) {
	select {
	case s.turns <- struct{}{}:
		return func() { <-s.turns }, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}
