package doctor

import (
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"mira/pipeline/explain"
	"mira/storage/vfs"
)

func TestPredictionIsTheSlowerOfCoresAndDisk(t *testing.T) {
	c := CPU{OTLPBytes: 100, BlockBytes: 25, Receive: 40, Check: 60, Log: 100, Columns: 200, Encode: 400, Total: 800}
	d := Disk{
		Small: Writes{Bytes: smallWrite, P50: 0.0001}, Large: Writes{Bytes: largeWrite, P50: 0.0021},
	}
	f := func(name string, cores, bandwidth float64, records float64, limit string) {
		t.Helper()
		d.Bandwidth = bandwidth
		p := predict(cores, c, d)
		if math.Abs(p.Records-records) > 1 || p.Limit != limit {
			t.Errorf("%s: got %.0f records/s, limited by %s; want %.0f, %s", name, p.Records, p.Limit, records, limit)
		}
	}
	f("two cores, a fast disk", 2, 1e9, 2.5e6, "cpu")
	f("half a core by quota", 0.5, 1e9, 625e3, "cpu")
	f("two cores, a slow disk", 2, 100e6, 800e3, "disk")
	f("many cores", 64, 1e9, 8e6, "disk")

	p := predict(2, c, d)
	// 190 us of round trip, and a sync of 100 us.
	if math.Abs(float64(p.AckOne)-0.00029) > 1e-9 {
		t.Errorf("one record is acknowledged after %s, want 290 us", p.AckOne)
	}
	// 819,200 bytes are 0.625 of a large write: 100 us + 1.25 ms; 8192 times 240 ns; the round trip.
	if math.Abs(float64(p.AckBatch)-0.003506) > 1e-6 {
		t.Errorf("%d records are acknowledged after %s, want 3.51 ms", p.Batch, p.AckBatch)
	}
	// Half a core does not build blocks that fast.
	if p = predict(0.5, c, d); math.Abs(float64(p.AckBatch)-0.0131072) > 1e-6 {
		t.Errorf("%d records are acknowledged after %s on half a core, want 13.1 ms", p.Batch, p.AckBatch)
	}
}

func TestLargerWriteIsNeverExpectedToBeFaster(t *testing.T) {
	d := Disk{Small: Writes{Bytes: smallWrite, P50: 0.002}, Large: Writes{Bytes: largeWrite, P50: 0.001}}
	if got := d.sync(1 << 20); got != 0.002 {
		t.Errorf("got %s, want 2 ms", got)
	}
}

// load is a server under load that has nothing to complain about: half of its cores are busy.
func load(change func(*explain.Report)) *explain.Report {
	d := &explain.Report{
		WindowSeconds: 10, Cores: 2, CPUSeconds: 10, Records: 8192 * 1000, Exports: 1000, BoundBy: "client",
		Groups: explain.Groups{Count: 500, Frames: 2},
		Stages: []explain.Stage{
			{Name: "check", Kind: "cpu", Share: 0.1},
			{Name: "log_queue", Kind: "wait", Count: 1000, Share: 0.1},
			{Name: "log_sync", Kind: "wait", Count: 500, Share: 0.3},
			{Name: "columns", Kind: "cpu", Share: 0.25},
			{Name: "compress", Kind: "cpu", Share: 0.5},
		},
		Gauges: explain.Gauges{Budget: 1 << 30, BudgetUsed: 1 << 28}, Settings: explain.Settings{Shards: 2, Durability: "sync"},
	}
	change(d)
	return d
}

