package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"sync"

	"mira/storage/column"
	"mira/storage/vfs"
)

// Reader reads one block. It is safe for concurrent use.
type Reader struct {
	file   vfs.File
	name   string // for errors
	foot   *footer
	first  []place // where the parts of every column begin
	dicts  []dictionary
	groups []group
	sums   []byte
	rows   int
}

// place counts what is before a column in a batch.
type place struct{ node, buffer int }

// group is a row group.
type group struct {
	message
	batch
	sum int // of its metadata; those of its buffers follow
}

// dictionary is the dictionary of one column, read when it is needed first.
type dictionary struct {
	message
	mu     sync.Mutex // held while it is read
	values *column.Dict
}

// The parts of the end of a file.
const (
	tailSize = 4 + len(magic) // length of the footer, magic
	headSize = 8
	guess    = 1 << 15 // bytes at the end that most likely have sums and footer
)

// Open opens the block that i names below root, for reading. It reads the footer and the
// metadata of the row groups, and checks them, but not the values: see Verify. The error is a
// *CorruptError if the file is not what its name says, and wraps ErrFormat if it is but this
// version cannot read it.
func Open(fs vfs.FS, root string, i Info) (*Reader, error) {
	f, err := fs.Open(filepath.Join(root, filepath.FromSlash(i.Path())))
	if err != nil {
		return nil, fmt.Errorf("open block: %w", err)
	}
	r := &Reader{file: f, name: i.Path()}
	if err := r.open(i); err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return r, nil
}

// open reads all that is not values.
func (r *Reader) open(i Info) error {
	size, err := r.file.Size()
	if err != nil {
		return fmt.Errorf("open block %s: %w", r.name, err)
	}
	if i.Bytes != 0 && i.Bytes != size {
		return r.corrupt(min(size, i.Bytes), fmt.Errorf("%d bytes, want %d", size, i.Bytes))
	}
	sumsAt, err := r.tail(size)
	if err != nil {
		return err
	}
	if r.foot.block != i.ID.String() {
		return r.corrupt(sumsAt, fmt.Errorf("it is block %q", r.foot.block))
	}
	return r.messages(sumsAt)
}

// tail reads sums and footer and returns where they begin.
func (r *Reader) tail(size int64) (int64, error) {
	if size < headSize+sumsEnd+int64(tailSize) {
		return 0, r.corrupt(size, fmt.Errorf("%d bytes are no block", size))
	}
	b, err := r.read(nil, max(0, size-guess), min(size, guess))
	if err != nil {
		return 0, err
	}
	if string(b[len(b)-len(magic):]) != magic {
		return 0, r.corrupt(size-int64(len(magic)), errors.New("it does not end as a block"))
	}
	foot := int64(binary.LittleEndian.Uint32(b[len(b)-tailSize:]))
	if foot > size-headSize-sumsEnd-int64(tailSize) {
		return 0, r.corrupt(size-int64(tailSize), fmt.Errorf("footer of %d bytes", foot))
	}
	if b, err = r.more(b, size, foot+sumsEnd+int64(tailSize)); err != nil {
		return 0, err
	}
	footAt := size - int64(tailSize) - foot
	n := int64(binary.LittleEndian.Uint32(b[len(b)-tailSize-int(foot)-sumsEnd:]))
	if n > (footAt-sumsEnd-headSize)/4 {
		return 0, r.corrupt(footAt-sumsEnd, fmt.Errorf("%d checksums", n))
	}
	if b, err = r.more(b, size, 4*n+foot+sumsEnd+int64(tailSize)); err != nil {
		return 0, err
	}
	b = b[len(b)-int(4*n+foot)-sumsEnd-tailSize : len(b)-tailSize]
	return footAt - sumsEnd - 4*n, r.checked(b, int(n), footAt)
}

// more makes b, which is the end of the file, at least want bytes long.
func (r *Reader) more(b []byte, size, want int64) ([]byte, error) {
	if int64(len(b)) >= want {
		return b, nil
	}
	return r.read(nil, size-want, want)
}

