package query

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"

	"mira/storage/signal"
)

// Cursor continues an answer where a page ended. Its text is for clients to keep and not to read:
//
//	version u8 | fingerprint [8] | start u64 | end u64 | time u64 | node u32 | shard u16 | seq u64 | row u32
//
// big-endian, in base64url without padding. The window is in it because a client may have asked
// for "-1h": every page is of the hour that the first one meant.
type Cursor struct {
	Fingerprint Fingerprint // of the question it belongs to
	Start, End  uint64
	After       Position
}

// Fingerprint identifies a question.
type Fingerprint [8]byte

// FingerprintOf returns the fingerprint of a question, given as its parts.
func FingerprintOf(parts ...string) Fingerprint {
	h := sha256.New()
	for _, p := range parts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		h.Write([]byte(p))
	}
	return Fingerprint(h.Sum(nil)[:8])
}

const (
	cursorVersion = 1
	cursorBytes   = 1 + 8 + 8 + 8 + 8 + 4 + 2 + 8 + 4
)

// Errors of ParseCursor.
var (
	ErrCursor        = errors.New("this is not a cursor of an earlier answer")
	ErrCursorVersion = errors.New("the cursor comes from another version of mira")
	ErrCursorQuery   = errors.New("the cursor belongs to another query: repeat the parameters it was given for")
)

// String returns the text of the cursor.
func (c Cursor) String() string {
	b := make([]byte, 0, cursorBytes)
	b = append(b, cursorVersion)
	b = append(b, c.Fingerprint[:]...)
	b = binary.BigEndian.AppendUint64(b, c.Start)
	b = binary.BigEndian.AppendUint64(b, c.End)
	b = binary.BigEndian.AppendUint64(b, c.After.Time)
	b = binary.BigEndian.AppendUint32(b, c.After.Block.Node)
	b = binary.BigEndian.AppendUint16(b, c.After.Block.Shard)
	b = binary.BigEndian.AppendUint64(b, c.After.Block.Seq)
	b = binary.BigEndian.AppendUint32(b, uint32(c.After.Row))
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseCursor is the inverse of String, for the question with that fingerprint about records of s.
func ParseCursor(text string, s signal.Signal, of Fingerprint) (Cursor, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) == 0 {
		return Cursor{}, ErrCursor
	}
	if b[0] != cursorVersion {
		return Cursor{}, ErrCursorVersion
	}
	if len(b) != cursorBytes {
		return Cursor{}, ErrCursor
	}
	c := Cursor{Fingerprint: Fingerprint(b[1:9])}
	if c.Fingerprint != of {
		return Cursor{}, ErrCursorQuery
	}
	c.Start = binary.BigEndian.Uint64(b[9:])
	c.End = binary.BigEndian.Uint64(b[17:])
	c.After.Time = binary.BigEndian.Uint64(b[25:])
	c.After.Block = signal.BlockID{
		Signal: s,
		Node:   binary.BigEndian.Uint32(b[33:]),
		Shard:  binary.BigEndian.Uint16(b[37:]),
		Seq:    binary.BigEndian.Uint64(b[39:]),
	}
	c.After.Row = int(binary.BigEndian.Uint32(b[47:]))
	return c, nil
}