func TestAdviceIsTheOneSettingThatHelps(t *testing.T) {
	f := func(name string, wire float64, want, says string, change func(*explain.Report)) {
		t.Helper()
		a := Advise(load(change), wire)
		if a.Setting != want || !strings.Contains(a.Why, says) {
			t.Errorf("%s: got %q, %s; want %q with %q", name, a.Setting, a.Why, want, says)
		}
	}
	f("nothing comes", 1, "", "ask again", func(d *explain.Report) { d.Exports, d.Records = 0, 0 })
	f("an empty document", 0, "", "ask again", func(d *explain.Report) { *d = explain.Report{} })
	f("the clients are slow", 1, "connections", "waits for the clients", func(*explain.Report) {})
	f("the clients send little", 1, "batch", "hold 10 records", func(d *explain.Report) { d.Records = 10 * d.Exports })
	f("a verdict that is not known", 1, "connections", "clients", func(d *explain.Report) { d.BoundBy = "gremlins" })

	f("all cores work", 1, "cores", "1.9 of 2 cores", func(d *explain.Report) { d.CPUSeconds, d.BoundBy = 19, "compress" })
	f("all cores work on small Exports", 1, "batch", "holds 100 records", func(d *explain.Report) { d.BoundBy, d.Records = "cpu", 100*d.Exports })
	f("all cores inflate", 6, "compression", "6.0 times", func(d *explain.Report) {
		d.BoundBy = "cpu"
		for i := range d.Stages {
			d.Stages[i].Share /= 2
		}
	})
	f("compressed, but cheaply", 6, "cores", "more cores", func(d *explain.Report) { d.BoundBy = "columns" })
	f("other programs have the cores", 1, "cores", "something else", func(d *explain.Report) { d.BoundBy, d.LagP90 = "scheduler", 0.02 })

	f("a sync for nearly each Export", 1, "connections", "mira-durability: batched", func(d *explain.Report) {
		d.BoundBy, d.Groups.Frames = "log_sync", 1.1
	})
	f("the same, batched already", 1, "connections", "more connections", func(d *explain.Report) {
		d.BoundBy, d.Settings.Durability, d.Groups.Frames = "log_sync", "batched", 1.1
	})
	f("a sync for many, and still bound by it", 1, "data-dir", "20 Exports share", func(d *explain.Report) {
		d.BoundBy, d.Groups.Frames = "log_write", 20
	})
	f("blocks wait for the disk", 1, "data-dir", "faster", func(d *explain.Report) { d.BoundBy = "file_sync" })
	f("a full budget", 1, "ingest-memory", "raise", func(d *explain.Report) { d.BoundBy, d.Gauges.BudgetUsed = "admit_wait", 1<<30-1 })
	f("all blocks are being written", 1, "shards", "raise --shards", func(d *explain.Report) { d.BoundBy = "admit_wait" })
	f("the machine is others'", 1, "cores", "other programs", func(d *explain.Report) { d.BoundBy = "machine" })
}

