package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// problem is an error as RFC 9457 writes it.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"` // for programs; never changes its meaning
	Detail string `json:"detail"`
	Param  string `json:"param,omitempty"`  // the parameter that is wrong
	Offset *int   `json:"offset,omitempty"` // where in it, in bytes
}

func (p *problem) Error() string { return fmt.Sprintf("%s: %s", p.Code, p.Detail) }

// wrong is the problem of a parameter with a bad value.
func wrong(param, format string, args ...any) *problem {
	return &problem{
		Status: http.StatusBadRequest, Code: "invalid_parameter", Param: param,
		Detail: fmt.Sprintf(format, args...),
	}
}

// begun wraps an error that came when a part of the answer was out: all that is left is to break
// the connection off, so that nobody takes the part for the whole.
type begun struct{ error }

func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	gone := r.Context().Err() != nil
	var late begun
	if errors.As(err, &late) {
		if !gone {
			s.Logger.Warn().Err(late.error).Str("path", r.URL.Path).Msg("answer broken off")
		}
		panic(http.ErrAbortHandler)
	}
	var p *problem
	if !errors.As(err, &p) {
		p = &problem{Status: http.StatusInternalServerError, Code: "internal", Detail: "the records could not be read: " + err.Error()}
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			p = &problem{Status: http.StatusServiceUnavailable, Code: "cancelled", Detail: "the query was cancelled"}
		}
		if !gone {
			s.Logger.Error().Err(err).Str("path", r.URL.Path).Msg("query failed")
		}
	}
	sendProblem(w, p)
}

func sendProblem(w http.ResponseWriter, p *problem) {
	p.Type, p.Title = "about:blank", http.StatusText(p.Status)
	body, err := json.Marshal(p)
	if err != nil { // cannot be: strings and numbers
		panic(err)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone, there is nobody else to tell
}
