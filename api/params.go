package api

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mira/storage/query"
	"mira/storage/signal"
)

const (
	defaultLimit  = 100
	maxLimit      = 10000
	defaultWindow = time.Hour
)

// question is what a request for rows asks.
type question struct {
	query.Query
	columns     *projection // nil: all
	all         bool        // limit=all
	fingerprint query.Fingerprint
}

// values are the parameters of a request, each at most once.
type values map[string]string

// parameters parses the query string. It must hold no parameter but those of known.
func parameters(r *http.Request, known ...string) (values, error) {
	form, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, &problem{Status: http.StatusBadRequest, Code: "invalid_query_string", Detail: err.Error()}
	}
	v := values{}
	for _, name := range slices.Sorted(maps.Keys(form)) {
		switch {
		case !slices.Contains(known, name):
			return nil, &problem{
				Status: http.StatusBadRequest, Code: "unknown_parameter", Param: name,
				Detail: "there is no parameter " + strconv.Quote(name) + " here; known are " + strings.Join(known, ", "),
			}
		case len(form[name]) > 1:
			return nil, wrong(name, "the parameter is there %d times", len(form[name]))
		case form[name][0] != "":
			v[name] = form[name][0]
		}
	}
	return v, nil
}

// parse reads the parameters of a request for rows of sig. streams says that limit=all is allowed.
func parse(r *http.Request, sig signal.Signal, now time.Time, streams bool) (*question, error) {
	v, err := parameters(r, "start", "end", "filter", "limit", "cursor", "order", "columns")
	if err != nil {
		return nil, err
	}
	q := &question{Query: query.Query{Signal: sig}}
	for _, step := range []func(values) error{
		func(v values) error { return q.window(v, now) },
		func(v values) error { return q.limit(v, streams) },
		q.order, q.filter, q.projection, q.cursor,
	} {
		if err := step(v); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// window reads start and end. Without an end, start=0 is everything, the future included.
func (q *question) window(v values, now time.Time) (err error) {
	q.Start = instant(now.Add(-defaultWindow))
	q.End = instant(now)
	if text, ok := v["start"]; ok {
		if q.Start, err = parseTime("start", text, now); err != nil {
			return err
		}
		if q.Start == 0 {
			q.End = query.Forever
		}
	}
	if text, ok := v["end"]; ok {
		if q.End, err = parseTime("end", text, now); err != nil {
			return err
		}
	}
	if q.Start > q.End {
		return wrong("start", "start (%s) is after end (%s)", formatTime(q.Start), formatTime(q.End))
	}
	return nil
}

// parseTime reads RFC 3339, Unix nanoseconds, "now" or a signed duration relative to now.
func parseTime(param, text string, now time.Time) (uint64, error) {
	if text == "now" {
		return instant(now), nil
	}
	if ns, err := strconv.ParseUint(text, 10, 64); err == nil {
		return ns, nil
	}
	if d, ok := parseDuration(text); ok {
		return instant(now.Add(d)), nil
	}
	// A plus sign in a query string that nobody escaped arrives as a blank.
	t, err := time.Parse(time.RFC3339Nano, strings.ReplaceAll(text, " ", "+"))
	if err != nil {
		return 0, wrong(param, "%q is no time: write RFC 3339, Unix nanoseconds, now, or a signed duration such as -15m or -7d", text)
	}
	if t.Before(time.Unix(0, 0)) || t.Year() > 2553 {
		return 0, wrong(param, "%q is outside the years 1970 to 2553", text)
	}
	return instant(t), nil
}

// instant returns t in Unix nanoseconds, and 0 for what is before them.
func instant(t time.Time) uint64 {
	if t.Before(time.Unix(0, 0)) {
		return 0
	}
	return uint64(t.Unix())*1e9 + uint64(t.Nanosecond())
}

// parseDuration reads a Go duration with a sign, in which d is also a unit.
func parseDuration(text string) (time.Duration, bool) {
	if text == "" || text[0] != '-' && text[0] != '+' && text[0] != ' ' {
		return 0, false
	}
	var days time.Duration
	rest := text[1:]
	if before, after, ok := strings.Cut(rest, "d"); ok {
		n, err := strconv.ParseFloat(before, 64)
		if err != nil || n < 0 || n > 100_000 {
			return 0, false
		}
		days, rest = time.Duration(n*24*float64(time.Hour)), after
	}
	d := days
	if rest != "" {
		part, err := time.ParseDuration(rest)
		if err != nil || part < 0 || part > 100*365*24*time.Hour {
			return 0, false
		}
		d += part
	} else if days == 0 && !strings.Contains(text, "d") {
		return 0, false
	}
	if text[0] == '-' {
		d = -d
	}
	return d, true
}

func (q *question) limit(v values, streams bool) error {
	q.Limit = defaultLimit
	text, ok := v["limit"]
	switch {
	case !ok:
		return nil
	case text == "all" && streams:
		q.all = true
		return nil
	case text == "all":
		return wrong("limit", "limit=all needs an answer that streams: Accept: %s or %s", mediaNDJSON, mediaArrow)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit {
		return wrong("limit", "limit is a number from 1 to %d, or all", maxLimit)
	}
	q.Limit = n
	return nil
}

func (q *question) order(v values) error {
	switch v["order"] {
	case "", "desc":
	case "asc":
		q.Ascending = true
	default:
		return wrong("order", "order is asc or desc")
	}
	return nil
}

func (q *question) filter(v values) error {
	f, err := query.ParseFilter(q.Signal, v["filter"])
	if err != nil {
		p := wrong("filter", "%v", err)
		var syntax *query.SyntaxError
		if errors.As(err, &syntax) {
			p.Offset = &syntax.Offset
		}
		p.Code = "invalid_filter"
		return p
	}
	q.Filter = f
	return nil
}

func (q *question) projection(v values) (err error) {
	if text, ok := v["columns"]; ok {
		if q.columns, err = parseColumns(q.Signal, text); err != nil {
			return err
		}
		q.Want = q.columns.wants
	}
	return nil
}

// cursor continues after an earlier page. The window is then the one of the first page, whatever
// "now" has become.
func (q *question) cursor(v values) error {
	order := "desc"
	if q.Ascending {
		order = "asc"
	}
	q.fingerprint = query.FingerprintOf(q.Signal.String(), order, v["filter"], v["start"], v["end"])
	text, ok := v["cursor"]
	if !ok {
		return nil
	}
	c, err := query.ParseCursor(text, q.Signal, q.fingerprint)
	if err != nil {
		p := wrong("cursor", "%v", err)
		p.Code = "invalid_cursor"
		return p
	}
	q.Start, q.End, q.After = c.Start, c.End, &c.After
	return nil
}

// next returns the text of the cursor that continues after p.
func (q *question) next(p *query.Position) string {
	return query.Cursor{Fingerprint: q.fingerprint, Start: q.Start, End: q.End, After: *p}.String()
}