func TestTopIsOfEachKind(t *testing.T) {
	var names []string
	for _, s := range top(load(func(*explain.Report) {}), 2) {
		names = append(names, s.Name)
	}
	if want := []string{"compress", "columns", "log_sync", "log_queue"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	if got := top(&explain.Report{}, 3); len(got) > 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestWarningsNameWhatIsSetUpWrong(t *testing.T) {
	f := func(want string, change func(*Report)) {
		t.Helper()
		r := &Report{
			Box:  Box{Cores: 4, Procs: 6, Memory: 8 << 30, IngestMemory: 1 << 30},
			Disk: Disk{Dir: "/data", FileSystem: "ext", Free: 1 << 40}, CPU: CPU{Requests: 64, BlockBytes: 25},
			Prediction: Prediction{Records: 1e6},
		}
		change(r)
		list := warnings(r)
		if want == "" && len(list) > 0 || want != "" && (len(list) != 1 || !strings.Contains(list[0], want)) {
			t.Errorf("got %q, want one with %q", list, want)
		}
	}
	f("", func(*Report) {})
	f("network file system (nfs)", func(r *Report) { r.Disk.FileSystem, r.Disk.volume = "nfs", vfs.Volume{Network: true} })
	f("power cut", func(r *Report) { r.Disk.volume.Volatile = true })
	f("FUSE", func(r *Report) { r.Disk.volume.Fuse = true })
	f("mount a volume", func(r *Report) { r.Disk.FileSystem = "overlay" })
	f("full in 40 s", func(r *Report) { r.Disk.Free = 1e9 })
	f("0.5 of one CPU", func(r *Report) { r.Box.Quota = 0.5 })
	f("2.5 of 4 CPUs", func(r *Report) { r.Box.Quota = 2.5 })
	f("", func(r *Report) { r.Box.Quota = 4 })
	f("set it to 256 MiB", func(r *Report) { r.Box.Memory = 1 << 30 })
	f("raise --seconds", func(r *Report) { r.CPU.Requests = 3 })
	f("1.0 of 4 cores", func(r *Report) { r.Box.Others = 1 })
}

func TestControlGroupsOfBothVersionsAreRead(t *testing.T) {
	f := func(name string, quota float64, memory int64, files map[string]string) {
		t.Helper()
		root := fstest.MapFS{}
		for path, text := range files {
			root[path] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
		if q, m := groupLimits(root); q != quota || m != memory {
			t.Errorf("%s: got %v CPUs, %d bytes; want %v, %d", name, q, m, quota, memory)
		}
	}
	f("nothing to read", 0, 0, nil)
	f("no limits", 0, 0, map[string]string{"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "max 100000", "sys/fs/cgroup/memory.max": "max"})
	f("version 2, the tightest of all above", 1.5, 1000, map[string]string{
		"proc/self/cgroup":      "0::/a/b",
		"sys/fs/cgroup/a/b/pid": "", "sys/fs/cgroup/a/b/cpu.max": "200000 100000",
		"sys/fs/cgroup/a/cpu.max": "150000 100000", "sys/fs/cgroup/a/memory.max": "1000",
	})
	f("version 2 with the host's path in a container", 0.5, 2000, map[string]string{
		"proc/self/cgroup": "0::/docker/x", "sys/fs/cgroup/cpu.max": "50000 100000", "sys/fs/cgroup/memory.max": "2000",
	})
	f("version 1", 2, 3000, map[string]string{
		"proc/self/cgroup":                     "4:memory:/x\n3:cpu,cpuacct:/x\n0::/",
		"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "200000", "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000",
		"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "3000",
	})
	f("version 1 without limits", 0, 0, map[string]string{
		"proc/self/cgroup":                   "4:memory:/\n3:cpu:/",
		"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
		"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
	})
}

func TestQuotaAndGroupMemoryBoundTheBox(t *testing.T) {
	o := Options{Memory: 8 << 30, Root: fstest.MapFS{
		"proc/self/cgroup": {Data: []byte("0::/\n")}, "sys/fs/cgroup/cpu.max": {Data: []byte("25000 100000\n")}, "sys/fs/cgroup/memory.max": {Data: []byte("4096\n")},
	}}
	if b := o.box(); b.usable() != 0.25 || b.Memory != 4096 {
		t.Errorf("got %v CPUs, %d bytes", b.usable(), b.Memory)
	}
	if got := (Box{Cores: 2, Quota: 8}).usable(); got != 2 {
		t.Errorf("2 cores with a quota of 8 are %v", got)
	}
}

func TestCoresOfOthersAreWhatIsBusyAndNotOurs(t *testing.T) {
	at := func(stat, self string) ticks {
		return readTicks(fstest.MapFS{"proc/stat": {Data: []byte(stat)}, "proc/self/stat": {Data: []byte(self)}})
	}
	before := at("cpu  100 0 50 800 40 5 5 0 0 0\ncpu0 1 2\n", "7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 20 10 0 0")
	after := at("cpu  200 0 90 840 50 10 5 5 0 0\ncpu0 1 2\n", "7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 60 20 0 0")
	// Of 200 ticks 150 were busy, 50 of them here: half of the time of two cores.
	if got := before.othersSince(after, 2); got != 1 {
		t.Errorf("got %v cores, want 1", got)
	}
	if got := at("", "").othersSince(at("what", ""), 2); got != 0 {
		t.Errorf("of nothing: got %v", got)
	}
}
