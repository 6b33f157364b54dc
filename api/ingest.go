package api

import (
	"fmt"
	"html"
	"net/http"
	"strings"
	"time"

	"mira/pipeline/explain"
)

const mediaHTML = "text/html"

// ingest answers with what ingest is bound by: as JSON for who asks for that, as a page for
// everybody else.
func (s *server) ingest(w http.ResponseWriter, r *http.Request) error {
	v, err := parameters(r, "format", "window")
	if err != nil {
		return err
	}
	form, err := accepted(r, mediaHTML, mediaJSON)
	if err != nil {
		form = mediaHTML
	}
	switch v["format"] {
	case "":
	case "json":
		form = mediaJSON
	case "html":
		form = mediaHTML
	default:
		return wrong("format", "%q, want json or html", v["format"])
	}
	switch v["window"] {
	case "", "last", "since_start":
	default:
		return wrong("window", "%q, want last or since_start", v["window"])
	}
	report := s.Ingest(v["window"] == "since_start")
	w.Header().Set("Vary", "Accept")
	if form == mediaJSON {
		return sendJSON(w, http.StatusOK, report)
	}
	w.Header().Set("Content-Type", mediaHTML+"; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	if r.Method == http.MethodGet {
		_, _ = w.Write([]byte(page(report))) // the client may be gone, there is nobody else to tell
	}
	return nil
}

// page writes a report for people. It needs nothing but itself, no script either.
func page(r *explain.Report) string {
	b := new(strings.Builder)
	b.WriteString(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Mira: ingest</title>
<style>:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em}
td,th{padding:.1em .8em;text-align:right}td:first-child,th:first-child{text-align:left}</style>
<h1>Ingest</h1>
`)
	fmt.Fprintf(b, "<p><strong>%s</strong></p>\n", html.EscapeString(r.Verdict))
	fmt.Fprintf(b, "<p>In %.1f s: %d records in %d Exports, %s; %.2f of %d cores busy, garbage collection %s of that; the stages were working %s of their time. The log made %d groups of %.1f Exports and %s.</p>\n",
		r.WindowSeconds, r.Records, r.Exports, size(float64(r.Bytes)), r.Busy(), r.Cores, percent(r.GCFraction), percent(r.OnCPU),
		r.Groups.Count, r.Groups.Frames, size(r.Groups.Bytes))
	b.WriteString("<table><tr><th>stage</th><th>kind</th><th>count</th><th>total</th><th>p50</th><th>p99</th><th>max</th><th>share</th></tr>\n")
	for _, s := range r.Stages {
		fmt.Fprintf(b, "<tr><td>%s</td><td>%s</td><td>%d</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
			s.Name, s.Kind, s.Count, duration(s.Total), duration(s.P50), duration(s.P99), duration(s.Max), percent(s.Share))
	}
	fmt.Fprintf(b, "</table>\n<p>The share of a cpu stage is of the process's CPU time; that of a wait stage is of the window, by everybody who waited together.</p>\n")
	g := r.Gauges
	section(b, "Now",
		"ingest memory", size(float64(g.BudgetUsed))+" of "+size(float64(g.Budget)),
		"Exports waiting for room", fmt.Sprint(g.Parked), "Exports in flight", fmt.Sprint(g.InFlight),
		"oldest open block", duration(g.OpenBlockAge), "not yet synced", size(float64(g.Unsynced)),
		"a sleeper is late by", duration(g.SchedulerLag), "goroutines", fmt.Sprint(g.Goroutines))
	section(b, "Settings",
		"block-bytes", size(float64(r.Settings.BlockBytes)), "shards", fmt.Sprint(r.Settings.Shards),
		"ingest-memory", size(float64(r.Settings.IngestMemory)), "durability", r.Settings.Durability,
		"GOMAXPROCS", fmt.Sprint(r.Settings.GOMAXPROCS))
	b.WriteString("<p><a href=\"?window=since_start\">since the start</a> <a href=\"?window=last\">the last window</a> <a href=\"?format=json\">JSON</a></p>\n</html>\n")
	return b.String()
}

// section writes lines of name and value below a heading.
func section(b *strings.Builder, title string, list ...string) {
	fmt.Fprintf(b, "<h2>%s</h2>\n<table>\n", title)
	for i := 0; i+1 < len(list); i += 2 {
		fmt.Fprintf(b, "<tr><td>%s</td><td>%s</td></tr>\n", html.EscapeString(list[i]), html.EscapeString(list[i+1]))
	}
	b.WriteString("</table>\n")
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// duration writes seconds with three digits.
func duration(s float64) string {
	switch d := time.Duration(s * 1e9); {
	case d == 0:
		return "0"
	case d >= time.Second:
		return fmt.Sprintf("%.3g s", s)
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3g ms", s*1e3)
	default:
		return fmt.Sprintf("%.3g us", s*1e6)
	}
}

// size writes a number of bytes with three digits.
func size(n float64) string {
	for _, unit := range []string{"B", "KiB", "MiB"} {
		if n < 1000 {
			return fmt.Sprintf("%.3g %s", n, unit)
		}
		n /= 1024
	}
	return fmt.Sprintf("%.3g GiB", n)
}
