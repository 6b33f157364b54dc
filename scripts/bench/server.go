package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// report is what is used of loadgen's.
type report struct {
	RecordsPerSecond float64          `json:"records_per_second"`
	Refusals         map[string]int64 `json:"refusals"`
	Ack              struct {
		P50 float64 `json:"p50"`
		P99 float64 `json:"p99"`
	} `json:"ack_us"`
	Server struct {
		RecordsPerCPUSecond float64 `json:"records_per_cpu_second"`
		PeakRSS             int64   `json:"peak_rss_bytes"`
	} `json:"server"`
}

// server is a running mira.
type server struct {
	cmd  *exec.Cmd
	addr map[string]string // by protocol
	log  string            // file of its stderr
}

// start runs mira on dir and returns once it listens.
func start(dir string, flags ...string) (*server, error) {
	s := &server{log: dir + ".log"}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := append([]string{"--data-dir", dir, "--listen-grpc", "localhost:0", "--listen-http", "localhost:0"}, flags...)
	s.cmd = exec.Command(filepath.Join(*bin, "mira"), args...)
	s.cmd.Stderr = log
	address := filepath.Join(dir, "mira.addr")
	if err := os.Remove(address); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for range 600 {
		b, err := os.ReadFile(address)
		var a struct{ GRPC, HTTP string }
		if err == nil && json.Unmarshal(b, &a) == nil {
			s.addr = map[string]string{"grpc": a.GRPC, "http": a.HTTP}
			return s, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.kill()
	return nil, fmt.Errorf("mira does not listen; see %s", s.log)
}

// stop ends the server as an operator would.
func (s *server) stop() {
	s.end(syscall.SIGTERM)
}

// kill ends it as a crash would.
func (s *server) kill() {
	s.end(syscall.SIGKILL)
}

func (s *server) end(sig syscall.Signal) {
	if s.cmd.ProcessState == nil {
		s.cmd.Process.Signal(sig)
		s.cmd.Wait()
	}
}

// load runs loadgen against the server. A refusal spoils the run.
func (s *server) load(protocol string, flags ...string) (report, error) {
	args := append([]string{"--protocol", protocol, "--target", s.addr[protocol], "--json", "--pid", strconv.Itoa(s.cmd.Process.Pid)}, flags...)
	out, err := exec.Command(filepath.Join(*bin, "loadgen"), args...).Output()
	if err != nil {
		return report{}, fmt.Errorf("loadgen %s: %w", strings.Join(flags, " "), err)
	}
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		return r, fmt.Errorf("loadgen's report: %w", err)
	}
	if len(r.Refusals) > 0 {
		return r, fmt.Errorf("loadgen %s: refused %v", strings.Join(flags, " "), r.Refusals)
	}
	return r, nil
}

// replayed reads from the server's log how much it replayed, and how long its start took.
func (s *server) replayed() (bytes int64, took time.Duration, err error) {
	b, err := os.ReadFile(s.log)
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		var e struct {
			Message string
			Bytes   int64
			Start   float64 // milliseconds
		}
		if json.Unmarshal([]byte(line), &e) != nil {
			continue
		}
		switch e.Message {
		case "log replayed":
			bytes = e.Bytes
		case "listening":
			took = time.Duration(e.Start * float64(time.Millisecond))
		}
	}
	if bytes == 0 || took == 0 {
		return 0, 0, fmt.Errorf("no replay in %s", s.log)
	}
	return bytes, took, nil
}
