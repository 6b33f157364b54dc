package api

import (
	"encoding/json"
	"net/http"
	"slices"

	"mira/storage"
)

// healthz says that the process can answer at all.
func (s *server) healthz(w http.ResponseWriter, r *http.Request) error {
	return sendJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// readyz says whether Exports are taken, and if not, why and since when.
func (s *server) readyz(w http.ResponseWriter, r *http.Request) error {
	var checks []storage.Check
	if s.Checks != nil {
		checks = s.Checks()
	}
	answer := struct {
		Ready   bool            `json:"ready"`
		Failing []storage.Check `json:"failing"`
		Checks  []storage.Check `json:"checks"`
	}{Failing: []storage.Check{}, Checks: checks}
	answer.Failing = append(answer.Failing, slices.DeleteFunc(slices.Clone(checks), func(c storage.Check) bool { return c.OK })...)
	answer.Ready = len(answer.Failing) == 0
	if !answer.Ready {
		return sendJSON(w, http.StatusServiceUnavailable, answer)
	}
	return sendJSON(w, http.StatusOK, answer)
}

func (s *server) status(w http.ResponseWriter, r *http.Request) error {
	return sendJSON(w, http.StatusOK, s.Status())
}

func (s *server) metrics(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if r.Method == http.MethodGet {
		s.Metrics(w)
	}
	return nil
}

func sendJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", mediaJSON)
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone, there is nobody else to tell
	return nil
}
