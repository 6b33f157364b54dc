package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"mira/storage/vfs"
)

// Disk is how fast data becomes safe in the data directory.
type Disk struct {
	Dir        string  `json:"directory"`  // that was measured
	FileSystem string  `json:"filesystem"` // of the kernel
	Free       uint64  `json:"free_bytes"`
	Small      Writes  `json:"small"`
	Large      Writes  `json:"large"`
	Bandwidth  float64 `json:"synced_bytes_per_second"` // of groups

	volume vfs.Volume
}

// Writes are the latencies of write + fdatasync, one after the other.
type Writes struct {
	Bytes int     `json:"bytes"` // of one write
	Count int     `json:"count"`
	P50   Seconds `json:"p50_seconds"`
	P99   Seconds `json:"p99_seconds"`
}

const (
	smallWrite = 256     // an Export of one record and its frame
	largeWrite = 5 << 18 // 1.25 MiB: one of 8192 lean records
	groupOf    = 4       // large ones under one sync: four connections

	// segment is the size of the file: a segment of the log. Less where the disk is slow, but a
	// group has to fit.
	segment, leastSegment = 64 << 20, groupOf * largeWrite
)

// measureDisk writes and syncs in a directory of its own below the data directory.
func (o *Options) measureDisk(ctx context.Context) (d Disk, err error) {
	if d.Dir, err = o.place(); err != nil {
		return d, err
	}
	if d.volume, err = vfs.VolumeOf(d.Dir); err == nil {
		d.FileSystem = d.volume.Name
	}
	if d.Free, err = o.FS.Free(d.Dir); err != nil {
		return d, fmt.Errorf("free space of %s: %w", d.Dir, err)
	}
	if d.Free < 2*segment {
		return d, fmt.Errorf("%s has %s left: too little to measure in, and far too little for mira", d.Dir, size(float64(d.Free)))
	}
	p, err := newProbe(o.FS, d.Dir)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, p.remove()) }()
	if err := p.fill(ctx, o.Budget/10); err != nil {
		return d, err
	}
	return d, o.measureWrites(ctx, p, &d)
}

func (o *Options) measureWrites(ctx context.Context, p *probe, d *Disk) error {
	at := 0.0
	for _, m := range []struct {
		share float64
		doing string
		parts int
		bytes int
		done  func([]time.Duration)
	}{
		{smallShare, "small synced writes", 1, smallWrite, func(t []time.Duration) { d.Small = writes(smallWrite, t) }},
		{largeShare, "large synced writes", 1, largeWrite, func(t []time.Duration) { d.Large = writes(largeWrite, t) }},
		{bandwidthShare, "synced bandwidth", groupOf, largeWrite, func(t []time.Duration) { d.Bandwidth = bandwidth(groupOf*largeWrite, t) }},
	} {
		group := make([][]byte, m.parts)
		for i := range group {
			group[i] = p.noise[i*len(p.noise)/groupOf:][:m.bytes]
		}
		took, err := p.run(ctx, group, time.Duration(m.share*float64(o.Budget)), o.step(at, m.share, m.doing))
		if err != nil {
			return err
		}
		m.done(took)
		at += m.share
	}
	return nil
}

// place is the data directory, or its parent where it is not there yet: most likely it will be on
// the same file system.
func (o *Options) place() (string, error) {
	dir := filepath.Clean(o.Dir)
	for _, d := range []string{dir, filepath.Dir(dir)} {
		e, err := o.FS.Stat(d)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", fmt.Errorf("look at %s: %w", d, err)
		case !e.Dir:
			return "", fmt.Errorf("%s is no directory", d)
		}
		return d, nil
	}
	return "", fmt.Errorf("%s: there is no such directory, nor one to make it in", dir)
}

// probe is a file like a segment of the log that is used again: its blocks are allocated and
// written, so that a sync has no metadata to wait for.
type probe struct {
	fs    vfs.FS
	dir   string
	file  vfs.File // nil until it is made
	size  int64
	at    int64
	noise []byte // what is written: no disk can make it smaller
}

// newProbe makes the probe's directory and file in dir.
func newProbe(f vfs.FS, dir string) (*probe, error) {
	p := &probe{fs: f, dir: filepath.Join(dir, fmt.Sprintf("doctor-%08x", rand.Uint32())), noise: make([]byte, groupOf*largeWrite)}
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(p.noise) // never fails
	if err := f.Mkdir(p.dir); err != nil {
		return nil, fmt.Errorf("%s cannot be written to, so it cannot be measured: %w", dir, err)
	}
	file, err := f.Create(filepath.Join(p.dir, "segment"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s cannot be written to, so it cannot be measured: %w", dir, err), p.remove())
	}
	p.file = file
	return p, nil
}

// remove takes the file and the directory away.
func (p *probe) remove() error {
	var err error
	if p.file != nil {
		err = p.file.Close()
		err = errors.Join(err, p.fs.Remove(filepath.Join(p.dir, "segment")))
	}
	return errors.Join(err, p.fs.Remove(p.dir))
}

// fill writes the file for the first time, as far as it gets in the time.
func (p *probe) fill(ctx context.Context, budget time.Duration) error {
	for start := time.Now(); p.size < leastSegment || p.size < segment && time.Since(start) < budget; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := p.file.WriteAt(p.noise[:largeWrite], p.size); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
		p.size += largeWrite
		if err := p.file.Sync(); err != nil { // now and then, or the last one takes all the time
			return fmt.Errorf("fill: %w", err)
		}
	}
	return nil
}

// run writes and syncs the group over and over, at least once, and returns how long each took.
func (p *probe) run(ctx context.Context, group [][]byte, budget time.Duration, step func(time.Duration)) ([]time.Duration, error) {
	length := int64(len(group) * len(group[0]))
	var took []time.Duration
	for start := time.Now(); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if p.at+length > p.size {
			p.at = 0
		}
		begin := time.Now()
		_, err := p.file.Writev(p.at, group)
		if err == nil {
			err = p.file.Sync()
		}
		if err != nil {
			return nil, fmt.Errorf("measure: %w", err)
		}
		end := time.Now()
		took = append(took, end.Sub(begin))
		p.at += length
		step(end.Sub(start))
		if end.Sub(start) >= budget {
			return took, nil
		}
	}
}

func writes(bytes int, took []time.Duration) Writes {
	slices.Sort(took)
	at := func(q float64) Seconds { return seconds(took[int(q*float64(len(took)-1))]) }
	return Writes{Bytes: bytes, Count: len(took), P50: at(0.5), P99: at(0.99)}
}

func bandwidth(bytes int, took []time.Duration) float64 {
	var sum time.Duration
	for _, t := range took {
		sum += t
	}
	return float64(bytes*len(took)) / max(sum, 1).Seconds()
}
