package receiver

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// errFull says that the decoded body does not fit the room it was given.
var errFull = errors.New("decoded body does not fit")

// maxWindow bounds what a zstd frame may make us remember; the largest window of the usual
// levels.
const maxWindow = 32 << 20

// coding is one content coding.
type coding struct {
	// into appends the decoded src to dst, never beyond its capacity: then errFull.
	into func(dst, src []byte) ([]byte, error)
	// open decodes src as a stream, to measure it; done gives the decoder back. nil: into
	// knows the size from the first bytes, nothing is to be measured.
	open func(src *bytes.Reader) (r io.Reader, done func(), err error)
	// hint guesses the decoded size. It may lie.
	hint func(src []byte) int
	// memory and window are what the decoders of into and open take themselves, if that is
	// worth counting.
	memory, window int
}

// codings are the content codings, by their lower-case names. Identity is not among them.
var codings = map[string]*coding{
	"gzip":            gzipCoding,
	"x-gzip":          gzipCoding,
	"zstd":            {into: zstdInto, open: zstdOpen, hint: zstdHint, window: maxWindow},
	"deflate":         zlibCoding, // RFC 9110: "deflate" is the zlib format
	"zlib":            zlibCoding,
	"snappy":          {into: snappyInto, open: snappyOpen, hint: snappyHint},
	"x-snappy-framed": framedCoding,
	"lz4":             lz4Coding,
}

var (
	gzipCoding   = streamed(gzipOpen, gzipHint)
	zlibCoding   = streamed(zlibOpen, times(16))
	framedCoding = streamed(framedOpen, snappyTimes)
	lz4Coding    = &coding{
		into: streamed(lz4Open, nil).into, open: lz4Open, hint: times(8),
		memory: 8 << 20, window: 8 << 20, // a block of 4 MiB, compressed and not
	}
)

// codingNames is what an answer to an unknown coding lists.
const codingNames = "gzip, zstd, deflate, zlib, snappy, x-snappy-framed, lz4, identity"

// findCoding returns the coding of a Content-Encoding header; nil is identity.
func findCoding(name string) (*coding, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" || name == "identity" {
		return nil, nil
	}
	if c, ok := codings[name]; ok {
		return c, nil
	}
	return nil, fmt.Errorf("%w %q: want one of %s", errCoding, cut(name, 64), codingNames)
}

// streamed is a coding that has only a streaming decoder.
func streamed(open func(*bytes.Reader) (io.Reader, func(), error), hint func([]byte) int) *coding {
	into := func(dst, src []byte) ([]byte, error) {
		r, done, err := open(bytes.NewReader(src))
		if err != nil {
			return dst, err
		}
		dst, err = readInto(dst, r)
		if err == nil || errors.Is(err, errFull) {
			done() // a decoder that failed is not used again
		}
		return dst, err
	}
	return &coding{into: into, open: open, hint: hint}
}

// readInto reads r to its end, into the capacity of dst.
func readInto(dst []byte, r io.Reader) ([]byte, error) {
	for len(dst) < cap(dst) {
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if errors.Is(err, io.EOF) {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return dst, errFull
	case errors.Is(err, io.EOF):
		return dst, nil
	default:
		return dst, err
	}
}

// times guesses the size of telemetry by how well a coding usually does on it. Too much costs
// room for a moment, too little a second decoding.
func times(factor int) func(src []byte) int {
	return func(src []byte) int { return factor * len(src) }
}

var gzipReaders sync.Pool // of *gzip.Reader

func gzipOpen(src *bytes.Reader) (io.Reader, func(), error) {
	z, ok := gzipReaders.Get().(*gzip.Reader)
	if !ok {
		z = new(gzip.Reader)
	}
	if err := z.Reset(src); err != nil {
		return nil, nil, err
	}
	return z, func() { gzipReaders.Put(z) }, nil
}

// gzipHint reads the size at the end of the last member.
func gzipHint(src []byte) int {
	if len(src) < 18 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(src[len(src)-4:]))
}

var zlibReaders sync.Pool // of io.ReadCloser that is a zlib.Resetter

func zlibOpen(src *bytes.Reader) (io.Reader, func(), error) {
	z, ok := zlibReaders.Get().(io.ReadCloser)
	var err error
	if ok {
		err = z.(zlib.Resetter).Reset(src, nil)
	} else {
		z, err = zlib.NewReader(src)
	}
	if err != nil {
		return nil, nil, err
	}
	return &exact{z, src}, func() { zlibReaders.Put(z) }, nil
}

