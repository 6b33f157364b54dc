package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Names of the figures.
const (
	recordsPerCPU  = "records per CPU-second"
	wirePerCPU     = "wire MB per CPU-second"
	windowPerCPU   = "records per CPU-second, to the last ack"
	recordsPerSec  = "records/s"
	settledPerSec  = "records/s, until nothing is owed"
	wirePerSec     = "wire MB/s"
	ackP50         = "ack p50 us"
	ackP90         = "ack p90 us"
	ackP99         = "ack p99 us"
	ackP999        = "ack p99.9 us"
	ackTail        = "ack p99 / p50"
	peakMiB        = "peak RSS MiB"
	serverCores    = "server cores busy"
	bothCores      = "server and loadgen cores busy"
	diskPerWire    = "disk bytes per wire byte"
	devicePerWire  = "device bytes per wire byte"
	allocsPer      = "allocations per record"
	recordsPerSync = "records per sync"
	framesPerGroup = "Exports per group"
	recordsPerBlk  = "records per block"
	meanSyncMicros = "mean log sync us"
	idleShare      = "idle % of a core"
	idleMiB        = "idle RSS MiB"
	startMillis    = "start ms"
	replayed       = "replayed MB/s"
	earlyMiB       = "RSS MiB, first fifth"
	lateMiB        = "RSS MiB, last fifth"
	lateOverEarly  = "RSS of the last fifth over the first"
)

// warmUps bounds how often the load is repeated until the first block is out.
const warmUps = 5

// report is what is used of loadgen's.
type report struct {
	Corpus           string           `json:"corpus"`
	Seconds          float64          `json:"seconds"`
	Records          int64            `json:"records"`
	RecordsPerSecond float64          `json:"records_per_second"`
	WirePerRecord    float64          `json:"wire_bytes_per_record"`
	Refusals         map[string]int64 `json:"refusals"`
	CPUSeconds       float64          `json:"loadgen_cpu_seconds"`
	Ack              struct {
		P50  float64 `json:"p50"`
		P90  float64 `json:"p90"`
		P99  float64 `json:"p99"`
		P999 float64 `json:"p99.9"`
	} `json:"ack_us"`
	Server struct {
		CPUSeconds float64 `json:"cpu_seconds"`
		PeakRSS    int64   `json:"peak_rss_bytes"`
	} `json:"server"`

	total time.Duration // loadgen's CPU time, its preparation included
}

func (r *report) wire() float64 { return float64(r.Records) * r.WirePerRecord }

// load runs loadgen, whose flags are the words of flags, against the server.
func (b *bench) load(v *server, flags string, length time.Duration) (report, error) {
	protocol := "grpc"
	if strings.Contains(flags, "--protocol http") {
		protocol = "http"
	}
	args := []string{"--target", v.addr[protocol], "--json", "--pid", strconv.Itoa(v.cmd.Process.Pid)}
	if !strings.Contains(flags, "--records") {
		args = append(args, "--for", length.String())
	}
	args = append(args, strings.Fields(flags)...)
	cmd := exec.Command(filepath.Join(b.bin, "loadgen"), args...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return report{}, fmt.Errorf("loadgen %s: %w: %s; %s", flags, err, exit.Stderr, tail(v.log))
		}
		return report{}, err
	}
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		return r, fmt.Errorf("loadgen's report: %w", err)
	}
	r.total = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return r, nil
}

// serve is an arm that loads a fresh server: the run that the contract describes.
func serve(s setup, flags string) func(*bench) (sample, error) {
	return func(b *bench) (sample, error) {
		v, err := b.start(s)
		if err != nil {
			return sample{}, err
		}
		defer v.discard()
		warm, err := b.warmUp(v, flags)
		if err != nil {
			return sample{}, err
		}
		if _, err := v.settle(); err != nil {
			return sample{}, err
		}
		before, err := v.read()
		if err != nil {
			return sample{}, err
		}
		r, err := b.load(v, flags, b.length)
		if err != nil {
			return sample{}, err
		}
		owed, err := v.settle()
		if err != nil {
			return sample{}, err
		}
		after, err := v.read()
		if err != nil {
			return sample{}, err
		}
		out := sample{Corpus: r.Corpus, Refused: r.Refusals, Figures: map[string]float64{}}
		out.fill(&r, before, after)
		out.Figures[settledPerSec] = float64(r.Records) / (r.Seconds + owed.Seconds())
		return out, v.finish(&out, warm+r.wire())
	}
}

