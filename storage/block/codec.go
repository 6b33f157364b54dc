package block

import (
	"runtime"

	"github.com/klauspost/compress/zstd"
)

// The codecs are safe for concurrent use, as many calls at a time as there are codecs in them; one
// more waits. They are made with the program and not when first needed, because a channel that is
// made inside a testing/synctest bubble belongs to that bubble for ever.
var (
	compressor   = newEncoder()
	decompressor = newDecoder()
)

// codecs is more than the CPUs, since a block being published may have to wait for one being read.
func codecs() int { return max(8, 2*runtime.NumCPU()) }

func newEncoder() *zstd.Encoder {
	z, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithAllLitEntropyCompression(true), // a fifth smaller for nothing
		zstd.WithEncoderCRC(true),               // for readers that do not know the sums
		zstd.WithWindowSize(1<<19),              // a larger one takes memory and finds no more
		zstd.WithEncoderConcurrency(codecs()))
	if err != nil {
		panic(err) // the options are constant
	}
	z.EncodeAll([]byte{0}, nil) // makes its codecs, which it would put off
	return z
}

func newDecoder() *zstd.Decoder {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(codecs()), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are constant
	}
	return z
}