// exact is a decoder that must use up its source: zlib stops at the end of its stream and
// says nothing of what follows.
type exact struct {
	io.Reader
	src *bytes.Reader
}

func (e *exact) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if errors.Is(err, io.EOF) && e.src.Len() > 0 {
		return n, fmt.Errorf("%d bytes after the end of the stream", e.src.Len())
	}
	return n, err
}

// zstdAll decodes whole bodies into given room. Frames whose window is over maxWindow are
// refused from their header.
var zstdAll = sync.OnceValue(func() *zstd.Decoder {
	return newZstd(zstd.WithDecodeAllCapLimit(true))
})

var zstdReaders = sync.Pool{New: func() any {
	return newZstd(zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
}}

func newZstd(o ...zstd.DOption) *zstd.Decoder {
	d, err := zstd.NewReader(nil, append(o, zstd.WithDecoderMaxWindow(maxWindow))...)
	if err != nil {
		panic(err) // only wrong options do that
	}
	return d
}

func zstdInto(dst, src []byte) ([]byte, error) {
	if len(src) == 0 {
		return dst, io.ErrUnexpectedEOF
	}
	out, err := zstdAll().DecodeAll(src, dst)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return dst, errFull
	}
	return out, err
}

func zstdOpen(src *bytes.Reader) (io.Reader, func(), error) {
	z := zstdReaders.Get().(*zstd.Decoder)
	if err := z.Reset(src); err != nil {
		return nil, nil, err
	}
	return z, func() {
		_ = z.Reset(nil)
		zstdReaders.Put(z)
	}, nil
}

// zstdHint reads the content size of the first frame.
func zstdHint(src []byte) int {
	var h zstd.Header
	if err := h.Decode(src); err != nil || !h.HasFCS || h.FrameContentSize > 1<<32 {
		return 16 * len(src)
	}
	return int(h.FrameContentSize)
}

// framedStart is the stream identifier of the snappy framing format; no block begins so.
const framedStart = "\xff\x06\x00\x00sNaPpY"

// framed tells the framing format, in which nothing is no bytes at all.
func framed(src []byte) bool { return len(src) == 0 || bytes.HasPrefix(src, []byte(framedStart)) }

// snappyInto decodes a block, or the framing format, which old senders use under the name of
// the block.
func snappyInto(dst, src []byte) ([]byte, error) {
	if framed(src) {
		return framedCoding.into(dst, src)
	}
	n, err := snappyLen(src, len(src))
	if err != nil {
		return dst, err
	}
	if n > cap(dst)-len(dst) {
		return dst, errFull
	}
	_, err = snappy.Decode(dst[len(dst):len(dst)+n], src)
	return dst[:len(dst)+n], err
}

// snappyLen returns the size that a block of that length declares in its start, if so few bytes can hold it: an element of
// a block is at least two bytes and stands for at most 64.
func snappyLen(start []byte, length int) (int, error) {
	n, err := snappy.DecodedLen(start)
	if err == nil && n > 32*length {
		return n, errors.New("block declares more than it can hold")
	}
	return n, err
}

func snappyHint(src []byte) int {
	if framed(src) {
		return snappyTimes(src)
	}
	n, _ := snappyLen(src, len(src))
	return n
}

// snappyOpen is asked only to measure: a block knows its length.
func snappyOpen(src *bytes.Reader) (io.Reader, func(), error) {
	var start [len(framedStart)]byte
	n, _ := src.ReadAt(start[:], 0)
	if framed(start[:n]) {
		return framedOpen(src)
	}
	size, err := snappyLen(start[:n], src.Len())
	return io.LimitReader(zeros{}, int64(size)), func() {}, err
}

// zeros stands for the content of a block of known length.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

var snappyTimes = times(8)

var framedReaders = sync.Pool{New: func() any { return snappy.NewReader(nil) }}

func framedOpen(src *bytes.Reader) (io.Reader, func(), error) {
	z := framedReaders.Get().(*snappy.Reader)
	z.Reset(src)
	return z, func() {
		z.Reset(nil)
		framedReaders.Put(z)
	}, nil
}

var lz4Readers = sync.Pool{New: func() any { return lz4.NewReader(nil) }}

func lz4Open(src *bytes.Reader) (io.Reader, func(), error) {
	z := lz4Readers.Get().(*lz4.Reader)
	z.Reset(src)
	return &exact{z, src}, func() {
		z.Reset(nil)
		lz4Readers.Put(z)
	}, nil
}
