package main

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// inProcess is an arm that runs in this process, in a fresh directory.
func inProcess(run func(b *bench, dir string) (map[string]float64, error)) func(*bench) (sample, error) {
	return func(b *bench) (sample, error) {
		dir, err := os.MkdirTemp(b.dir, "arm")
		if err != nil {
			return sample{}, err
		}
		defer os.RemoveAll(dir)
		machine, err := machineCPU()
		if err != nil {
			return sample{}, err
		}
		own, began := ownCPU(), time.Now()
		figures, err := run(b, dir)
		if err != nil {
			return sample{}, err
		}
		took := time.Since(began)
		used := ownCPU() - own
		now, err := machineCPU()
		return sample{Figures: figures, Others: max(0, (now-machine-used).Seconds()) / took.Seconds()}, err
	}
}

// ownCPU is the user and system time of this process.
func ownCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // never fails
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// frameBytes is about what the log writes for one lean record: 80 bytes of header, the record
// with its resource, and padding.
const frameBytes = 512

// fileBytes is the size of a file that is written before it is measured, as a recycled segment is.
const fileBytes = 64 << 20

// bareSync writes and syncs, again and again, what the log would for one record.
func bareSync(b *bench, dir string) (map[string]float64, error) {
	f, err := writtenFile(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, frameBytes)
	return timed(b.length, frameBytes, func(off int64) error {
		if _, err := f.WriteAt(buf, off); err != nil {
			return err
		}
		return unix.Fdatasync(int(f.Fd()))
	})
}

// writtenFile returns a file whose blocks are all on the disk.
func writtenFile(dir string) (*os.File, error) {
	f, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		return nil, err
	}
	if _, err = f.Write(make([]byte, fileBytes)); err == nil {
		err = f.Sync()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// timed repeats op, each time size bytes further on, and tells how long it takes.
func timed(length time.Duration, size int64, op func(off int64) error) (map[string]float64, error) {
	var took []time.Duration
	cpu, began := ownCPU(), time.Now()
	for off := int64(0); time.Since(began) < length; off += size {
		if off+size > fileBytes {
			off = 0
		}
		start := time.Now()
		if err := op(off); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	figures := quantiles(took)
	figures["MB/s"] = float64(len(took)) * float64(size) / 1e6 / time.Since(began).Seconds()
	figures["CPU us a write"] = float64((ownCPU() - cpu).Microseconds()) / float64(len(took))
	return figures, nil
}

// quantiles sorts took.
func quantiles(took []time.Duration) map[string]float64 {
	slices.Sort(took)
	at := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))]) / 1e3 }
	return map[string]float64{ackP50: at(0.5), ackP99: at(0.99), ackP999: at(0.999)}
}
