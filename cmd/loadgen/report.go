package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// report is the result of a run, as --json prints it.
type report struct {
	Run         string   `json:"run"`
	Corpus      string   `json:"corpus"` // fingerprint of all requests
	Target      string   `json:"target"`
	Protocol    string   `json:"protocol"`
	Signals     []string `json:"signals"`
	Shape       string   `json:"shape"`
	Batch       int      `json:"batch"`
	Conns       int      `json:"conns"`
	Rate        float64  `json:"rate"` // asked for; 0: closed loop
	Compression string   `json:"compression"`
	Durability  string   `json:"durability"` // asked for; "" leaves it to the server
	Seed        uint64   `json:"seed"`

	Seconds          float64          `json:"seconds"`
	Records          int64            `json:"records"` // acknowledged
	Exports          int64            `json:"exports"` // acknowledged
	RecordsPerSecond float64          `json:"records_per_second"`
	MiBPerSecond     float64          `json:"mib_per_second"` // of acknowledged requests, on the wire
	BytesPerRecord   float64          `json:"wire_bytes_per_record"`
	PlainPerRecord   float64          `json:"otlp_bytes_per_record"` // before compression
	Refusals         map[string]int64 `json:"refusals"`              // attempts by code
	Tiers            map[string]int64 `json:"tiers"`                 // acks by the tier reached
	Retries          int64            `json:"retries"`
	RecordsRefused   int64            `json:"records_refused"` // given up, certainly not stored
	RecordsUnknown   int64            `json:"records_unknown"` // given up, nobody knows
	LastRefusal      string           `json:"last_refusal,omitempty"`
	Ack              ackTimes         `json:"ack_us"`
	CPUSeconds       float64          `json:"loadgen_cpu_seconds"`

	Server *serverUse `json:"server,omitempty"`
	Disk   *diskUse   `json:"disk,omitempty"`
	Verify *verdict   `json:"verify,omitempty"`
}

// ackTimes are microseconds from the (intended) send to the acknowledgement,
// retries included.
type ackTimes struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

// serverUse is what --pid adds.
type serverUse struct {
	PID                 int     `json:"pid"`
	CPUSeconds          float64 `json:"cpu_seconds"`
	RecordsPerCPUSecond float64 `json:"records_per_cpu_second"`
	PeakRSS             int64   `json:"peak_rss_bytes"`
}

// diskUse is what --data-dir adds: how far the directory grew. The log is left
// out of bytes per record, since it is preallocated; what is in no block yet is
// in the log alone, so the figure wants a run of many blocks.
type diskUse struct {
	BytesPerRecord float64 `json:"bytes_per_record"`
	Blocks         int64   `json:"blocks_bytes"`
	Log            int64   `json:"log_bytes"`
	All            int64   `json:"all_bytes"`
}

func newReport(c *config, run, corpus string) *report {
	r := &report{
		Run: run, Corpus: corpus, Target: c.target, Protocol: c.protocol, Shape: c.shape.String(), Batch: c.batch,
		Conns: c.conns, Rate: c.rate, Compression: c.compression, Durability: c.durability, Seed: c.seed,
	}
	for _, s := range c.signals {
		r.Signals = append(r.Signals, s.String())
	}
	return r
}

func (r *report) count(t *tally, took time.Duration) {
	r.Seconds = took.Seconds()
	r.Records, r.Exports = t.acked, t.acks
	r.RecordsPerSecond = ratio(float64(t.acked), r.Seconds)
	r.MiBPerSecond = ratio(float64(t.wire)/(1<<20), r.Seconds)
	r.BytesPerRecord = ratio(float64(t.wire), float64(t.acked))
	r.PlainPerRecord = ratio(float64(t.plain), float64(t.acked))
	r.Refusals, r.Tiers, r.Retries = t.refusals, t.tiers, t.retries
	r.RecordsRefused, r.RecordsUnknown, r.LastRefusal = t.refused, t.unknown, t.lastDetail
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	l := &t.latency
	r.Ack = ackTimes{
		P50: us(l.quantile(0.5)), P90: us(l.quantile(0.9)), P99: us(l.quantile(0.99)), P999: us(l.quantile(0.999)),
		Max: us(l.max), Mean: ratio(us(l.sum), float64(l.total)),
	}
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// text writes the report for people.
func (r *report) text(w io.Writer) {
	if r.Run != "" {
		r.textLoad(w)
	}
	if s := r.Server; s != nil {
		fmt.Fprintf(w, "server   %.2f CPU-s, %s records per CPU-second, peak RSS %d MiB\n", s.CPUSeconds, thousands(s.RecordsPerCPUSecond), s.PeakRSS>>20)
	}
	if d := r.Disk; d != nil {
		fmt.Fprintf(w, "disk     %.1f B a record outside the log; grew by %d MiB of blocks, %d MiB of log\n", d.BytesPerRecord, d.Blocks>>20, d.Log>>20)
	}
	if v := r.Verify; v != nil {
		v.text(w)
	}
}

func (r *report) textLoad(w io.Writer) {
	tier := r.Durability
	if tier == "" {
		tier = "the server's"
	}
	fmt.Fprintf(w, "run      %s: %s %s, %d connections, %s %s, batch %d, compression %s, tier %s\n",
		r.Run, r.Protocol, r.Target, r.Conns, r.Shape, strings.Join(r.Signals, ","), r.Batch, r.Compression, tier)
	fmt.Fprintf(w, "acked    %s records in %.2f s: %s records/s, %.1f MiB/s, %.1f B a record on the wire\n",
		thousands(float64(r.Records)), r.Seconds, thousands(r.RecordsPerSecond), r.MiBPerSecond, r.BytesPerRecord)
	ms := func(us float64) string { return fmt.Sprintf("%.2f", us/1000) }
	fmt.Fprintf(w, "ack ms   p50 %s  p90 %s  p99 %s  p99.9 %s  max %s\n", ms(r.Ack.P50), ms(r.Ack.P90), ms(r.Ack.P99), ms(r.Ack.P999), ms(r.Ack.Max))
	if len(r.Refusals) == 0 {
		fmt.Fprintln(w, "refused  nothing")
	} else {
		fmt.Fprintf(w, "refused  %s; %d retries; given up: %d records refused, %d unknown\n", byCode(r.Refusals), r.Retries, r.RecordsRefused, r.RecordsUnknown)
		fmt.Fprintf(w, "         last: %s\n", r.LastRefusal)
	}
	if len(r.Tiers) > 0 {
		fmt.Fprintf(w, "tiers    %s Exports\n", byCode(r.Tiers))
	}
	fmt.Fprintf(w, "loadgen  %.2f CPU-s, %s records per CPU-second\n", r.CPUSeconds, thousands(ratio(float64(r.Records), r.CPUSeconds)))
}

func (v *verdict) text(w io.Writer) {
	word := "verified"
	if !v.OK {
		word = "VERIFY FAILED"
	}
	fmt.Fprintf(w, "%s %d acknowledged, %d stored: %d lost, %d doubled, %d refused but stored, %d never sent; %d of unknown end\n",
		word, v.Acked, v.Stored, v.Lost, v.Doubled, v.Forbidden, v.Strangers, v.Unsettled)
	for _, e := range v.Examples {
		fmt.Fprintf(w, "         %s\n", e)
	}
}

// json writes the report as one document.
func (r *report) json(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r *report) emit(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := r.json(f); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

func byCode(m map[string]int64) string {
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", code, m[code]))
	}
	return strings.Join(parts, ", ")
}

// thousands writes a count with separators: 1,572,864.
func thousands(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
