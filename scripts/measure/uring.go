package main

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// uringProbe compares how the log writes a group, a vectored write and then a sync, with the same
// two as linked entries of an io_uring: one system call instead of two.
func uringProbe(b *bench) (list []cell, err error) {
	r, denied := newRing()
	if denied == nil {
		r.close()
	}
	for _, size := range few(b, []int{4 << 10, 64 << 10, 1 << 20}, []int{4 << 10}) {
		c := cell{
			name: fmt.Sprintf("%d KiB", size>>10), shown: []string{ackP50, ackP99, "MB/s", "CPU us a write"},
			arms: []arm{{"pwritev + fdatasync", inProcess(func(b *bench, dir string) (map[string]float64, error) {
				return vectored(b, dir, size)
			})}},
		}
		if denied != nil {
			c.name += fmt.Sprintf(" (io_uring is not permitted here: %v)", denied)
		} else {
			c.arms = append(c.arms, arm{"io_uring", inProcess(func(b *bench, dir string) (map[string]float64, error) {
				return linked(b, dir, size)
			})})
		}
		list = append(list, c)
	}
	return list, nil
}

func vectored(b *bench, dir string, size int) (map[string]float64, error) {
	f, err := writtenFile(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	vec := [][]byte{make([]byte, 80), make([]byte, size-80)}
	return timed(b.length, int64(size), func(off int64) error {
		n, err := unix.Pwritev(int(f.Fd()), vec, off)
		if err == nil && n < size {
			err = fmt.Errorf("wrote %d of %d bytes", n, size)
		}
		if err != nil {
			return err
		}
		return unix.Fdatasync(int(f.Fd()))
	})
}

func linked(b *bench, dir string, size int) (map[string]float64, error) {
	f, err := writtenFile(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := newRing()
	if err != nil {
		return nil, err
	}
	defer r.close()
	head, body := make([]byte, 80), make([]byte, size-80)
	vec := []unix.Iovec{{Base: &head[0], Len: 80}, {Base: &body[0], Len: uint64(len(body))}}
	return timed(b.length, int64(size), func(off int64) error { return r.writeAndSync(f, vec, off, int32(size)) })
}

// The kernel's names for what is used of io_uring.
const (
	sysSetup, sysEnter      = 425, 426
	offsetCQ, offsetSQEs    = 0x8000000, 0x10000000
	enterGetEvents          = 1
	opWritev, opFsync       = 2, 3
	linkNext, fsyncDataSync = 4, 1
)

type ringOffsets struct {
	Head, Tail, Mask, Entries, A, B, C, D uint32 // A to D differ between the two rings
	User                                  uint64
}

type ringParams struct {
	SQEntries, CQEntries, Flags, Thread, Idle, Features, WQ uint32
	Reserved                                                [3]uint32
	SQ, CQ                                                  ringOffsets
}

type submission struct {
	Op, Flags uint8
	Priority  uint16
	FD        int32
	Off, Addr uint64
	Len, Mode uint32
	User      uint64
	_         [3]uint64
}

type completion struct {
	User   uint64
	Result int32
	Flags  uint32
}

// ring is an io_uring of a few entries, for one goroutine.
type ring struct {
	fd           int
	sq, cq, mem  []byte // the three mappings
	params       ringParams
	sqes         []submission
	next, seenCQ uint32
}

func newRing() (*ring, error) {
	r := &ring{}
	fd, _, errno := unix.Syscall(sysSetup, 8, uintptr(unsafe.Pointer(&r.params)), 0)
	if errno != 0 {
		return nil, os.NewSyscallError("io_uring_setup", errno)
	}
	r.fd = int(fd)
	p := &r.params
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	var errs [3]error
	r.sq, errs[0] = unix.Mmap(r.fd, 0, int(p.SQ.C+p.SQEntries*4), prot, flags) // C: where the array begins
	r.cq, errs[1] = unix.Mmap(r.fd, offsetCQ, int(p.CQ.B+p.CQEntries*16), prot, flags)
	r.mem, errs[2] = unix.Mmap(r.fd, offsetSQEs, int(p.SQEntries)*64, prot, flags)
	for _, err := range errs {
		if err != nil {
			r.close()
			return nil, err
		}
	}
	r.sqes = unsafe.Slice((*submission)(unsafe.Pointer(&r.mem[0])), p.SQEntries)
	return r, nil
}

func (r *ring) close() {
	for _, m := range [][]byte{r.sq, r.cq, r.mem} {
		if m != nil {
			unix.Munmap(m)
		}
	}
	unix.Close(r.fd)
}

func word(m []byte, off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&m[off])) }

// push puts one entry into the submission ring.
func (r *ring) push(s submission) {
	at := r.next & *word(r.sq, r.params.SQ.Mask)
	r.sqes[at] = s
	*word(r.sq, r.params.SQ.C+4*at) = at
	r.next++
	atomic.StoreUint32(word(r.sq, r.params.SQ.Tail), r.next)
}

// writeAndSync submits both, linked, and waits for both.
func (r *ring) writeAndSync(f *os.File, vec []unix.Iovec, off int64, size int32) error {
	fd := int32(f.Fd())
	r.push(submission{Op: opWritev, Flags: linkNext, FD: fd, Off: uint64(off), Addr: uint64(uintptr(unsafe.Pointer(&vec[0]))), Len: uint32(len(vec))})
	r.push(submission{Op: opFsync, FD: fd, Mode: fsyncDataSync, User: 1})
	// A signal, such as the runtime sends to preempt, ends the wait early and without an error.
	for atomic.LoadUint32(word(r.cq, r.params.CQ.Tail))-r.seenCQ < 2 {
		left := r.next - atomic.LoadUint32(word(r.sq, r.params.SQ.Head))
		_, _, errno := unix.Syscall6(sysEnter, uintptr(r.fd), uintptr(left), 2, enterGetEvents, 0, 0)
		if errno != 0 && errno != unix.EINTR {
			return os.NewSyscallError("io_uring_enter", errno)
		}
	}
	want := [2]int32{size, 0}
	for range 2 {
		at := r.seenCQ & *word(r.cq, r.params.CQ.Mask)
		c := *(*completion)(unsafe.Pointer(&r.cq[r.params.CQ.B+16*at])) // B: where the entries begin
		if c.Result != want[c.User] {
			return fmt.Errorf("io_uring: entry %d: result %d, want %d", c.User, c.Result, want[c.User])
		}
		r.seenCQ++
	}
	atomic.StoreUint32(word(r.cq, r.params.CQ.Head), r.seenCQ)
	return nil
}
