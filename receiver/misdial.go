package receiver

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Who speaks the wrong protocol to a port is told where to go, in the protocol that it speaks.

const (
	// greeting begins every HTTP/2 connection. No method of HTTP/1 does.
	greeting = "PRI"
	// linger is how long the end of a connection waits for the client to take the answer: what it
	// still sends would otherwise destroy the answer on the way.
	linger, lingerBytes = time.Second, 64 << 10
)

// speaksHTTP1 reports whether a connection that begins like that speaks HTTP/1: methods are capitals.
func speaksHTTP1(begins []byte) bool {
	for _, c := range begins {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return string(begins) != greeting
}

// sendAway answers HTTP/1 on the gRPC port.
func sendAway(c net.Conn, httpAddr string) {
	text := "this port speaks OTLP/gRPC; OTLP/HTTP is on " + addressOr(httpAddr, "another port, usually 4318") + "\n"
	_ = c.SetDeadline(time.Now().Add(linger))
	_, err := fmt.Fprintf(c, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(text), text)
	if err == nil {
		lingerOn(c)
	}
}

// lingerOn waits until the client has closed its side.
func lingerOn(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		_, _ = io.CopyN(io.Discard, c, lingerBytes)
	}
}

const (
	frameSettings = 4
	// unimplemented is the gRPC status that no client tries again.
	unimplemented = "12"
	// prefaceRest is what follows the request line of the preface and its empty line.
	prefaceRest = "SM\r\n\r\n"
)

// answerGRPC answers the first call of an HTTP/2 connection, on a port that does not speak it, with
// a status that every gRPC client shows.
func (r *Receiver) answerGRPC(w http.ResponseWriter) {
	text := "this port speaks OTLP/HTTP over HTTP/1.1; OTLP/gRPC is on " + addressOr(r.o.GRPCAddr, "another port, usually 4317")
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil { // cannot be: it is a plain connection
		http.Error(w, text, http.StatusHTTPVersionNotSupported)
		return
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(r.o.HeaderTimeout))
	if _, err := c.Write([]byte{0, 0, 0, frameSettings, 0, 0, 0, 0, 0}); err != nil { // a server begins with it
		return
	}
	stream, err := firstStream(rw.Reader)
	if err != nil {
		return
	}
	if _, err := c.Write(appendStatus(nil, stream, unimplemented, text)); err == nil {
		_ = c.SetDeadline(time.Now().Add(linger))
		lingerOn(c)
	}
}

// firstStream reads frames until the first call, and returns its stream.
func firstStream(r *bufio.Reader) (uint32, error) {
	if _, err := r.Discard(len(prefaceRest)); err != nil {
		return 0, err
	}
	var head [9]byte
	for range 16 { // settings, windows, pings: no client sends so many
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return 0, err
		}
		if head[3] == frameHeaders {
			return binary.BigEndian.Uint32(head[5:]), nil
		}
		if _, err := r.Discard(int(head[0])<<16 | int(head[1])<<8 | int(head[2])); err != nil {
			return 0, err
		}
	}
	return 0, errors.New("no call")
}

// appendStatus appends the HEADERS frame of an answer that consists of its status:
//
//	+---------------+---------+---------+-------------+==================================+
//	| length (3)    | type(1) | flags(1)| stream (4)  | ":status: 200", three literals   |
//	+---------------+---------+---------+-------------+==================================+
func appendStatus(dst []byte, stream uint32, code, text string) []byte {
	fields := []byte{status200}
	for _, f := range [][2]string{{"content-type", "application/grpc"}, {"grpc-status", code}, {"grpc-message", text}} {
		fields = append(append(fields, 0, byte(len(f[0]))), f[0]...)
		fields = append(appendLength(fields, len(f[1])), f[1]...)
	}
	dst = append(dst, 0, byte(len(fields)>>8), byte(len(fields)), frameHeaders, endStream|endHeaders)
	return append(binary.BigEndian.AppendUint32(dst, stream), fields...)
}

// appendLength appends the length of a literal: an integer of HPACK with a prefix of seven bits.
func appendLength(dst []byte, n int) []byte {
	if n < 127 {
		return append(dst, byte(n))
	}
	return binary.AppendUvarint(append(dst, 127), uint64(n-127))
}

func addressOr(addr, otherwise string) string {
	if addr == "" {
		return otherwise
	}
	return addr
}
