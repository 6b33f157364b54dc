package main

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// frameBytes is about what the log writes for one lean record: 80 bytes of header, the record
// with its resource, and padding.
const frameBytes = 512

// bareSync returns the median time to write n bytes and fdatasync them, over a file whose blocks
// are written already, as the log's recycled segments are.
func bareSync(dir string, n int) (time.Duration, error) {
	name := filepath.Join(dir, "bare")
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer os.Remove(name)
	defer f.Close()
	if _, err := f.Write(make([]byte, 4<<20)); err != nil {
		return 0, err
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	b := make([]byte, n)
	var took []time.Duration
	for i := range 2000 {
		b[0] = byte(i)
		start := time.Now()
		if _, err := f.WriteAt(b, int64(i*n%(4<<20))); err != nil {
			return 0, err
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
