package main

import (
	"context"
	"encoding/binary"
	"time"
)

// sender is one connection to a server.
type sender interface {
	// send makes one attempt. The buffer belongs to the sender from here on; it
	// goes back to its shelf when the transport no longer reads it, which may
	// be after send has returned.
	send(ctx context.Context, s signal, body *[]byte) answer
	close()
}

// answer is what one attempt came to.
type answer struct {
	code     string        // gRPC code or HTTP status; "OK" when acknowledged
	detail   string        // for people
	tier     string        // what the server says it reached
	retry    bool          // the protocol lets the client try again
	after    time.Duration // not before this, when the server says so
	certain  bool          // the server itself answered: what it refused is not stored
	rejected int64         // records thrown away in a partial success
	wire     int64         // bytes of the request as sent, compressed or not
}

func (a *answer) acked() bool { return a.code == "OK" && a.rejected == 0 }

// partial is the code under which an Export that was accepted in part is
// counted: loadgen sends nothing that may be rejected.
const partial = "PARTIAL_SUCCESS"

// read takes the rejected records out of an Export response.
func (a *answer) read(response []byte) {
	a.code, a.certain = "OK", true
	success := field(response, 1)
	n, size := binary.Uvarint(field(success, 1))
	if size > 0 && n > 0 {
		a.code, a.rejected = partial, int64(n)
		a.detail = string(field(success, 2))
	}
}

// Wire types of protobuf.
const wireVarint, wireBytes = 0, 2

// field returns the content of a varint or length-delimited field, the varint
// still encoded; nil when it is absent or the message is broken.
func field(b []byte, want uint64) []byte {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return nil
		}
		b = b[n:]
		v, n := binary.Uvarint(b)
		switch {
		case n <= 0:
			return nil
		case tag&7 == wireVarint:
			if tag>>3 == want {
				return b[:n]
			}
			b = b[n:]
		case tag&7 != wireBytes || v > uint64(len(b)-n):
			return nil
		default:
			if tag>>3 == want {
				return b[n : n+int(v)]
			}
			b = b[n+int(v):]
		}
	}
	return nil
}

// shelf keeps the request buffers of one worker for the next Export. It is
// safe for the transport's goroutines to put while the worker takes.
type shelf chan *[]byte

func newShelf() shelf { return make(shelf, 4) }

// Get returns a buffer of the given length; its content is whatever it was.
func (s shelf) Get(length int) *[]byte {
	for {
		select {
		case b := <-s:
			if cap(*b) < length {
				continue
			}
			*b = (*b)[:length]
			return b
		default:
			b := make([]byte, length)
			return &b
		}
	}
}

// Put takes a buffer back, and drops it when the shelf is full.
func (s shelf) Put(b *[]byte) {
	select {
	case s <- b:
	default:
	}
}
