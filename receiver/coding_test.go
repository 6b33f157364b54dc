package receiver

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"mira/storage/signal"
)

// encodings returns body under every name and form of a content coding.
func encodings(t testing.TB, body []byte) map[string][]byte {
	t.Helper()
	through := func(open func(io.Writer) (io.WriteCloser, error)) []byte {
		var b bytes.Buffer
		w, err := open(&b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = w.Write(body); err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	gz := through(func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
	zl := through(func(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w), nil })
	fr := through(func(w io.Writer) (io.WriteCloser, error) { return snappy.NewBufferedWriter(w), nil })
	return map[string][]byte{
		"gzip": gz, "GZIP": gz, "x-gzip": gz,
		"deflate": zl, "zlib": zl,
		"zstd":   through(func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) }),
		"snappy": snappy.Encode(nil, body), "Snappy": fr, "x-snappy-framed": fr,
		"lz4": through(func(w io.Writer) (io.WriteCloser, error) { return lz4.NewWriter(w), nil }),
	}
}

func TestEveryCodingInflates(t *testing.T) {
	for _, n := range []int{1, 50, 200_000} { // the last does not fit the first guess
		pb, _ := sample(t, signal.Logs, n)
		d := open(t, &fakeSink{}, Options{})
		for name, body := range encodings(t, pb) {
			a := d.post(t, "/v1/logs", bytes.NewReader(body), "Content-Type", mediaProtobuf, "Content-Encoding", name)
			if a.code != 200 {
				t.Errorf("%s of %d bytes: got %d %s", name, len(pb), a.code, a.body)
				continue
			}
			got := d.sink.stored()
			if last := got[len(got)-1]; last.Records != n || !bytes.Equal(last.Payload, pb) {
				t.Errorf("%s: stored %d records of %d", name, last.Records, n)
			}
		}
		if used := d.receiving.used() + d.inflating.used(); used != 0 {
			t.Errorf("%d bytes of budget are lost", used)
		}
	}
}

func TestSeveralStreamsInOneBodyAreOne(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 2)
	first, second := encodings(t, pb[:10]), encodings(t, pb[10:])
	d := open(t, &fakeSink{}, Options{})
	for _, name := range []string{"gzip", "zstd", "x-snappy-framed", "lz4"} {
		body := append(bytes.Clone(first[name]), second[name]...)
		if a := d.post(t, "/v1/logs", bytes.NewReader(body), "Content-Type", mediaProtobuf, "Content-Encoding", name); a.code != 200 {
			t.Errorf("%s: got %d %s", name, a.code, a.body)
		}
	}
	for name, body := range encodings(t, nil) {
		if a := d.post(t, "/v1/logs", bytes.NewReader(body), "Content-Type", mediaProtobuf, "Content-Encoding", name); a.code != 200 {
			t.Errorf("%s of nothing: got %d %s", name, a.code, a.body)
		}
	}
}

func TestDamagedCompressionIsABadRequest(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 50)
	d := open(t, &fakeSink{}, Options{})
	for name, body := range encodings(t, pb) {
		flipped := bytes.Clone(body)
		flipped[len(flipped)-3] ^= 0x40
		for kind, bad := range map[string][]byte{
			"cut":     body[:len(body)-1],
			"halved":  body[:len(body)/2],
			"garbage": append(bytes.Clone(body), "garbage at the end"...),
			"a byte":  append(bytes.Clone(body), 'x'),
			"empty":   {},
			"flipped": flipped,
			"plain":   pb,
		} {
			a := d.post(t, "/v1/logs", bytes.NewReader(bad), "Content-Type", mediaProtobuf, "Content-Encoding", name)
			if kind == "empty" && (strings.Contains(strings.ToLower(name), "snappy") || name == "lz4") {
				continue // no bytes are what these formats make of nothing
			}
			if a.code != 400 {
				// A flipped bit in a literal of a format without a checksum is another body.
				if kind == "flipped" && strings.EqualFold(name, "snappy") && a.code == 200 {
					continue
				}
				t.Errorf("%s, %s: got %d %s, want 400", name, kind, a.code, a.body)
			}
		}
	}
}

