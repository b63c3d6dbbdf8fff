package digest

import (
	"bytes"
	"strconv"
)

// number reads a number and writes it: an integer token by its digits, any other as ECMAScript writes the double.
func (w *writer) number() bool {
	token, isInteger := numberToken(w.in[w.at:])
	if len(token) == 0 {
		return false
	}
	w.at += len(token)
	if isInteger {
		w.integer(token)
		return true
	}
	double, err := strconv.ParseFloat(string(token), 64)
	if err != nil {
		// The grammar was checked, so it is out of range: the token's own text tells numbers apart.
		w.flags |= Overflow
		w.out = append(w.out, bytes.ReplaceAll(bytes.ToLower(token), []byte("+"), nil)...)
		return true
	}
	w.out = appendDouble(w.out, double)
	return true
}

func (w *writer) integer(token []byte) {
	if string(token) == "-0" {
		token = token[1:]
	}
	digits := bytes.TrimPrefix(token, []byte("-"))
	const largest = "9007199254740991"
	if len(digits) > len(largest) || (len(digits) == len(largest) && string(digits) > largest) {
		w.flags |= BigInt
	}
	w.out = append(w.out, token...)
}

// numberToken returns the number that text starts with, nothing if there is none, and whether it is a mere integer.
func numberToken(text []byte) (token []byte, isInteger bool) {
	at := 0
	if at < len(text) && text[at] == '-' {
		at++
	}
	whole := digitsAt(text, at)
	if whole == 0 {
		return nil, false
	}
	if text[at] == '0' {
		whole = 1
	}
	at += whole
	isInteger = true
	if at < len(text) && text[at] == '.' {
		if fraction := digitsAt(text, at+1); fraction > 0 {
			at += 1 + fraction
			isInteger = false
		}
	}
	if at < len(text) && (text[at] == 'e' || text[at] == 'E') {
		sign := at + 1
		if sign < len(text) && (text[sign] == '+' || text[sign] == '-') {
			sign++
		}
		if exponent := digitsAt(text, sign); exponent > 0 {
			at = sign + exponent
			isInteger = false
		}
	}
	// Whatever follows, a digit after a leading zero too, is refused by whoever looks for a comma or the end.
	return text[:at], isInteger
}

func digitsAt(text []byte, at int) int {
	count := 0
	for at+count < len(text) && '0' <= text[at+count] && text[at+count] <= '9' {
		count++
	}
	return count
}

// appendDouble writes a double as ECMAScript's Number::toString does: the shortest digits that name it, as a plain
// decimal from 1e-6 up to 1e21.
func appendDouble(out []byte, double float64) []byte {
	if double == 0 {
		return append(out, '0')
	}
	var scratch [32]byte
	text := strconv.AppendFloat(scratch[:0], double, 'e', -1, 64)
	if text[0] == '-' {
		out = append(out, '-')
		text = text[1:]
	}
	mantissa, exponentText, _ := bytes.Cut(text, []byte("e"))
	exponent, _ := strconv.Atoi(string(exponentText))
	digits := bytes.ReplaceAll(mantissa, []byte("."), nil)
	// The value is 0.digits times ten to the power of point.
	point := exponent + 1
	switch {
	case point > 21 || point <= -6:
		return appendScientific(out, digits, exponent)
	case point <= 0:
		out = append(out, '0', '.')
		out = append(out, bytes.Repeat([]byte("0"), -point)...)
		return append(out, digits...)
	case point >= len(digits):
		out = append(out, digits...)
		return append(out, bytes.Repeat([]byte("0"), point-len(digits))...)
	default:
		out = append(out, digits[:point]...)
		out = append(out, '.')
		return append(out, digits[point:]...)
	}
}

func appendScientific(out, digits []byte, exponent int) []byte {
	out = append(out, digits[0])
	if len(digits) > 1 {
		out = append(out, '.')
		out = append(out, digits[1:]...)
	}
	out = append(out, 'e')
	if exponent > 0 {
		out = append(out, '+')
	}
	return strconv.AppendInt(out, int64(exponent), 10)
}
