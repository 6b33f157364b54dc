package block

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"io"
	"sync"

	flatbuffers "github.com/google/flatbuffers/go"

	"mira/storage/column"
	"mira/storage/signal"
	"mira/storage/stage"
)

// Options says how to write a block. The zero value is good.
type Options struct {
	GroupRows int        // rows of a row group, rounded up to a multiple of 64, at most 1 << 20; 0: 65536
	Stages    *stage.Set // counts the time that encoding, compressing and writing take; nil: nobody looks
}

// maxGroupRows bounds what a Reader allocates for one column of one row group.
const maxGroupRows = 1 << 20

// rows returns GroupRows as it is used. A multiple of 64 lets a bitmap be cut between bytes.
func (o Options) rows() int {
	n := o.GroupRows
	if n <= 0 {
		n = 1 << 16
	}
	return (min(n, maxGroupRows) + 63) &^ 63
}

// The bytes at both ends of an Arrow file, and before every message.
const (
	magic        = "ARROW1"
	continuation = 0xFFFFFFFF
)

// zeros are for padding.
var zeros [8]byte

// castagnoli is the polynomial of the sums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode writes the table to w as a block and says what the block is called. It is pure: the
// same table and Options give the same bytes. It holds one compressed row group at a time.
func Encode(w io.Writer, id signal.BlockID, t *column.Table, o Options) (Info, error) {
	fields, err := plan(t)
	if err != nil {
		return Info{}, err
	}
	began := stage.Now()
	e := encoders.Get().(*encoder)
	defer e.release()
	e.begin(w)
	e.codec.set = o.Stages

	e.preamble(fields, id)
	for i, f := range dictionaries(nil, fields) {
		e.dictionary(int64(i), f.col.Dict)
	}
	step := o.rows()
	for from := 0; from < t.Rows && e.err == nil; from += step {
		e.group(fields, from, min(from+step, t.Rows))
	}
	e.ending(fields, id)
	if e.err != nil {
		return Info{}, e.err
	}

	took := stage.Now().Since(began) - e.to.took
	codec := min(e.codec.total(), took)
	o.Stages.Observe(stage.Compress, codec)
	o.Stages.Observe(stage.FileWrite, e.to.took)
	o.Stages.Observe(stage.Encode, took-codec)

	i := Info{ID: id, Bytes: e.at}
	i.Min, i.Max = extent(t, id.Signal)
	copy(i.Hash[:], e.hash.Sum(nil))
	return i, nil
}

// extent returns the places in time of the first and the last record; 0 and 0 without records.
func extent(t *column.Table, s signal.Signal) (first, last uint64) {
	times := t.Times(s)
	for i := range t.Rows {
		at := times.At(i)
		if i == 0 {
			first = at
		}
		first, last = min(first, at), max(last, at)
	}
	return first, last
}

// An encoder writes one file after the other and keeps what it needs for that.
type encoder struct {
	meta meta
	file *bufio.Writer // into hash and the file
	hash hash.Hash
	to   clocked // the file
	err  error   // the first one that file gave

	codec timing
	plain bool // a Stream: no dictionaries, no compression, no sums

	at      int64 // bytes written
	dicts   []message
	groups  []message
	sums    []byte // CRC-32C of everything, little-endian
	raw     []byte // one buffer before it is compressed
	body    []byte // the message being made
	nodes   []node
	buffers []span
}

var encoders = sync.Pool{New: func() any {
	return &encoder{
		meta: meta{flatbuffers.NewBuilder(1 << 14)},
		file: bufio.NewWriterSize(nil, 1<<18),
		hash: sha256.New(),
	}
}}

// begin makes the encoder ready for a new file.
func (e *encoder) begin(w io.Writer) {
	e.hash.Reset()
	e.to = clocked{w: w}
	e.file.Reset(io.MultiWriter(e.hash, &e.to))
	e.err, e.at, e.codec = nil, 0, timing{}
	e.dicts, e.groups, e.sums = e.dicts[:0], e.groups[:0], e.sums[:0]
	e.open()
}

// open makes the encoder ready for a new message.
func (e *encoder) open() {
	e.meta.Reset()
	e.body, e.nodes, e.buffers = e.body[:0], e.nodes[:0], e.buffers[:0]
}

// release gives the encoder to the next block.
func (e *encoder) release() {
	e.file.Reset(nil)
	e.to = clocked{}
	encoders.Put(e)
}

// write appends to the file.
func (e *encoder) write(p []byte) {
	if e.err == nil {
		_, e.err = e.file.Write(p)
	}
	e.at += int64(len(p))
}

// pad fills up to a multiple of 8 bytes.
func (e *encoder) pad() { e.write(zeros[:-e.at&7]) }

// preamble writes what an Arrow file begins with: magic and schema.
func (e *encoder) preamble(fields []field, id signal.BlockID) {
	e.write([]byte(magic))
	e.pad()
	e.message(e.meta.message(headerSchema, e.meta.schema(fields, id.String()), 0))
}

// dictionary writes the values of a dictionary.
func (e *encoder) dictionary(id int64, d *column.Dict) {
	e.open()
	e.node(d.Len(), nil, 0)
	e.spans(d.Offsets)
	e.buffer(d.Data[d.Offsets[0]:d.Offsets[d.Len()]], true)
	batch := e.meta.batch(int64(d.Len()), e.nodes, e.buffers, true)
	header := e.meta.dictionaryBatch(id, batch)
	e.dicts = append(e.dicts, e.sum(e.meta.message(headerDictionary, header, int64(len(e.body)))))
}

// group writes the rows from..to.
func (e *encoder) group(fields []field, from, to int) {
	e.open()
	e.codec.next(to - from)
	for i := range fields {
		e.column(&fields[i], from, to)
	}
	header := e.meta.batch(int64(to-from), e.nodes, e.buffers, true)
	e.groups = append(e.groups, e.sum(e.meta.message(headerBatch, header, int64(len(e.body)))))
}

// sum writes the message in hand and adds its checksums.
func (e *encoder) sum(head []byte) message {
	padded := e.frame(head)
	e.sums = appendSum(e.sums, padded)
	for _, b := range e.buffers {
		e.sums = appendSum(e.sums, e.body[b.at:b.at+b.size])
	}
	m := message{at: e.at, meta: int64(len(padded)), body: int64(len(e.body))}
	e.write(padded)
	e.write(e.body)
	return m
}

// message writes a message without a body.
func (e *encoder) message(head []byte) { e.write(e.frame(head)) }

// frame puts the metadata of a message into its envelope.
func (e *encoder) frame(head []byte) []byte {
	size := (len(head) + 7) &^ 7
	b := binary.LittleEndian.AppendUint32(e.raw[:0], continuation)
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	b = append(b, head...)
	b = append(b, zeros[:size-len(head)]...)
	e.raw = b
	return b
}

// ending writes what comes behind the last message: end of stream, sums, footer.
func (e *encoder) ending(fields []field, id signal.BlockID) {
	e.write([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0})
	e.open()
	foot := e.meta.footer(e.meta.schema(fields, id.String()), e.dicts, e.groups)
	e.write(appendSums(e.raw[:0], e.sums, foot))
	e.write(foot)
	e.write(binary.LittleEndian.AppendUint32(nil, uint32(len(foot))))
	e.write([]byte(magic))
	if e.err == nil {
		e.err = e.file.Flush()
	}
}
