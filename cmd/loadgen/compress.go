package main

import (
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// resettable is a compressing writer that can be used again.
type resettable interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// compressors keeps encoders between requests: setting one up costs more than a
// small request. zstd runs at its fastest level, gzip at the collector's default.
var compressors = map[string]*sync.Pool{
	"gzip": {New: func() any { return gzip.NewWriter(nil) }},
	"zstd": {New: func() any {
		z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err) // only wrong options can fail
		}
		return z
	}},
}

// pooled goes back to its pool when it is closed.
type pooled struct {
	resettable
	name string
}

// Close ends the stream.
func (p pooled) Close() error {
	err := p.resettable.Close()
	compressors[p.name].Put(p.resettable)
	return err
}
