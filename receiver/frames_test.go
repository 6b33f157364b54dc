package receiver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"

	"mira/pipeline"
	"mira/storage/signal"
)

func TestErrorsAreTrailersOnlyAndListTheCodings(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 1)
	d := open(t, &fakeSink{refuse: pipeline.ErrBusy}, Options{MaxRequestBytes: 1 << 20})
	h := d.frames(t)
	id := uint32(1)
	for _, c := range []struct {
		name  string
		pairs []string
		data  []byte
		want  codes.Code
	}{
		{"busy", nil, framed5(0, pb), codes.Unavailable},
		{"unknown coding", []string{"grpc-encoding", "br"}, framed5(1, pb), codes.Unimplemented},
		{"compressed without a coding", nil, framed5(1, pb), codes.Internal},
		{"compressed identity", []string{"grpc-encoding", "identity"}, framed5(1, pb), codes.Internal},
		{"flag 2", nil, framed5(2, pb), codes.Internal},
		{"not gzip", []string{"grpc-encoding", "gzip"}, framed5(1, pb), codes.InvalidArgument},
		{"no message", nil, nil, codes.Internal},
		{"header cut", nil, []byte{0, 0, 0}, codes.Internal},
		{"message cut", nil, framed5(0, pb)[:20], codes.Internal},
		{"two messages", nil, append(framed5(0, pb), framed5(0, pb)...), codes.Internal},
		{"4 GiB announced", nil, []byte{0, 0xff, 0xff, 0xff, 0xff, 1}, codes.ResourceExhausted},
		{"broken protobuf", nil, framed5(0, pb[:len(pb)-1]), codes.InvalidArgument},
		{"odd durability", []string{"mira-durability", "never"}, framed5(0, pb), codes.InvalidArgument},
		{"JSON", []string{"content-type", "application/grpc+json"}, framed5(0, pb), codes.InvalidArgument},
		{"unknown method", []string{":path", "/a.B/C"}, framed5(0, pb), codes.Unimplemented},
		{"no time left", []string{"grpc-timeout", "0n"}, framed5(0, pb), codes.DeadlineExceeded},
		{"odd timeout", []string{"grpc-timeout", "1x"}, framed5(0, pb), codes.Internal},
	} {
		h.begin(id, c.pairs...)
		_ = h.WriteData(id, true, c.data)
		r := h.await(id)
		if len(r.headers) != 1 || !r.ended || r.last("grpc-status") != fmt.Sprint(int(c.want)) || r.last("grpc-message") == "" {
			t.Errorf("%s: got %v, want %v in the first and only header frame", c.name, r, c.want)
		}
		if got := r.last("grpc-accept-encoding"); r.last(":status") == "200" && got != grpcCodingNames {
			t.Errorf("%s: grpc-accept-encoding %q", c.name, got)
		}
		id += 2
	}
	if n := len(d.sink.stored()); n != 0 {
		t.Errorf("%d refused Exports were stored", n)
	}
}

func TestAnyFramingOfAMessageWorks(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 3)
	whole := framed5(0, pb)
	for name, send := range map[string]func(h *h2){
		"a byte a frame": func(h *h2) {
			h.begin(1)
			for _, b := range whole {
				_ = h.WriteData(1, false, []byte{b})
			}
			_ = h.WriteData(1, true, nil)
		},
		"padding and priority": func(h *h2) {
			_ = h.WriteHeaders(http2.HeadersFrameParam{
				StreamID: 1, BlockFragment: h.fields(), EndHeaders: true, PadLength: 9,
				Priority: http2.PriorityParam{StreamDep: 0, Weight: 3},
			})
			_ = h.WriteDataPadded(1, false, whole[:7], make([]byte, 200))
			_ = h.WritePriority(1, http2.PriorityParam{Weight: 7})
			_ = h.WriteDataPadded(1, true, whole[7:], make([]byte, 3))
		},
		"continuation": func(h *h2) {
			block := h.fields("x-tenant", "seven")
			_ = h.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:5]})
			_ = h.WriteContinuation(1, false, block[5:20])
			_ = h.WriteContinuation(1, true, block[20:])
			_ = h.WriteData(1, true, whole)
		},
		"grpc+proto": func(h *h2) {
			h.begin(1, "content-type", "application/grpc+proto")
			_ = h.WriteData(1, true, whole)
		},
		"parameters": func(h *h2) {
			h.begin(1, "content-type", "application/grpc;charset=utf-8", "grpc-timeout", "1H")
			_ = h.WriteData(1, true, whole)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, &fakeSink{}, Options{})
			h := d.frames(t)
			send(h)
			r := h.await(1)
			if len(r.headers) != 2 || r.headers[0][":status"] != "200" || r.last("grpc-status") != "0" || !bytes.Equal(r.data, make([]byte, 5)) {
				t.Errorf("got %+v", r)
			}
			if _, there := r.headers[1]["grpc-accept-encoding"]; there {
				t.Errorf("trailers of a success hold grpc-accept-encoding")
			}
			if len(d.sink.stored()) != 1 {
				t.Errorf("nothing was stored")
			}
		})
	}
}