// warmUp loads the server until its first block is published, or once where the load is too small
// to fill one soon. It returns the bytes sent.
func (b *bench) warmUp(v *server, flags string) (wire float64, err error) {
	for range warmUps {
		r, err := b.load(v, flags, b.warm)
		if err != nil {
			return 0, err
		}
		wire += r.wire()
		c, err := v.counters()
		if err != nil {
			return 0, err
		}
		small := r.wire() < r.Seconds*(8<<20)
		if v.collector != "" || small || c["mira_published_blocks_total"] > 0 {
			break
		}
	}
	return wire, nil
}

// reading is what the server and the machine have counted so far.
type reading struct {
	at       time.Time
	server   time.Duration // CPU time
	machine  time.Duration // busy time of all cores
	counters map[string]float64
	stages   stages
}

// read reads everything.
func (v *server) read() (r reading, err error) {
	if r.server, err = processCPU(v.cmd.Process.Pid); err != nil {
		return r, err
	}
	if r.machine, err = machineCPU(); err != nil {
		return r, err
	}
	r.at = time.Now()
	if r.counters, err = v.counters(); err != nil {
		return r, err
	}
	r.stages, err = v.stages()
	return r, err
}

// fill computes the figures of a run between two readings.
func (s *sample) fill(r *report, before, after reading) {
	f := s.Figures
	cpu, n := (after.server - before.server).Seconds(), float64(r.Records)
	f[recordsPerCPU], f[wirePerCPU] = n/cpu, r.wire()/1e6/cpu
	f[windowPerCPU] = n / r.Server.CPUSeconds
	f[recordsPerSec], f[wirePerSec] = r.RecordsPerSecond, r.wire()/1e6/r.Seconds
	f[ackP50], f[ackP90], f[ackP99], f[ackP999] = r.Ack.P50, r.Ack.P90, r.Ack.P99, r.Ack.P999
	f[ackTail] = r.Ack.P99 / r.Ack.P50
	f[peakMiB] = float64(r.Server.PeakRSS) / (1 << 20)
	f[serverCores] = r.Server.CPUSeconds / r.Seconds
	f[bothCores] = (r.Server.CPUSeconds + r.CPUSeconds) / r.Seconds
	ours := r.total + after.server - before.server
	s.Others = max(0, (after.machine-before.machine-ours).Seconds()) / after.at.Sub(before.at).Seconds()
	s.count(n, before.counters, after.counters)
	s.stages(before.stages, after.stages, r.Seconds)
}

// count computes what the server's own counters tell.
func (s *sample) count(records float64, before, after map[string]float64) {
	per := func(figure, counter string, scale float64) {
		if n := after[counter] - before[counter]; n > 0 {
			s.Figures[figure] = scale / n
		}
	}
	per(recordsPerSync, "mira_wal_syncs_total", records)
	per(recordsPerBlk, "mira_published_blocks_total", records)
	per(framesPerGroup, "mira_wal_groups_total", after["mira_wal_frames_total"]-before["mira_wal_frames_total"])
	per(meanSyncMicros, "mira_wal_syncs_total", 1e6*(after["mira_wal_sync_seconds_total"]-before["mira_wal_sync_seconds_total"]))
	if m := after["go_memstats_mallocs_total"] - before["go_memstats_mallocs_total"]; m > 0 {
		s.Figures[allocsPer] = m / records
	}
}

// finish stops the server and adds what only its end tells. wire is all that it was ever sent.
func (v *server) finish(s *sample, wire float64) error {
	written, err := v.stop()
	if err != nil || v.collector != "" {
		return err
	}
	stored, err := diskBytes(v.dir)
	s.Figures[diskPerWire] = float64(stored) / wire
	s.Figures[devicePerWire] = float64(written) / wire
	return err
}
