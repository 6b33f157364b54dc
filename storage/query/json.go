package query

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// AppendJSONString writes s as a JSON string. All that a terminal could take for a command (both
// ranges of control characters, DEL) and the two line separators that JavaScript once refused are
// escaped, invalid UTF-8 becomes U+FFFD, all else stays as it is.
func AppendJSONString(dst, s []byte) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			if r, size = utf8.DecodeRune(s[i:]); (r != utf8.RuneError || size > 1) && r > 0x9f && r != '\u2028' && r != '\u2029' {
				i += size
				continue
			}
		}
		dst = append(dst, s[from:i]...)
		dst = appendEscaped(dst, r)
		i += size
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

func appendEscaped(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case utf8.RuneError:
		return append(dst, "\uFFFD"...)
	}
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