func TestForeignContentTypesGet415(t *testing.T) {
	d := open(t, &fakeSink{}, Options{})
	h := d.frames(t)
	h.begin(1, "content-type", "application/json")
	if r := h.await(1); r.last(":status") != "415" {
		t.Errorf("got %+v", r)
	}
	h.begin(3, ":method", "GET")
	if r := h.await(3); r.last(":status") != "405" {
		t.Errorf("got %+v", r)
	}
}

func TestTimeoutEndsACallWhoseMessageIsStillArriving(t *testing.T) {
	d := open(t, &fakeSink{}, Options{})
	h := d.frames(t)
	h.begin(1, "grpc-timeout", "50m")
	_ = h.WriteData(1, false, []byte{0, 0, 0, 1, 0, 9})
	if r := h.await(1); r.last("grpc-status") != "4" && !r.isReset {
		t.Errorf("got %+v", r)
	}
}

func TestSlowMessageIsCutOffAndDelaysNobody(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 2)
	d := open(t, &fakeSink{}, Options{BodyGrace: 2 * time.Second, ReceiveBytes: 64 << 20})
	slow := d.frames(t)
	for id := uint32(1); id < 200; id += 2 { // 100 half messages that announce 60 MiB each
		slow.begin(id)
		_ = slow.WriteData(id, false, []byte{0, 60 >> 4, 0, 0, 0, 1, 2, 3})
	}
	start := time.Now()
	if _, err := export1(t.Context(), d.dial(t), signal.Logs, pb); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 1500*time.Millisecond {
		t.Errorf("another client waited %v", took)
	}
	if r := slow.await(199); r.last("grpc-status") != fmt.Sprint(int(codes.DeadlineExceeded)) {
		t.Errorf("got %+v", r)
	}
	if used := d.receiving.used(); used != 0 {
		t.Errorf("%d bytes of budget are lost", used)
	}
}

func TestResetOfOneCallLeavesTheOthersAlone(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 2)
	d := open(t, &fakeSink{}, Options{})
	h := d.frames(t)
	h.begin(1)
	h.begin(3)
	_ = h.WriteData(1, false, framed5(0, pb)[:9])
	_ = h.WriteRSTStream(1, http2.ErrCodeCancel)
	_ = h.WriteData(3, true, framed5(0, pb))
	if r := h.await(3); r.last("grpc-status") != "0" {
		t.Errorf("got %+v", r)
	}
	if len(d.sink.stored()) != 1 {
		t.Errorf("stored %d Exports, want 1", len(d.sink.stored()))
	}
}

func TestPingsNeverEarnGoAway(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 2)
	d := open(t, &fakeSink{}, Options{KeepaliveMinTime: time.Nanosecond})
	h := d.frames(t)
	for i := range 20 {
		_ = h.WritePing(false, [8]byte{byte(i)})
	}
	h.begin(1)
	_ = h.WriteData(1, true, framed5(0, pb))
	if r := h.await(1); r.last("grpc-status") != "0" {
		t.Errorf("got %+v", r)
	}
}

