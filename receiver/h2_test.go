package receiver

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"mira/storage/signal"
)

// h2 is a client that writes HTTP/2 frames by hand.
type h2 struct {
	net.Conn
	*http2.Framer
	t   testing.TB
	enc *hpack.Encoder
	buf bytes.Buffer
	// mute keeps await from acknowledging settings, for tests that write beside it.
	mute bool
}

func (d *doors) frames(t testing.TB) *h2 {
	t.Helper()
	c, err := net.Dial("tcp", d.grpc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	h := &h2{Conn: c, Framer: http2.NewFramer(c, c), t: t}
	h.Framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	h.enc = hpack.NewEncoder(&h.buf)
	_, _ = io.WriteString(c, http2.ClientPreface)
	_ = h.WriteSettings()
	return h
}

var exportLogs = "/" + wires[signal.Logs].service + "/Export"

// fields returns the header block of a call; pairs replace or add to what is usual.
func (h *h2) fields(pairs ...string) []byte {
	h.buf.Reset()
	usual := []string{":method", "POST", ":scheme", "http", ":path", exportLogs, ":authority", "mira", "content-type", "application/grpc", "te", "trailers"}
	for i := 0; i < len(usual); i += 2 {
		value := usual[i+1]
		for j := 0; j < len(pairs); j += 2 {
			if pairs[j] == usual[i] {
				value = pairs[j+1]
			}
		}
		_ = h.enc.WriteField(hpack.HeaderField{Name: usual[i], Value: value})
	}
	for j := 0; j < len(pairs); j += 2 {
		if !strings.Contains(strings.Join(usual, "\n"), pairs[j]) {
			_ = h.enc.WriteField(hpack.HeaderField{Name: pairs[j], Value: pairs[j+1]})
		}
	}
	return h.buf.Bytes()
}

func (h *h2) begin(id uint32, pairs ...string) {
	_ = h.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: h.fields(pairs...), EndHeaders: true})
}

// reply is what came back on one stream.
type reply struct {
	headers []map[string]string // one map for each HEADERS frame
	data    []byte
	ended   bool
	reset   http2.ErrCode
	isReset bool
}

func (r reply) last(name string) string {
	if len(r.headers) == 0 {
		return ""
	}
	return r.headers[len(r.headers)-1][name]
}

// await reads until stream id has ended one way or the other.
func (h *h2) await(id uint32) (r reply) {
	h.t.Helper()
	for {
		f, err := h.ReadFrame()
		if err != nil {
			h.t.Fatalf("waiting for stream %d: %v", id, err)
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() && !h.mute {
				_ = h.WriteSettingsAck()
			}
		case *http2.GoAwayFrame:
			h.t.Fatalf("GOAWAY %v %s", f.ErrCode, f.DebugData())
		case *http2.MetaHeadersFrame:
			if f.StreamID == id {
				m := map[string]string{}
				for _, field := range f.Fields {
					m[field.Name] = field.Value
				}
				r.headers = append(r.headers, m)
				r.ended = f.StreamEnded()
			}
		case *http2.DataFrame:
			if f.StreamID == id {
				r.data = append(r.data, f.Data()...)
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == id {
				r.reset, r.isReset = f.ErrCode, true
			}
		}
		if r.ended || r.isReset {
			return r
		}
	}
}

func framed5(flag byte, body []byte) []byte {
	n := len(body)
	return append([]byte{flag, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, body...)
}
