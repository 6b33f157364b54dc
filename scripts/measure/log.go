package main

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"mira/storage/frame"
	"mira/storage/signal"
	"mira/storage/vfs"
	"mira/storage/wal"
)

// writers load logs in this process: each of n has one frame of size bytes in flight.
type writers struct {
	n, size int
	logs    int           // they are dealt out over this many
	tier    signal.Tier   // batched: a group waits for company
	window  time.Duration // how long
}

// walSplit compares one log for all with one for each of three signals.
func walSplit(b *bench) (list []cell, err error) {
	for _, size := range few(b, []int{512, 16 << 10, 1_250_000}, []int{16 << 10}) {
		one, three := writers{n: 32, size: size, logs: 1, tier: signal.Sync}, writers{n: 32, size: size, logs: 3, tier: signal.Sync}
		list = append(list, cell{
			name:  fmt.Sprintf("32 writers, frames of %d bytes", size),
			arms:  []arm{{"one log", inProcess(one.run)}, {"three logs", inProcess(three.run)}},
			shown: []string{"MB/s", "frames/s", ackP50, ackP99, framesPerGroup},
		})
	}
	return list, nil
}

// coalesce compares windows in which a group waits for company. An average of the sync time that
// follows the disk is, under a steady load, its mean: the last arm takes that.
func coalesce(b *bench) (list []cell, err error) {
	for _, n := range few(b, []int{1, 8, 32, 64}, []int{8}) {
		w := writers{n: n, size: 16 << 10, logs: 1, tier: signal.Sync}
		c := cell{
			name: fmt.Sprintf("%d writers, frames of 16 KiB", n), arms: []arm{{"no window", inProcess(w.run)}},
			shown: []string{"frames/s", ackP50, ackP99, framesPerGroup, "CPU us a frame"},
		}
		for _, window := range few(b, []time.Duration{100 * time.Microsecond, 500 * time.Microsecond, 2 * time.Millisecond}, []time.Duration{500 * time.Microsecond}) {
			v := w
			v.tier, v.window = signal.Batched, window
			c.arms = append(c.arms, arm{window.String(), inProcess(v.run)})
		}
		c.arms = append(c.arms, arm{"half a mean sync", inProcess(w.adaptive)})
		list = append(list, c)
	}
	return list, nil
}

// adaptive waits half as long as a sync took on average just before.
func (w writers) adaptive(b *bench, dir string) (map[string]float64, error) {
	probe := *b
	probe.length = b.length / 4
	f, err := w.run(&probe, filepath.Join(dir, "probe"))
	if err != nil {
		return nil, err
	}
	w.tier, w.window = signal.Batched, time.Duration(f[meanSyncMicros]/2*float64(time.Microsecond))
	return w.run(b, dir)
}

func (w writers) run(b *bench, dir string) (map[string]float64, error) {
	feeds := make([]*feed, w.logs)
	for i := range feeds {
		l, err := openLog(wal.Options{FS: vfs.OS{}, Dir: filepath.Join(dir, fmt.Sprint("wal", i)), Window: w.window})
		if err != nil {
			return nil, err
		}
		defer l.Close()
		feeds[i] = &feed{Log: l}
	}
	if _, err := w.send(feeds, b.warm/3); err != nil { // so that files go round
		return nil, err
	}
	before := count(feeds)
	cpu, began := ownCPU(), time.Now()
	took, err := w.send(feeds, b.length)
	if err != nil {
		return nil, err
	}
	seconds, frames := time.Since(began).Seconds(), float64(len(took))
	used := ownCPU() - cpu
	after := count(feeds)
	figures := quantiles(took)
	figures["frames/s"], figures["MB/s"] = frames/seconds, frames*float64(w.size)/1e6/seconds
	figures["CPU us a frame"] = float64(used.Microseconds()) / frames
	figures[framesPerGroup] = frames / float64(max(1, after.Groups-before.Groups))
	figures[meanSyncMicros] = float64((after.SyncTime - before.SyncTime).Microseconds()) / float64(max(1, after.Syncs-before.Syncs))
	return figures, nil
}

// openLog opens a log that has nothing to replay.
func openLog(o wal.Options) (*wal.Log, error) {
	l, err := wal.Open(o)
	if err != nil {
		return nil, err
	}
	if _, err := l.Replay(func(frame.Frame) error { return nil }); err != nil {
		return nil, err
	}
	return l, l.Start()
}

func count(feeds []*feed) (sum wal.Stats) {
	for _, l := range feeds {
		s := l.Stats()
		sum.Groups += s.Groups
		sum.Syncs += s.Syncs
		sum.SyncTime += s.SyncTime
	}
	return sum
}

// send lets all writers send for a while and returns how long each frame took.
func (w writers) send(feeds []*feed, length time.Duration) (took []time.Duration, err error) {
	var all sync.WaitGroup
	var mu sync.Mutex // guards took and err
	ends := time.Now().Add(length)
	for i := range w.n {
		all.Go(func() {
			mine, e := feeds[i%len(feeds)].write(w, ends)
			mu.Lock()
			defer mu.Unlock()
			took = append(took, mine...)
			if e != nil {
				err = e
			}
		})
	}
	all.Wait()
	return took, err
}

// feed is a log and how many frames it has been given. A block is 32 MiB of them, and is released
// a few blocks later, so that files go round as they do in service.
type feed struct {
	*wal.Log
	sent atomic.Int64
}

func (f *feed) write(w writers, ends time.Time) (took []time.Duration, err error) {
	body := make([]byte, w.size)
	block := func(n int64) signal.BlockID { return signal.BlockID{Signal: signal.Logs, Seq: uint64(n) + 1} }
	for time.Now().Before(ends) {
		n := f.sent.Add(1)
		at, was := n*int64(w.size)>>25, (n-1)*int64(w.size)>>25
		began := time.Now()
		if _, err := f.Append(frame.Frame{Block: block(at), Records: 1, Payload: body}, w.tier, nil); err != nil {
			return took, err
		}
		took = append(took, time.Since(began))
		if at != was && at > 4 {
			f.Release(block(at - 4))
		}
	}
	return took, nil
}
