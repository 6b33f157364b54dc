package receiver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"mira/pipeline"
	"mira/storage/signal"
)

const (
	mediaProtobuf = "application/x-protobuf"
	mediaJSON     = "application/json"
)

// Names of the request and answer headers, and of the gRPC metadata, that are Mira's own.
const (
	headerDurability = "mira-durability"
	headerReceipt    = "mira-receipt"
)

// httpDoor is the OTLP/HTTP half of a Receiver.
type httpDoor struct {
	*Receiver
	paths map[string]signal.Signal
}

// NewHTTP returns the handler of OTLP/HTTP. It answers the paths of Options.Paths, and every
// other path with a 404 that an exporter can read: mount it where exporters may come.
func (r *Receiver) NewHTTP() http.Handler {
	d := &httpDoor{r, map[string]signal.Signal{}}
	for sig, path := range r.o.Paths {
		d.paths[path] = sig
	}
	return d
}

// exchange is one HTTP request and its answer.
type exchange struct {
	call
	w       http.ResponseWriter
	req     *http.Request
	control *http.ResponseController
	json    bool // the encoding of the request, hence of the answer
	coding  *coding
	body    *countingBody
	warning string // for a partial success that rejects nothing
}

// countingBody knows whether its end was seen.
type countingBody struct {
	io.Reader
	n    int
	done bool
}

func (b *countingBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.n += n
	b.done = b.done || err != nil
	return n, err
}

// ServeHTTP takes one Export.
func (d *httpDoor) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	x := &exchange{
		call: call{
			signal:    d.paths[req.URL.Path],
			transport: overHTTP,
			start:     time.Now(),
			peer:      req.RemoteAddr,
			agent:     req.UserAgent(),
		},
		w:       w,
		req:     req,
		control: http.NewResponseController(w),
		json:    true,
		body:    &countingBody{Reader: req.Body},
	}
	d.expire(x)
	if d.o.CORS.answer(w, req, x.signal.Valid()) {
		return
	}
	receipt, err := d.export(x)
	x.call.wire = x.body.n
	d.finish(&x.call, err)
	_ = x.control.SetWriteDeadline(time.Now().Add(d.o.WriteTimeout))
	if err != nil {
		d.refuse(x, err)
		return
	}
	x.succeed(receipt)
}

// expire asks the client to come back on a new connection once this one is old enough.
func (d *httpDoor) expire(x *exchange) {
	if born, ok := x.req.Context().Value(bornKey{}).(time.Time); ok &&
		d.o.MaxConnectionAge > 0 && time.Since(born) > d.o.MaxConnectionAge {
		x.w.Header().Set("Connection", "close")
	}
}

// export is the way of one request: headers, body, inflated, protobuf, stored.
func (d *httpDoor) export(x *exchange) (pipeline.Receipt, error) {
	if err := d.readHeaders(x); err != nil {
		return pipeline.Receipt{}, err
	}
	if err := d.closed(); err != nil {
		return pipeline.Receipt{}, err
	}
	l, err := d.readBody(x)
	if err != nil {
		return pipeline.Receipt{}, err
	}
	if l, err = d.toProtobuf(x, l); err != nil {
		return pipeline.Receipt{}, err
	}
	return d.submit(x.req.Context(), &x.call, l)
}

// readHeaders decides everything that the body is not needed for. The encoding of the answer
// comes first: every later error is told in it.
func (d *httpDoor) readHeaders(x *exchange) (err error) {
	media := mediaType(x.req.Header)
	x.json = media != mediaProtobuf
	if !x.signal.Valid() {
		return fmt.Errorf("%w %q", errPath, cut(x.req.URL.Path, 256))
	}
	if x.req.Method != http.MethodPost {
		x.w.Header().Set("Allow", http.MethodPost)
		return errMethod
	}
	if x.tier, err = d.tier(x.req.Header.Values(headerDurability)); err != nil {
		return err
	}
	if media != mediaProtobuf && media != mediaJSON {
		return fmt.Errorf("%w: %q", errMediaType, cut(x.req.Header.Get("Content-Type"), 64))
	}
	x.coding, err = findCoding(strings.Join(x.req.Header.Values("Content-Encoding"), ", "))
	if err != nil {
		x.w.Header().Set("Accept-Encoding", codingNames)
		return err
	}
	if x.req.ContentLength > int64(d.o.MaxRequestBytes) {
		return d.tooLarge("Content-Length")
	}
	return nil
}

