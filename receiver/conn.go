package receiver

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/credentials"
)

// doorCreds wraps the credentials of the gRPC port to get hold of its connections once they
// are secured.
type doorCreds struct {
	credentials.TransportCredentials
	open     *atomic.Int64
	httpAddr string // for who speaks HTTP here
}

// ServerHandshake returns the secured connection as a doorConn. Its client speaks first: who
// speaks HTTP/1 gets an answer in it.
func (d *doorCreds) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, info, err := d.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	door := &doorConn{Conn: c, open: d.open}
	begins := door.early[:]
	if _, err := io.ReadFull(c, begins); err != nil {
		return nil, nil, fmt.Errorf("read the preface: %w", err)
	}
	if speaksHTTP1(begins) {
		sendAway(c, d.httpAddr)
		_ = c.Close()
		return nil, nil, credentials.ErrConnDispatched // nothing is left to do about it
	}
	door.unread = begins
	d.open.Add(1)
	return door, info, nil
}

// Clone is part of the interface.
func (d *doorCreds) Clone() credentials.TransportCredentials {
	return &doorCreds{d.TransportCredentials.Clone(), d.open, d.httpAddr}
}

// doorConn is a gRPC connection on its way out. It adds grpc-accept-encoding to the answers
// that consist of nothing but trailers, because grpc-go answers an unknown grpc-encoding
// before anybody can set a header, and gRPC wants the list there.
//
// HTTP/2 frames pass it as they are written:
//
//	+---------------+---------+---------+-----------------+==============+
//	| length (3)    | type(1) | flags(1)| stream (4)      | payload      |
//	+---------------+---------+---------+-----------------+==============+
//
// A HEADERS frame (type 1) that ends both the stream and the headers and begins with the
// indexed field ":status: 200" (0x88) gets one more field, a literal that is never indexed:
// it leaves the compression state of both ends as it is.
type doorConn struct {
	net.Conn
	open  *atomic.Int64
	close sync.Once

	early  [len(greeting)]byte // what the client said first
	unread []byte              // of early

	head [10]byte // the frame header, and the first payload byte of a HEADERS frame
	have int      // bytes of head
	left int      // payload bytes still to pass
	add  bool     // the field follows them
	out  []byte
}

// acceptField is the HPACK form of grpc-accept-encoding.
var acceptField = func() []byte {
	const name = "grpc-accept-encoding"
	b := append([]byte{0x10, byte(len(name))}, name...)
	return append(append(b, byte(len(grpcCodingNames))), grpcCodingNames...)
}()

const (
	frameHeaders = 1
	endStream    = 0x1
	endHeaders   = 0x4
	padded       = 0x8
	priority     = 0x20
	maxFrame     = 16384
	status200    = 0x88
)

// Read returns what the client said first, and then the rest.
func (c *doorConn) Read(p []byte) (int, error) {
	if len(c.unread) > 0 {
		n := copy(p, c.unread)
		c.unread = c.unread[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// Write passes whole frames and parts of frames on. grpc-go has one writer for a connection.
func (c *doorConn) Write(p []byte) (int, error) {
	c.out = c.out[:0]
	for rest := p; len(rest) > 0; {
		if c.left > 0 {
			rest = c.payload(rest)
			continue
		}
		n := copy(c.head[c.have:c.want()], rest)
		c.have += n
		rest = rest[n:]
		if c.have == c.want() {
			c.begin()
		}
	}
	if len(c.out) > 0 {
		if _, err := c.Conn.Write(c.out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// want returns how many bytes of head are needed before a frame can be passed on: the first of
// the payload is wanted only where it decides something.
func (c *doorConn) want() int {
	if c.have >= 9 && c.head[3] == frameHeaders &&
		c.head[4]&(endStream|endHeaders|padded|priority) == endStream|endHeaders &&
		c.length() > 0 && c.length()+len(acceptField) <= maxFrame {
		return 10
	}
	return 9
}

func (c *doorConn) length() int {
	return int(c.head[0])<<16 | int(c.head[1])<<8 | int(c.head[2])
}

// begin passes the frame header on, with the length that the frame is going to have.
func (c *doorConn) begin() {
	length := c.length()
	c.left = length - (c.have - 9)
	c.add = c.have == 10 && c.head[9] == status200
	if c.add {
		length += len(acceptField)
		c.head[0], c.head[1], c.head[2] = byte(length>>16), byte(length>>8), byte(length)
	}
	c.out = append(c.out, c.head[:c.have]...)
	c.have = 0
	c.end()
}

// payload passes on what p holds of the frame, and returns the rest.
func (c *doorConn) payload(p []byte) []byte {
	n := min(c.left, len(p))
	c.out = append(c.out, p[:n]...)
	c.left -= n
	c.end()
	return p[n:]
}

func (c *doorConn) end() {
	if c.left == 0 && c.add {
		c.out = append(c.out, acceptField...)
		c.add = false
	}
}

// Close closes the connection, and counts it off once.
func (c *doorConn) Close() error {
	c.close.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}