// checked takes n sums and the footer, which are b.
func (r *Reader) checked(b []byte, n int, footAt int64) error {
	sums, end := b[:4*n], 4*n+4
	foot := b[end+4:]
	sum := crc32.Update(crc32.Checksum(b[:end], castagnoli), castagnoli, foot)
	if sum != binary.LittleEndian.Uint32(b[end:]) {
		return r.corrupt(footAt, errSum)
	}
	t, err := parseFooter(foot)
	if errors.Is(err, ErrFormat) {
		return fmt.Errorf("block %s: %w", r.name, err)
	}
	if err != nil {
		return r.corrupt(footAt, err)
	}
	r.foot, r.sums = t, sums
	return nil
}

// messages reads the metadata of the row groups. All messages end before end.
func (r *Reader) messages(end int64) error {
	var all place
	for i := range r.foot.fields {
		f := &r.foot.fields[i]
		r.first = append(r.first, all)
		all.node, all.buffer = all.node+f.nodes(), all.buffer+f.buffers()
	}
	r.first = append(r.first, all)

	sums := dictionarySums*len(r.foot.dictAt) + len(r.foot.groups)*(1+all.buffer)
	if n := len(r.sums) / 4; n != sums+sums&1 {
		return r.corrupt(end, fmt.Errorf("%d checksums, want %d", n, sums))
	}
	r.dicts = make([]dictionary, len(r.foot.dictAt))
	for i, m := range r.foot.dictAt {
		if r.dicts[i].message = m; !m.within(end) {
			return r.corrupt(end, fmt.Errorf("dictionary %d lies outside", i))
		}
	}
	r.groups = make([]group, len(r.foot.groups))
	for i, m := range r.foot.groups {
		if !m.within(end) {
			return r.corrupt(end, fmt.Errorf("row group %d lies outside", i))
		}
		g := &r.groups[i]
		g.message, g.sum = m, dictionarySums*len(r.dicts)+i*(1+all.buffer)
		if err := r.group(g, all); err != nil {
			return err
		}
		r.rows += g.rows
	}
	return nil
}

// within reports whether a message may be where it claims to be.
func (m message) within(end int64) bool {
	return m.at >= headSize && m.meta >= 16 && m.body >= 0 && m.at <= end && m.meta <= end-m.at && m.body <= end-m.at-m.meta
}

// group reads the metadata of a row group.
func (r *Reader) group(g *group, all place) error {
	b, err := r.read(nil, g.at, g.meta)
	if err != nil {
		return err
	}
	if err := checkSum(r.sums, g.sum, b); err != nil {
		return r.corrupt(g.at, err)
	}
	t, err := parseMessage(b, headerBatch, g.body)
	if err != nil {
		return r.corrupt(g.at, err)
	}
	if g.batch, err = parseBatch(t, all.node, all.buffer, g.body); err != nil {
		return r.corrupt(g.at, err)
	}
	if g.rows > maxGroupRows {
		return r.corrupt(g.at, fmt.Errorf("row group of %d rows", g.rows))
	}
	return nil
}

// read reads n bytes, which must be there, into b or a larger slice.
func (r *Reader) read(b []byte, at, n int64) ([]byte, error) {
	if int64(cap(b)) < n {
		b = make([]byte, n)
	}
	b = b[:n]
	got, err := r.file.ReadAt(b, at)
	switch {
	case int64(got) == n:
		return b, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, r.corrupt(at+int64(got), io.ErrUnexpectedEOF)
	}
	return nil, fmt.Errorf("read block %s: %w", r.name, err)
}

// corrupt makes a *CorruptError.
func (r *Reader) corrupt(at int64, err error) error {
	return &CorruptError{File: r.name, Offset: at, Err: err}
}

// Rows returns the number of records in the block.
func (r *Reader) Rows() int { return r.rows }

// Groups returns the number of row groups.
func (r *Reader) Groups() int { return len(r.groups) }

// GroupRows returns the number of records in row group i.
func (r *Reader) GroupRows(i int) int { return r.groups[i].rows }

// Fields returns the schema: columns that have a Name, Level, Kind, Key, Type, Width, Elem and
// Fields, but no values. The slice is shared.
func (r *Reader) Fields() []column.Column { return r.foot.columns }

// Close closes the file. Tables read before stay valid.
func (r *Reader) Close() error { return r.file.Close() }