// mediaType returns the media type of a request, "" when there is none to be understood.
func mediaType(h http.Header) string {
	text := h.Get("Content-Type")
	switch text {
	case mediaProtobuf, mediaJSON:
		return text
	}
	media, _, err := mime.ParseMediaType(text)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return ""
	}
	return media
}

// readBody reads the body as it is on the wire, under a deadline that follows its progress.
func (d *httpDoor) readBody(x *exchange) (*load, error) {
	pace := func(received int) {
		_ = x.control.SetReadDeadline(x.start.Add(d.allowed(received)))
	}
	pace(0)
	l, err := d.receive(x.req.Context(), x.body, x.req.ContentLength, pace)
	switch {
	case err == nil:
		_ = x.control.SetReadDeadline(time.Time{})
		return l, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, errSlow
	case classify(err).reason != unknown.reason:
		return nil, err
	default: // bad chunks, a connection that broke: the body never came whole
		return nil, fmt.Errorf("%w: %w", errTruncated, err)
	}
}

// toProtobuf undoes what the headers say was done to the payload. It owns l.
func (d *httpDoor) toProtobuf(x *exchange, l *load) (*load, error) {
	if x.coding != nil {
		inflated, err := d.inflate(x.req.Context(), x.coding, l.b)
		l.drop()
		if err != nil {
			return nil, err
		}
		l = inflated
	}
	if !x.json {
		return l, nil
	}
	defer l.drop()
	pb, err := d.admit(x.req.Context(), d.converting, len(l.b), 0)
	if err != nil {
		return nil, err
	}
	out, known, err := convert(wires[x.signal], pb.b[:0], l.b)
	if err == nil && len(out) > d.o.MaxRequestBytes {
		err = d.tooLarge("request as protobuf")
	}
	if err != nil {
		pb.drop()
		return nil, err
	}
	pb.adopt(out)
	if !known && !emptyObject(l.b) {
		x.warning = "no known field in the request: want " + wires[x.signal].root + "; nothing was stored"
		d.rejects.warn(&x.call, "not_otlp", "JSON request without a known top-level field")
	}
	return pb, nil
}

// emptyObject reports whether body is {}, which is an Export of nothing rather than a mistake.
func emptyObject(body []byte) bool {
	const blank = " \t\r\n"
	inner, isObject := bytes.CutPrefix(bytes.Trim(body, blank), []byte("{"))
	return isObject && string(bytes.TrimLeft(inner, blank)) == "}"
}

// succeed answers a stored Export. Without a warning the message is empty, which is no bytes
// in protobuf and {} in JSON.
func (x *exchange) succeed(receipt pipeline.Receipt) {
	h := x.w.Header()
	if receipt.Block.Signal.Valid() {
		h.Set(headerDurability, receipt.Tier.String())
		h.Set(headerReceipt, receipt.String())
	}
	body := ""
	if x.json {
		body = "{}"
	}
	if x.warning != "" {
		body = fmt.Sprintf(`{"partialSuccess":{%q:"0","errorMessage":%q}}`, wires[x.signal].rejected, x.warning)
	}
	x.write(http.StatusOK, []byte(body))
}

func (x *exchange) write(code int, body []byte) {
	h := x.w.Header()
	h.Set("Content-Type", mediaProtobuf)
	if x.json {
		h.Set("Content-Type", mediaJSON)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(code)
	_, _ = x.w.Write(body) // the client may be gone
}

// Draining what a refused client goes on sending: enough of it, for long enough, that an
// ordinary client comes to read the answer.
const drainTime = 5 * time.Second

// refuse answers with a google.rpc.Status. A body that is still arriving is read for a while
// after the answer is out, or the client might see a reset instead of it.
func (d *httpDoor) refuse(x *exchange, err error) {
	v := classify(err)
	if after := retryAfter(err, v); after > 0 {
		x.w.Header().Set("Retry-After", strconv.Itoa(int((after+time.Second-1)/time.Second)))
	}
	// net/http itself reads away what is left of a small body, and keeps the connection.
	rest := x.req.ContentLength - int64(x.body.n)
	unread := !x.body.done && x.req.ContentLength != 0 && (x.req.ContentLength < 0 || rest > 256<<10)
	if unread || errors.Is(err, errDraining) {
		x.w.Header().Set("Connection", "close")
	}
	x.write(v.http, encodeStatus(rpcStatus(err, v), x.json))
	if !unread || x.req.Header.Get("Expect") != "" || x.req.ProtoMajor != 1 {
		return
	}
	_ = x.control.Flush()
	_ = x.control.SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, x.body, int64(d.o.MaxRequestBytes))
}

// bornKey is the context key of the time a connection was accepted.
type bornKey struct{}
