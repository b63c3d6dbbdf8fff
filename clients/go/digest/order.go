package digest

import (
	"bytes"
	"cmp"
	"unicode/utf16"
	"unicode/utf8"
)

// compareKeys orders keys by their UTF-16 code units, as RFC 8785 has it.
func compareKeys(a, b []byte) int {
	if !bytes.ContainsFunc(a, isLate) || !bytes.ContainsFunc(b, isLate) {
		return bytes.Compare(a, b)
	}
	left, right := units{rest: a}, units{rest: b}
	for {
		x, more := left.next()
		y, also := right.next()
		if !more || !also || x != y {
			// The end is less than any unit.
			return cmp.Compare(x, y)
		}
	}
}

// isLate tells whether UTF-8 may order a character otherwise than UTF-16: from the surrogates on, which decode as
// utf8.RuneError.
func isLate(r rune) bool { return r >= 0xe000 }

// units yields a key's UTF-16 code units.
type units struct {
	rest []byte
	low  rune
}

// next returns the next unit, -1 and false at the end.
func (u *units) next() (rune, bool) {
	if u.low != 0 {
		low := u.low
		u.low = 0
		return low, true
	}
	if len(u.rest) == 0 {
		return -1, false
	}
	r, size := utf8.DecodeRune(u.rest)
	if r == utf8.RuneError && size == 1 {
		// A surrogate, which has three bytes.
		r = 0xd000 | rune(u.rest[1]&0x3f)<<6 | rune(u.rest[2]&0x3f)
		size = 3
	}
	u.rest = u.rest[size:]
	if r > 0xffff {
		r, u.low = utf16.EncodeRune(r)
	}
	return r, true
}
