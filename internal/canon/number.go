package canon

import (
	"bytes"
	"strconv"
)

// maxExponentDigits bounds the exponents that are brought into canonical form. A longer one is kept as it was written: such numbers
// are equal only when their text is, which errs on the side of "changed".
const maxExponentDigits = 17

// AppendNumber appends the canonical form of a JSON number: the sign, the digits without leading or trailing zeros, and, where it is
// not zero, an exponent. Integers of up to 21 digits are written out in full. Nothing is rounded, whatever the length; zero has no
// sign. n must be a valid JSON number.
//
//	1.0 → 1    -0 → 0    1e2 → 100    0.50 → 5e-1    9007199254740993 → 9007199254740993
func AppendNumber(dst, n []byte) []byte {
	mantissa, exponent, long := split(n)
	negative := mantissa[0] == '-'
	mantissa = bytes.TrimPrefix(mantissa, []byte("-"))
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	digits := append(bytes.Clone(whole), fraction...)
	digits = bytes.TrimLeft(digits, "0")
	trimmed := bytes.TrimRight(digits, "0")
	if len(trimmed) == 0 {
		return append(dst, '0')
	}
	if long {
		return append(dst, n...)
	}
	if negative {
		dst = append(dst, '-')
	}
	exponent += int64(len(digits) - len(trimmed) - len(fraction))
	dst = append(dst, trimmed...)
	if exponent >= 0 && int64(len(trimmed))+exponent <= 21 {
		return append(dst, bytes.Repeat([]byte{'0'}, int(exponent))...)
	}
	if exponent == 0 {
		return dst
	}
	dst = append(dst, 'e')
	return strconv.AppendInt(dst, exponent, 10)
}

// split parts a number at its exponent; long tells that the exponent has too many digits to be computed with.
func split(n []byte) (mantissa []byte, exponent int64, long bool) {
	i := bytes.IndexAny(n, "eE")
	if i < 0 {
		return n, 0, false
	}
	text := n[i+1:]
	digits := bytes.TrimLeft(bytes.TrimLeft(text, "+-"), "0")
	if len(digits) > maxExponentDigits {
		return n[:i], 0, true
	}
	for _, d := range digits {
		exponent = exponent*10 + int64(d-'0')
	}
	if text[0] == '-' {
		exponent = -exponent
	}
	return n[:i], exponent, false
}