func TestBombsCostAboutTheLimit(t *testing.T) {
	const limit = 16 << 20
	d := open(t, &fakeSink{}, Options{MaxRequestBytes: limit, ReceiveBytes: 256 << 20, AdmitWait: time.Minute})
	bombs := encodings(t, make([]byte, 2*limit))
	for _, name := range []string{"gzip", "zstd", "deflate", "snappy", "x-snappy-framed", "lz4"} {
		body := bombs[name]
		runtime.GC()
		var base runtime.MemStats
		runtime.ReadMemStats(&base)
		var peak atomic.Uint64
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				a := d.post(t, "/v1/logs", bytes.NewReader(body), "Content-Type", mediaProtobuf, "Content-Encoding", name)
				if a.code != 413 {
					t.Errorf("%s: got %d, want 413", name, a.code)
				}
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapInuse))
			})
		}
		all.Wait()
		spent := int64(peak.Load()) - int64(base.HeapInuse)
		if most := int64(6*limit + 2*16*len(body)); spent > most {
			t.Errorf("%s: %d bytes became %d MiB of heap, want at most %d", name, len(body), spent>>20, most>>20)
		}
	}
	if used := d.inflating.used(); used != 0 {
		t.Errorf("%d bytes of budget are lost", used)
	}
}

func TestHugeClaimsAreRefusedFromTheHeader(t *testing.T) {
	fourGiB := binary.AppendUvarint(nil, 1<<32-1)
	// A zstd frame with a window of 3.75 TiB, and one with a content size of 2^62.
	window := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 0x01, 0x00, 0x00}
	content := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0x50, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x01, 0, 0}
	for _, c := range []struct {
		name, coding string
		body         []byte
	}{
		{"snappy block of 4 GiB", "snappy", append(fourGiB, "abc"...)},
		{"zstd window", "zstd", window},
		{"zstd content size", "zstd", content},
	} {
		r, err := New(&fakeSink{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = r.inflate(t.Context(), codings[c.coding], c.body)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, errCorrupt) && !errors.Is(err, errTooLarge) {
			t.Errorf("%s: got %v", c.name, err)
		}
		if spent := after.TotalAlloc - before.TotalAlloc; spent > 12<<20 {
			t.Errorf("%s: %d bytes were allocated", c.name, spent)
		}
	}
}

func TestAPanickingDecoderIsABadRequest(t *testing.T) {
	r, err := New(&fakeSink{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	bad := &coding{
		into: func(_, _ []byte) ([]byte, error) { panic("index out of range") },
		hint: func([]byte) int { return 1 },
	}
	_, err = r.inflate(t.Context(), bad, []byte("x"))
	if v := classify(err); v.http != 400 {
		t.Errorf("got %v, %d", err, v.http)
	}
	if used := r.inflating.used(); used != 0 {
		t.Errorf("%d bytes of budget are lost", used)
	}
}

func FuzzInflate(f *testing.F) {
	pb, _ := sample(f, signal.Logs, 3)
	names := []string{"gzip", "zstd", "deflate", "snappy", "x-snappy-framed", "lz4"}
	for i, name := range names {
		f.Add(uint8(i), encodings(f, pb)[name])
		f.Add(uint8(i), encodings(f, make([]byte, 1<<20))[name])
	}
	r, err := New(&fakeSink{}, Options{MaxRequestBytes: 256 << 10})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		c := codings[names[int(which)%len(names)]]
		l, err := r.inflate(t.Context(), c, body)
		if err == nil {
			if len(l.b) > r.o.MaxRequestBytes {
				t.Errorf("%d bytes are over the limit", len(l.b))
			}
			l.drop()
		}
		if used := r.inflating.used(); used != 0 {
			t.Fatalf("%d bytes of budget are lost", used)
		}
	})
}