func TestFloodsAreSurvived(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 1)
	d := open(t, &fakeSink{}, Options{})
	for name, flood := range map[string]func(h *h2) error{
		"rapid reset": func(h *h2) (err error) {
			for id := uint32(1); id < 4000 && err == nil; id += 2 {
				h.begin(id)
				err = h.WriteRSTStream(id, http2.ErrCodeCancel)
			}
			return err
		},
		"ping": func(h *h2) (err error) {
			for i := 0; i < 20_000 && err == nil; i++ {
				err = h.WritePing(false, [8]byte{})
			}
			return err
		},
		"settings": func(h *h2) (err error) {
			for i := 0; i < 20_000 && err == nil; i++ {
				err = h.WriteSettings()
			}
			return err
		},
		"continuation": func(h *h2) error {
			block := h.fields()
			err := h.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block})
			for i := 0; i < 5000 && err == nil; i++ {
				err = h.WriteContinuation(1, false, []byte("\x00\x01a\x01b"))
			}
			return err
		},
	} {
		h := d.frames(t)
		go func() { _, _ = io.Copy(io.Discard, h.Conn) }()
		_ = h.SetDeadline(time.Now().Add(3 * time.Second))
		_ = flood(h)
		if _, err := export1(t.Context(), d.dial(t), signal.Logs, pb); err != nil {
			t.Errorf("after a flood of %s: %v", name, err)
		}
		_ = h.Close()
	}
}

func TestBodyThatStopsIsNotStored(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 5)
	d := open(t, &fakeSink{}, Options{})
	h := d.frames(t)
	h.begin(1)
	_ = h.WriteData(1, false, framed5(0, pb)[:len(pb)])
	_ = h.Close()
	if _, err := export1(t.Context(), d.dial(t), signal.Traces, nil); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if n := len(d.sink.stored()); n != 0 {
		t.Errorf("%d Exports were stored", n)
	}
}

// TestAcceptEncodingSurvivesAnySplit writes frames through a doorConn in all kinds of portions.
func TestAcceptEncodingSurvivesAnySplit(t *testing.T) {
	var block, plain bytes.Buffer
	enc := hpack.NewEncoder(&block)
	fr := http2.NewFramer(&plain, nil)
	header := func(id uint32, end bool, pairs ...string) {
		block.Reset()
		for i := 0; i < len(pairs); i += 2 {
			_ = enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
		}
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end})
	}
	_ = fr.WriteSettings()
	header(1, false, ":status", "200", "content-type", "application/grpc")
	_ = fr.WriteData(1, false, make([]byte, 300))
	header(1, true, "grpc-status", "0")
	header(3, true, ":status", "200", "content-type", "application/grpc", "grpc-status", "12")
	_ = fr.WritePing(true, [8]byte{})
	header(5, true, ":status", "200", "grpc-status", "14", "x", "y")
	_ = fr.WriteData(7, true, nil)

	for range 500 {
		var out bytes.Buffer
		c := &doorConn{Conn: sinkConn{w: &out}, open: new(atomic.Int64)}
		for rest := plain.Bytes(); len(rest) > 0; {
			n := 1 + rand.IntN(min(len(rest), 1+rand.IntN(40)))
			if wrote, err := c.Write(rest[:n]); wrote != n || err != nil {
				t.Fatal(wrote, err)
			}
			rest = rest[n:]
		}
		got := http2.NewFramer(nil, &out)
		got.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		listed := map[uint32]int{}
		frames := 0
		for ; ; frames++ {
			f, err := got.ReadFrame()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if h, ok := f.(*http2.MetaHeadersFrame); ok {
				for _, field := range h.Fields {
					if field.Name == "grpc-accept-encoding" && field.Value == grpcCodingNames {
						listed[h.StreamID]++
					}
				}
			}
		}
		if frames != 8 || fmt.Sprint(listed) != "map[3:1 5:1]" {
			t.Fatalf("%d frames, listed %v", frames, listed)
		}
	}
}

type sinkConn struct {
	net.Conn
	w io.Writer
}

func (c sinkConn) Write(p []byte) (int, error) { return c.w.Write(p) }
