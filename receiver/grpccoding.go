package receiver

import (
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // registers gzip
)

// grpcCodings are the codings of gRPC messages by the names grpc-encoding has for them.
// "snappy" is the framing format there.
var grpcCodings = map[string]*coding{
	"gzip":   codings["gzip"],
	"zstd":   codings["zstd"],
	"snappy": framedCoding,
}

// grpcCodingNames is what grpc-accept-encoding lists.
const grpcCodingNames = "gzip,zstd,snappy,identity"

// grpc-go refuses a grpc-encoding that is not in its one list for the process, and lets that
// list be changed during initialisation only. Export does not use what is registered here,
// health and reflection do.
func init() {
	encoding.RegisterCompressor(compressor{
		"zstd",
		func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) },
		func(r io.Reader) (io.Reader, error) {
			z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
			return z.IOReadCloser(), err
		},
	})
	encoding.RegisterCompressor(compressor{
		"snappy",
		func(w io.Writer) (io.WriteCloser, error) { return snappy.NewBufferedWriter(w), nil },
		func(r io.Reader) (io.Reader, error) { return snappy.NewReader(r), nil },
	})
}

type compressor struct {
	name  string
	write func(io.Writer) (io.WriteCloser, error)
	read  func(io.Reader) (io.Reader, error)
}

func (c compressor) Name() string                                 { return c.name }
func (c compressor) Compress(w io.Writer) (io.WriteCloser, error) { return c.write(w) }
func (c compressor) Decompress(r io.Reader) (io.Reader, error)    { return c.read(r) }
