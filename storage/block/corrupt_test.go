package block

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"mira/storage/column"
	"mira/storage/signal"
	"mira/storage/vfs"
)

// put makes a file out of bytes, under the name of a block.
func put(t testing.TB, i Info, b []byte) vfs.FS {
	t.Helper()
	mem := vfs.NewMem()
	if err := vfs.MkdirAll(mem, "blocks/"+i.Dir()); err != nil {
		t.Fatal(err)
	}
	f, err := mem.Create("blocks/" + i.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return mem
}

// small returns a small block with columns of every form.
func small(t testing.TB) (*column.Table, Info, []byte) {
	t.Helper()
	const n = 12
	all := plainColumns(n, 3)
	event := func(n int) column.Column {
		return column.Column{Type: column.Struct, Len: n, Valid: nullEvery(n, 3), Fields: plainColumns(n, 3)[9:10]}
	}
	table := &column.Table{Rows: n, Columns: append(all[:3:3], all[4], all[5], all[6], all[8], all[9], lists("events", n, 3, event))}
	var b bytes.Buffer
	i, err := Encode(&b, testID, table, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return table, i, b.Bytes()
}

// wantDamage fails the test when the error is not a *CorruptError about the block.
func wantDamage(t *testing.T, what string, i Info, err error) {
	t.Helper()
	if bad, ok := errors.AsType[*CorruptError](err); !ok || bad.File != i.Path() || bad.Offset < 0 {
		t.Errorf("%s: got %v", what, err)
	}
}

func TestEveryDamagedByteIsFound(t *testing.T) {
	table, i, b := small(t)
	for at := range b {
		for _, x := range []byte{0x01, 0xFF} {
			b[at] ^= x
			fs := put(t, i, b)
			wantDamage(t, "Verify", i, Verify(fs, "blocks", i))
			if r, err := Open(fs, "blocks", i); err != nil {
				wantDamage(t, "Open", i, err)
			} else if got, err := r.Group(0, nil); err != nil {
				wantDamage(t, "Group", i, err)
			} else {
				sameTable(t, got, table, 0) // the byte is one that no Reader takes
			}
			b[at] ^= x
		}
	}
}

func TestShortFileIsDamage(t *testing.T) {
	_, i, b := small(t)
	for n := range len(b) {
		fs := put(t, i, b[:n])
		wantDamage(t, "Verify", i, Verify(fs, "blocks", i))
		_, err := Open(fs, "blocks", i)
		wantDamage(t, "Open", i, err)
		unknown := i
		unknown.Bytes = 0
		_, err = Open(fs, "blocks", unknown)
		wantDamage(t, "Open", i, err)
	}
	_, err := Open(put(t, i, append(b, 0)), "blocks", i)
	wantDamage(t, "Open of a longer file", i, err)
}

func TestBlockUnderAnotherNameIsDamage(t *testing.T) {
	_, i, b := small(t)
	i.ID.Signal = signal.Traces
	_, err := Open(put(t, i, b), "blocks", i)
	wantDamage(t, "Open", i, err)
}

func TestNewerFormatIsNotDamage(t *testing.T) {
	_, i, b := small(t)
	one, two := []byte("\x01\x00\x00\x001\x00\x00\x00"), []byte("\x01\x00\x00\x002\x00\x00\x00")
	b = bytes.ReplaceAll(b, one, two)
	reseal(b)
	_, err := Open(put(t, i, b), "blocks", i)
	if damaged := new(CorruptError); !errors.Is(err, ErrFormat) || errors.As(err, &damaged) {
		t.Errorf("got %v", err)
	}
}

// Somebody who can write files can also make the sums right. Then there are no wrong answers,
// but there may be no panic and no wild allocation either.
func TestSealedNonsenseIsAnErrorOrATable(t *testing.T) {
	_, i, b := small(t)
	try := make([]byte, len(b))
	for at := range b {
		for _, x := range []byte{0x01, 0x80, 0xFF, b[at]} {
			copy(try, b)
			try[at] ^= x
			reseal(try)
			if err := readAll(t, put(t, i, try), i); err != nil && !errors.Is(err, ErrFormat) {
				wantDamage(t, "read", i, err)
			}
		}
	}
}

// reseal makes the sums of a block right, as far as it has any order.
func reseal(b []byte) {
	if len(b) < headSize+sumsEnd+tailSize {
		return
	}
	size := uint64(binary.LittleEndian.Uint32(b[len(b)-tailSize:]))
	if size > uint64(len(b)-headSize-sumsEnd-tailSize) {
		return
	}
	footAt := len(b) - tailSize - int(size)
	n := uint64(binary.LittleEndian.Uint32(b[footAt-sumsEnd:]))
	if n > uint64(footAt-sumsEnd-headSize)/4 {
		return
	}
	sumsAt := footAt - sumsEnd - 4*int(n)
	sums := b[sumsAt : footAt-sumsEnd]
	if foot, err := parseFooter(b[footAt : len(b)-tailSize]); err == nil {
		for _, m := range foot.dictAt {
			sums = resealMessage(sums, b, m, headerDictionary, 1, dictionaryBuffers)
		}
		var all place
		for i := range foot.fields {
			all.node, all.buffer = all.node+foot.fields[i].nodes(), all.buffer+foot.fields[i].buffers()
		}
		for _, m := range foot.groups {
			sums = resealMessage(sums, b, m, headerBatch, all.node, all.buffer)
		}
	}
	sum := crc32.Checksum(b[sumsAt:footAt-4], castagnoli)
	sum = crc32.Update(sum, castagnoli, b[footAt:len(b)-tailSize])
	binary.LittleEndian.PutUint32(b[footAt-4:], sum)
}

// resealMessage makes the sums of a message right and returns those behind them.
func resealMessage(sums, b []byte, m message, code uint8, nodes, buffers int) []byte {
	if len(sums) < 4*(1+buffers) || !m.within(int64(len(b))) {
		return nil
	}
	head := b[m.at:][:m.meta]
	binary.LittleEndian.PutUint32(sums, crc32.Checksum(head, castagnoli))
	if t, err := parseMessage(head, code, m.body); err == nil {
		if code == headerDictionary {
			t, _ = t.table(1)
		}
		if parts, err := parseBatch(t, nodes, buffers, m.body); err == nil {
			for i, s := range parts.buffers {
				body := b[m.at+m.meta:][s.at:][:s.size]
				binary.LittleEndian.PutUint32(sums[4*(1+i):], crc32.Checksum(body, castagnoli))
			}
		}
	}
	return sums[4*(1+buffers):]
}

func FuzzOpen(f *testing.F) {
	_, i, b := small(f)
	i.Bytes = 0
	f.Add(b)
	f.Add(encode(f, &column.Table{}, Options{}))
	f.Add(encode(f, &column.Table{Rows: 3, Columns: plainColumns(3, 0)[:3]}, Options{}))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Clone(b)
		for range 2 { // as it is, and with the sums right
			fs := put(t, i, b)
			if err := readAll(t, fs, i); err != nil && !errors.Is(err, ErrFormat) {
				wantDamage(t, "read", i, err)
			}
			reseal(b)
		}
	})
}
