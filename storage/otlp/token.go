package otlp

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxSkip is how many arrays and objects may stand inside each other in a value that is skipped.
const maxSkip = 1024

// A lexer reads the JSON grammar of RFC 8259 from a body. It is strict: no comments, no trailing
// commas, no bare words. It notes the first thing it does not like and every method then reports
// false. Bytes that are not UTF-8 pass through strings unchanged; storing them is decided elsewhere.
type lexer struct {
	b       []byte
	i       int    // the next byte
	scratch []byte // the latest string, when it had escapes

	offset int
	reason string
	path   []string // innermost first
}

func (l *lexer) refuse(i int, reason string) bool {
	if l.reason == "" {
		l.offset, l.reason = i, reason
	}
	return false
}

// peek skips blanks and returns the next byte, or 0 at the end of the body. (A byte 0 in the body
// is no token either.)
func (l *lexer) peek() byte {
	for l.i < len(l.b) {
		switch c := l.b[l.i]; c {
		case ' ', '\n', '\r', '\t':
			l.i++
		default:
			return c
		}
	}
	return 0
}

// want skips blanks and the byte c, which has to come next.
func (l *lexer) want(c byte, what string) bool {
	if l.peek() != c {
		return l.refuse(l.i, "want "+what)
	}
	l.i++
	return true
}

// more is asked before every element of an array or object: is there one? It takes the comma or
// the closing byte.
func (l *lexer) more(closing byte, first bool) (more, ok bool) {
	c := l.peek()
	switch {
	case c == closing:
		l.i++
		return false, true
	case first:
		return true, true
	case c != ',':
		return false, l.refuse(l.i, "want , or "+string(rune(closing)))
	}
	l.i++
	if l.peek() == closing {
		return false, l.refuse(l.i, "nothing after the comma")
	}
	return true, true
}

// name reads a member's name and the colon. It is valid until the next string is read.
func (l *lexer) name() (name []byte, ok bool) {
	if l.peek() != '"' {
		return nil, l.refuse(l.i, `want a name in "quotes"`)
	}
	name, ok = l.text()
	return name, ok && l.want(':', "a colon after the name")
}

// null takes a null, if that comes next.
func (l *lexer) null() bool {
	return l.peek() == 'n' && l.literal("null")
}

func (l *lexer) literal(word string) bool {
	if !bytes.HasPrefix(l.b[l.i:], []byte(word)) {
		return l.refuse(l.i, "want a JSON value")
	}
	l.i += len(word)
	return true
}

// text reads a string and returns what it says, valid until the next call.
func (l *lexer) text() (s []byte, ok bool) {
	if !l.want('"', `a string in "quotes"`) {
		return nil, false
	}
	rest := l.b[l.i:]
	for n, c := range rest {
		switch {
		case c == '"':
			l.i += n + 1
			return rest[:n], true
		case c == '\\':
			l.i += n
			l.scratch = append(l.scratch[:0], rest[:n]...)
			return l.escaped()
		case c < 0x20:
			return nil, l.refuse(l.i+n, "a control character in a string")
		}
	}
	return nil, l.refuse(len(l.b), "a string without its end")
}

