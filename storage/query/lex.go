package query

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// SyntaxError says where a filter stops making sense.
type SyntaxError struct {
	Offset int    // in bytes, from the start of the filter
	Reason string // what stands there and what was expected
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("at offset %d: %s", e.Offset, e.Reason) }

type tokenKind uint8

const (
	tokEnd    tokenKind = iota
	tokName             // lower-case identifier: path segment or keyword
	tokEnum             // upper-case identifier: enum or function
	tokString           // text is the unquoted value
	tokInt
	tokFloat
	tokBytes // 0x..: text is the hex digits
	tokPunct // ( ) [ ] . , and comparison operators
)

type token struct {
	kind tokenKind
	text string
	at   int
	end  int
}

// String shows the token as an error message quotes it.
func (t token) String() string {
	if t.kind == tokEnd {
		return "the end of the filter"
	}
	const most = 40
	text := t.text
	if len(text) > most {
		text = text[:most] + "…"
	}
	return fmt.Sprintf("%q", text)
}

type lexer struct {
	src string
	pos int
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isWord(c byte) bool  { return c == '_' || isDigit(c) || isLower(c) || isUpper(c) }

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// next returns the token at the lexer's position and steps over it.
func (l *lexer) next() (token, error) {
	for l.pos < len(l.src) && strings.IndexByte(" \t\r\n", l.src[l.pos]) >= 0 {
		l.pos++
	}
	at := l.pos
	if at == len(l.src) {
		return token{kind: tokEnd, at: at, end: at}, nil
	}
	c := l.src[at]
	switch {
	case c == '"':
		return l.quoted()
	case isLower(c) || c == '_':
		return l.take(tokName, isWord), nil
	case isUpper(c):
		return l.take(tokEnum, isWord), nil
	case isDigit(c), (c == '-' || c == '+' || c == '.') && at+1 < len(l.src) && isDigit(l.src[at+1]):
		return l.number()
	}
	return l.punct()
}

// take returns the run of bytes that in accepts.
func (l *lexer) take(kind tokenKind, in func(byte) bool) token {
	at := l.pos
	for l.pos < len(l.src) && in(l.src[l.pos]) {
		l.pos++
	}
	return token{kind: kind, text: l.src[at:l.pos], at: at, end: l.pos}
}

func (l *lexer) punct() (token, error) {
	at, rest := l.pos, l.src[l.pos:]
	for _, op := range [...]string{"==", "!=", "<=", ">=", "<", ">", "(", ")", "[", "]", ".", ","} {
		if strings.HasPrefix(rest, op) {
			l.pos += len(op)
			return token{kind: tokPunct, text: op, at: at, end: l.pos}, nil
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	reason := fmt.Sprintf("unexpected %q", r)
	switch r {
	case '=':
		reason = "unexpected \"=\", equality is written =="
	case '\'', '`':
		reason += ", strings stand in double quotes"
	case '&', '|', '!':
		reason += ", write and, or, not"
	}
	return token{}, &SyntaxError{Offset: at, Reason: reason}
}

func (l *lexer) number() (token, error) {
	at := l.pos
	if strings.HasPrefix(l.src[at:], "0x") {
		l.pos += 2
		digits := l.take(tokBytes, isHex)
		if len(digits.text) == 0 || len(digits.text)%2 != 0 || l.pos < len(l.src) && isWord(l.src[l.pos]) {
			return token{}, &SyntaxError{Offset: at, Reason: "bytes are 0x and an even number of hexadecimal digits"}
		}
		digits.at = at
		return digits, nil
	}
	if l.src[at] == '-' || l.src[at] == '+' {
		l.pos++
	}
	kind := tokInt
	for ; l.pos < len(l.src); l.pos++ {
		c := l.src[l.pos]
		exponent := (c == '-' || c == '+') && strings.IndexByte("eE", l.src[l.pos-1]) >= 0
		if c == '.' || c == 'e' || c == 'E' || exponent {
			kind = tokFloat
		} else if !isDigit(c) {
			break
		}
	}
	if l.pos < len(l.src) && isWord(l.src[l.pos]) {
		return token{}, &SyntaxError{Offset: l.pos, Reason: fmt.Sprintf("unexpected %q inside a number", l.src[l.pos])}
	}
	return token{kind: kind, text: l.src[at:l.pos], at: at, end: l.pos}, nil
}

// escapes are the short escape sequences of a quoted string.
var escapes = map[byte]byte{'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '\\': '\\', '"': '"'}

func (l *lexer) quoted() (token, error) {
	at := l.pos
	var out strings.Builder
	for l.pos++; l.pos < len(l.src); {
		switch c := l.src[l.pos]; c {
		case '"':
			l.pos++
			return token{kind: tokString, text: out.String(), at: at, end: l.pos}, nil
		case '\\':
			if err := l.escape(&out); err != nil {
				return token{}, err
			}
		default:
			out.WriteByte(c)
			l.pos++
		}
	}
	return token{}, &SyntaxError{Offset: at, Reason: "the string that starts here has no closing quote"}
}

// escape reads one escape sequence of a Go string literal.
func (l *lexer) escape(out *strings.Builder) error {
	at := l.pos
	bad := func(reason string) error { return &SyntaxError{Offset: at, Reason: reason} }
	if at+1 >= len(l.src) {
		return bad("the string ends inside an escape sequence")
	}
	c := l.src[at+1]
	if b, ok := escapes[c]; ok {
		out.WriteByte(b)
		l.pos += 2
		return nil
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits == 0 {
		r, _ := utf8.DecodeRuneInString(l.src[at+1:])
		return bad(fmt.Sprintf("unknown escape sequence \\%c (a backslash itself is written \\\\)", r))
	}
	l.pos += 2
	var v uint32
	for range digits {
		if l.pos >= len(l.src) || !isHex(l.src[l.pos]) {
			return bad(fmt.Sprintf("\\%c needs %d hexadecimal digits", c, digits))
		}
		v = v<<4 | uint32(unhex(l.src[l.pos]))
		l.pos++
	}
	if c == 'x' {
		out.WriteByte(byte(v))
		return nil
	}
	if v > utf8.MaxRune || !utf8.ValidRune(rune(v)) {
		return bad("the escape sequence is not a Unicode code point")
	}
	out.WriteRune(rune(v))
	return nil
}

func unhex(c byte) byte {
	switch {
	case isDigit(c):
		return c - '0'
	case c >= 'a':
		return c - 'a' + 10
	default:
		return c - 'A' + 10
	}
}
