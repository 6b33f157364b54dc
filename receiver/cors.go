package receiver

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// corsHeaders are allowed whatever the operator lists: without Content-Type no page can send
// an Export at all.
var corsHeaders = []string{"Content-Type", "Content-Encoding", headerDurability}

// answer puts the CORS headers on the answer to req, errors included, and reports whether that
// was a preflight and is thereby answered. known tells whether there is something at the path.
func (c CORS) answer(w http.ResponseWriter, req *http.Request, known bool) (done bool) {
	if len(c.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := req.Header.Get("Origin")
	allowed := origin != "" && c.allows(origin)
	if allowed {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", headerDurability+", "+headerReceipt+", Retry-After")
	}
	if !known || req.Method != http.MethodOptions || req.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Add("Vary", "Access-Control-Request-Method")
	h.Add("Vary", "Access-Control-Request-Headers")
	if allowed {
		h.Set("Access-Control-Allow-Methods", http.MethodPost)
		h.Set("Access-Control-Allow-Headers", c.allowedHeaders(req))
		h.Set("Access-Control-Max-Age", strconv.Itoa(int(c.MaxAge/time.Second)))
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

// allows reports whether pages of origin may send Exports.
func (c CORS) allows(origin string) bool {
	return slices.ContainsFunc(c.Origins, func(pattern string) bool {
		before, after, wild := strings.Cut(pattern, "*")
		if !wild || pattern == "*" {
			return pattern == "*" || strings.EqualFold(pattern, origin)
		}
		origin := strings.ToLower(origin)
		return len(origin) > len(before)+len(after) && strings.HasPrefix(origin, strings.ToLower(before)) &&
			strings.HasSuffix(origin, strings.ToLower(after)) &&
			!strings.ContainsAny(origin[len(before):len(origin)-len(after)], "/@")
	})
}

func (c CORS) allowedHeaders(req *http.Request) string {
	if slices.Contains(c.Headers, "*") {
		if asked := req.Header.Get("Access-Control-Request-Headers"); asked != "" {
			return asked
		}
	}
	return strings.Join(append(slices.Clone(corsHeaders), c.Headers...), ", ")
}
