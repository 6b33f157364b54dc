package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// setup is a server to measure and how it is started.
type setup struct {
	binary    string   // "": the mira of --bin
	collector string   // a Collector with this configuration, not mira
	flags     []string // of mira
	env       []string // beside that of this process
	root      string   // where its data directory is made; "": --dir
	tmpfsLog  bool     // keep mira's log on a tmpfs
}

// server is a running one.
type server struct {
	setup
	cmd   *exec.Cmd
	dir   string            // its data
	addr  map[string]string // by protocol
	log   string            // file of its stderr
	ready time.Duration     // from the start of the process until it answers
	sink  *sink             // what a Collector sends on to
	trash []string          // directories to remove with it
}

// start runs the server on a fresh directory and returns once it answers.
func (b *bench) start(s setup) (*server, error) {
	root := s.root
	if root == "" {
		root = b.dir
	}
	dir, err := os.MkdirTemp(root, "data")
	if err != nil {
		return nil, err
	}
	v := &server{setup: s, dir: dir, log: dir + ".log", trash: []string{dir}}
	if err := v.prepare(b); err != nil {
		v.remove()
		return nil, err
	}
	if err := v.begin(); err != nil {
		v.remove()
		return nil, err
	}
	return v, nil
}

// prepare makes the command.
func (v *server) prepare(b *bench) error {
	if v.collector != "" {
		return v.prepareCollector(b)
	}
	if v.tmpfsLog {
		shm, err := os.MkdirTemp("/dev/shm", "mira-measure")
		if err != nil {
			return err
		}
		v.trash = append(v.trash, shm)
		if err := os.Symlink(shm, filepath.Join(v.dir, "wal")); err != nil {
			return err
		}
	}
	binary := v.binary
	if binary == "" {
		binary = filepath.Join(b.bin, "mira")
	}
	args := append([]string{"--data-dir", v.dir, "--listen-grpc", "localhost:0", "--listen-http", "localhost:0"}, v.flags...)
	v.cmd = exec.Command(binary, args...)
	v.cmd.Env = append(os.Environ(), v.env...)
	return nil
}

// prepareCollector makes the command of a Collector, with free ports and something to send to.
func (v *server) prepareCollector(b *bench) error {
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	if v.sink, err = startSink(); err != nil {
		return err
	}
	v.addr = map[string]string{"grpc": ports[0], "http": ports[1]}
	v.cmd = exec.Command(filepath.Join(b.bin, "collector"), "--config", v.collector)
	v.cmd.Env = append(os.Environ(), "MEASURE_GRPC="+ports[0], "MEASURE_HTTP="+ports[1],
		"MEASURE_SINK="+v.sink.addr, "MEASURE_DIR="+v.dir)
	v.cmd.Env = append(v.cmd.Env, v.env...)
	return nil
}

// begin starts the process and waits until it answers.
func (v *server) begin() error {
	log, err := os.Create(v.log)
	if err != nil {
		return err
	}
	defer log.Close()
	v.cmd.Stderr = log
	began := time.Now()
	if err := v.cmd.Start(); err != nil {
		return err
	}
	for time.Since(began) < time.Minute {
		if v.answers() {
			v.ready = time.Since(began)
			return nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	v.end(syscall.SIGKILL)
	return fmt.Errorf("%s does not answer: %s", v.cmd.Path, tail(v.log))
}

// answers asks mira whether it is ready, and a Collector whether it listens.
func (v *server) answers() bool {
	if v.collector != "" {
		for _, addr := range v.addr {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				return false
			}
			c.Close()
		}
		return true
	}
	b, err := os.ReadFile(filepath.Join(v.dir, "mira.addr"))
	var a struct {
		GRPC, HTTP string
		PID        int
	}
	if err != nil || json.Unmarshal(b, &a) != nil || a.PID != v.cmd.Process.Pid {
		return false
	}
	v.addr = map[string]string{"grpc": a.GRPC, "http": a.HTTP}
	res, err := http.Get("http://" + a.HTTP + "/readyz")
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// stop ends the server as an operator would: mira publishes what is open. It returns the bytes
// that the process wrote to the disk in its life, the count that /proc/<pid>/io calls write_bytes.
func (v *server) stop() (written int64, err error) {
	err = v.end(syscall.SIGTERM)
	if v.sink != nil {
		v.sink.stop()
	}
	u, ok := v.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, errors.Join(err, errors.New("no resource usage of the server"))
	}
	return u.Oublock * 512, err
}

func (v *server) end(sig syscall.Signal) error {
	if v.cmd.ProcessState != nil {
		return nil
	}
	v.cmd.Process.Signal(sig)
	slow := time.AfterFunc(time.Minute, func() { v.cmd.Process.Kill() })
	defer slow.Stop()
	err := v.cmd.Wait()
	if sig == syscall.SIGKILL {
		return nil
	}
	if err != nil {
		return fmt.Errorf("server ended badly: %w: %s", err, tail(v.log))
	}
	return nil
}

// discard ends the server, if it still runs, and removes all it left.
func (v *server) discard() {
	v.end(syscall.SIGKILL)
	if v.sink != nil {
		v.sink.stop()
	}
	v.remove()
}

func (v *server) remove() {
	for _, dir := range v.trash {
		os.RemoveAll(dir)
	}
	os.Remove(v.log)
}

// counters reads the server's /metrics, summed over labels. A Collector under test has none.
func (v *server) counters() (map[string]float64, error) {
	if v.collector != "" {
		return nil, nil
	}
	res, err := v.get("/metrics")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	sums := map[string]float64{}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) != 2 || f[0] == "#" {
			continue
		}
		name, _, _ := strings.Cut(f[0], "{")
		if n, err := strconv.ParseFloat(f[1], 64); err == nil {
			sums[name] += n
		}
	}
	return sums, lines.Err()
}

func (v *server) get(path string) (*http.Response, error) {
	return http.Get("http://" + v.addr["http"] + path)
}

// settle waits until the server has done what it still owed, which is when it has been looked at
// twice in a row and found idle, and returns how long that took. It does not wait for ever.
func (v *server) settle() (owed time.Duration, err error) {
	const look, looks, quiet = 100 * time.Millisecond, 600, tick
	began := time.Now()
	last, err := processCPU(v.cmd.Process.Pid)
	for n, idle := 0, 0; n < looks && idle < 2 && err == nil; n++ {
		time.Sleep(look)
		var now time.Duration
		now, err = processCPU(v.cmd.Process.Pid)
		idle++
		if now-last > quiet {
			idle, owed = 0, time.Since(began)
		}
		last = now
	}
	return owed, err
}

// freePorts returns addresses that were free a moment ago.
func freePorts(n int) (list []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		list = append(list, l.Addr().String())
	}
	return list, nil
}

// tail is the end of a log file, for an error.
func tail(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " / ")
}

// diskBytes is the size of the blocks and what belongs to them under dir: all but the log.
func diskBytes(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == "wal":
			return skip(d)
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum, err
}

// skip passes over a directory, or over the symbolic link in its place.
func skip(d os.DirEntry) error {
	if d.IsDir() {
		return filepath.SkipDir
	}
	return nil
}