// escaped is text from the first escape on.
func (l *lexer) escaped() (s []byte, ok bool) {
	for l.i < len(l.b) {
		switch c := l.b[l.i]; {
		case c == '"':
			l.i++
			return l.scratch, true
		case c == '\\':
			if !l.escape() {
				return nil, false
			}
		case c < 0x20:
			return nil, l.refuse(l.i, "a control character in a string")
		default:
			l.scratch = append(l.scratch, c)
			l.i++
		}
	}
	return nil, l.refuse(l.i, "a string without its end")
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape adds what the escape at l.i stands for. Half a surrogate pair stands for nothing that
// can be stored, and becomes U+FFFD.
func (l *lexer) escape() bool {
	if l.i+1 < len(l.b) && escapes[l.b[l.i+1]] != 0 {
		l.scratch = append(l.scratch, escapes[l.b[l.i+1]])
		l.i += 2
		return true
	}
	r, ok := l.unit(l.i)
	if !ok {
		return l.refuse(l.i, "not an escape of JSON")
	}
	l.i += 6
	if utf16.IsSurrogate(r) {
		low, ok := l.unit(l.i)
		if r = utf16.DecodeRune(r, low); ok && r != utf8.RuneError {
			l.i += 6
		} else {
			r = utf8.RuneError
		}
	}
	l.scratch = utf8.AppendRune(l.scratch, r)
	return true
}

// unit reads the \uXXXX at b[i].
func (l *lexer) unit(i int) (rune, bool) {
	if i+6 > len(l.b) || l.b[i] != '\\' || l.b[i+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range l.b[i+2 : i+6] {
		d := hexDigit(c)
		if d > 15 {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

// hexDigit is the value of a hexadecimal digit in either case, or more than 15.
func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return (c | 0x20) - 'a' + 10
	}
	return 0xff
}

// number reads a number and returns it as it stands.
func (l *lexer) number() (s []byte, ok bool) {
	n := numberLen(l.b[l.i:])
	if n == 0 {
		return nil, l.refuse(l.i, "want a JSON value")
	}
	l.i += n
	return l.b[l.i-n : l.i], true
}

// numberLen is the length of the JSON number b begins with, or 0.
func numberLen(b []byte) int {
	digits := func(i int) int {
		for i < len(b) && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		return i
	}
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	start := i
	if i = digits(i); i == start || i-start > 1 && b[start] == '0' {
		return 0
	}
	if i < len(b) && b[i] == '.' {
		start = i + 1
		if i = digits(start); i == start {
			return 0
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start = i
		if i = digits(i); i == start {
			return 0
		}
	}
	return i
}

// integer returns the magnitude of the JSON number s when it is a whole number, however it is
// written: 100, 100.0 and 1e2 are the same. There is no way through a float, so nothing is lost.
func integer(s []byte) (negative bool, v uint64, ok bool) {
	if negative = s[0] == '-'; negative {
		s = s[1:]
	}
	zeros := 0
	if bytes.ContainsAny(s, ".eE") {
		s, zeros = scientific(s)
		if len(s) == 0 {
			return negative, 0, true
		}
		if zeros < 0 || zeros > 20 {
			return negative, 0, false
		}
	}
	for _, c := range s {
		if v, ok = shift(v, c-'0'); !ok {
			return negative, 0, false
		}
	}
	for range zeros {
		if v, ok = shift(v, 0); !ok {
			return negative, 0, false
		}
	}
	return negative, v, true
}

// shift appends a decimal digit to v, if that fits.
func shift(v uint64, digit byte) (uint64, bool) {
	const most = 1<<64 - 1
	if v > most/10 || v*10 > most-uint64(digit) {
		return 0, false
	}
	return v*10 + uint64(digit), true
}

// scientific returns the significant digits of an unsigned JSON number and how many zeros stand
// between them and the decimal point: fewer than none when the number has a fraction.
func scientific(s []byte) (digits []byte, zeros int) {
	if e := bytes.IndexAny(s, "eE"); e >= 0 {
		n, err := strconv.ParseInt(string(s[e+1:]), 10, 32)
		if err != nil { // out of range, and ParseInt says on which side
			n >>= 1
		}
		zeros, s = int(n), s[:e]
	}
	digits = bytes.Clone(s)
	if dot := bytes.IndexByte(s, '.'); dot >= 0 {
		zeros -= len(s) - dot - 1
		digits = append(digits[:dot], s[dot+1:]...)
	}
	digits = bytes.TrimLeft(digits, "0")
	significant := bytes.TrimRight(digits, "0")
	return significant, zeros + len(digits) - len(significant)
}

// skip takes any value, without recursion.
func (l *lexer) skip() bool {
	var n nest
	for first := false; ; {
		if n.depth > 0 {
			more, ok := l.within(n.object(), first)
			switch {
			case !ok:
				return false
			case !more:
				first = false
				if n.depth--; n.depth == 0 {
					return true
				}
				continue
			}
		}
		c := l.peek()
		if first = c == '{' || c == '['; first {
			if n.depth == maxSkip {
				return l.refuse(l.i, "an unknown value nested more than "+strconv.Itoa(maxSkip)+" deep")
			}
			n.push(c == '{')
			l.i++
			continue
		}
		if !l.scalar(c) {
			return false
		}
		if n.depth == 0 {
			return true
		}
	}
}

// within takes what stands before the next value of an array or an object, a name included.
func (l *lexer) within(object, first bool) (more, ok bool) {
	if !object {
		return l.more(']', first)
	}
	if more, ok = l.more('}', first); more {
		_, ok = l.name()
	}
	return more, ok
}

// A nest remembers which of the levels around a value are objects.
type nest struct {
	objects [maxSkip / 64]uint64 // one bit a level
	depth   int
}

func (n *nest) push(object bool) {
	word, bit := n.depth/64, uint64(1)<<(n.depth%64)
	n.objects[word] &^= bit
	if object {
		n.objects[word] |= bit
	}
	n.depth++
}

func (n *nest) object() bool { return n.objects[(n.depth-1)/64]>>((n.depth-1)%64)&1 == 1 }

// scalar takes a value that begins with c and holds no other.
func (l *lexer) scalar(c byte) (ok bool) {
	switch c {
	case '"':
		_, ok = l.text()
	case 't':
		ok = l.literal("true")
	case 'f':
		ok = l.literal("false")
	case 'n':
		ok = l.literal("null")
	default:
		_, ok = l.number()
	}
	return ok
}
