package digest

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string and writes it with the fewest escapes. The input is known to be UTF-8.
func (w *writer) text() bool {
	w.at++
	w.out = append(w.out, '"')
	for w.at < len(w.in) {
		plain := w.at
		for plain < len(w.in) && isPlain(w.in[plain]) {
			plain++
		}
		w.out = append(w.out, w.in[w.at:plain]...)
		w.at = plain
		if w.at == len(w.in) || w.in[w.at] < ' ' {
			return false
		}
		if w.in[w.at] == '"' {
			w.at++
			w.out = append(w.out, '"')
			return true
		}
		r, size := unescape(w.in[w.at:])
		if size == 0 {
			return false
		}
		w.at += size
		w.write(r)
	}
	return false
}

func isPlain(c byte) bool { return c >= ' ' && c != '"' && c != '\\' }

// write writes a character that was escaped.
func (w *writer) write(r rune) {
	const digits = "0123456789abcdef"
	switch {
	case r == '"' || r == '\\':
		w.out = append(w.out, '\\', byte(r))
	case r < ' ':
		if short := bytes.IndexRune([]byte("\b\t\n\f\r"), r); short >= 0 {
			w.out = append(w.out, '\\', "btnfr"[short])
			return
		}
		w.out = append(w.out, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
	case utf16.IsSurrogate(r):
		w.flags |= Surrogate
		w.out = append(w.out, '\\', 'u', digits[r>>12], digits[r>>8&15], digits[r>>4&15], digits[r&15])
	default:
		w.out = utf8.AppendRune(w.out, r)
	}
}

// unescape returns the character of the escape that text starts with, and its length; 0 for none. Two escapes that are
// a pair of surrogates are one character, one that has no other half is returned as it is.
func unescape(text []byte) (rune, int) {
	if len(text) < 2 {
		return 0, 0
	}
	switch c := text[1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	high, ok := unit(text)
	if !ok {
		return 0, 0
	}
	if low, ok := unit(text[6:]); ok {
		if pair := utf16.DecodeRune(high, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return high, 6
}

// unit returns the code unit of the escape `\uXXXX` that text starts with.
func unit(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	r := rune(0)
	for _, c := range text[2:6] {
		r <<= 4
		switch {
		case '0' <= c && c <= '9':
			r |= rune(c - '0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r |= rune(c | 0x20 - 'a' + 10)
		default:
			return 0, false
		}
	}
	return r, true
}

// plainKey returns the key that a valid string stands for, see member.
func plainKey(quoted []byte) []byte {
	text := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	key := make([]byte, 0, len(text))
	for len(text) > 0 {
		if text[0] != '\\' {
			key = append(key, text[0])
			text = text[1:]
			continue
		}
		r, size := unescape(text)
		key = appendUnit(key, r)
		text = text[size:]
	}
	return key
}

// appendUnit appends a character as UTF-8, a surrogate as the three bytes that UTF-8 would have for it.
func appendUnit(key []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(key, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(key, r)
}
