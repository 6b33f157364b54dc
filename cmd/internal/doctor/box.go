package doctor

import (
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Box is the machine, as far as a server may use it.
type Box struct {
	Cores        int     `json:"cores"`
	Quota        float64 `json:"cpu_quota,omitempty"` // CPUs that the control group grants; 0: no limit
	Procs        int     `json:"gomaxprocs"`          // of the server
	Memory       int64   `json:"memory_bytes"`        // of the machine, or of the control group if that is less
	IngestMemory int64   `json:"ingest_memory_bytes"` // the server's, unless it is told otherwise
	Others       float64 `json:"others_cores"`        // that other programs used meanwhile
}

func (o *Options) box() Box {
	quota, memory := groupLimits(o.Root)
	b := Box{Cores: runtime.NumCPU(), Quota: quota, Procs: o.Procs, Memory: o.Memory, IngestMemory: o.IngestMemory}
	if memory > 0 && memory < b.Memory {
		b.Memory = memory
	}
	return b
}

// usable is how many CPUs' worth of work the machine does for the server.
func (b Box) usable() float64 {
	if b.Quota > 0 {
		return min(b.Quota, float64(b.Cores))
	}
	return float64(b.Cores)
}

// groupLimits reads what the control group of this process, and those above it, allow: CPUs and
// bytes of memory, 0 where there is no limit. It knows both versions of control groups.
func groupLimits(root fs.FS) (quota float64, memory int64) {
	self := read(root, "proc/self/cgroup")
	for line := range strings.Lines(self) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		controllers := strings.Split(f[1], ",")
		if f[1] == "" {
			up(root, "sys/fs/cgroup", f[2], func(dir string) {
				quota = least(quota, ratioOf(strings.Fields(read(root, dir+"/cpu.max"))))
				memory = least(memory, number(read(root, dir+"/memory.max")))
			})
		}
		if slices.Contains(controllers, "cpu") {
			up(root, "sys/fs/cgroup/cpu", f[2], func(dir string) {
				quota = least(quota, ratioOf([]string{read(root, dir+"/cpu.cfs_quota_us"), read(root, dir+"/cpu.cfs_period_us")}))
			})
		}
		if slices.Contains(controllers, "memory") {
			up(root, "sys/fs/cgroup/memory", f[2], func(dir string) {
				memory = least(memory, number(read(root, dir+"/memory.limit_in_bytes")))
			})
		}
	}
	return quota, memory
}

// up calls fn for the group's directory and each above it. In a container the path is often the
// host's, and the files are at the top.
func up(root fs.FS, mount, group string, fn func(dir string)) {
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
		at := strings.TrimSuffix(mount+dir, "/")
		if _, err := fs.Stat(root, at); err == nil {
			fn(at)
		}
		if dir == "/" {
			return
		}
	}
}

func read(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// number reads a count; what is no positive number ("max", "-1") is no limit.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n >= 1<<62 { // version 1 writes a huge number for no limit
		return 0
	}
	return n
}

// ratioOf reads a quota and its period.
func ratioOf(f []string) float64 {
	if len(f) != 2 {
		return 0
	}
	quota, period := number(f[0]), number(f[1])
	if quota == 0 || period == 0 {
		return 0
	}
	return float64(quota) / float64(period)
}

// least is the smaller of two limits, 0 being none.
func least[T int64 | float64](a, b T) T {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
