package schema

import (
	"strconv"
	"strings"
)

// decimal is a JSON number taken apart without loss: 0.digits × 10^exp, with neither leading nor trailing zeros in digits.
// Zero has no digits. Comparing two of them never needs more memory than the text they came from, whatever the exponents.
type decimal struct {
	neg    bool
	digits string
	exp    int64
}

// parseDecimal reads a number in strict JSON syntax.
func parseDecimal(s string) (d decimal, ok bool) {
	s, d.neg = strings.CutPrefix(s, "-")
	whole := leadingDigits(s)
	if whole == 0 || whole > 1 && s[0] == '0' {
		return decimal{}, false
	}
	digits, rest := s[:whole], s[whole:]
	d.exp = int64(whole)
	if frac, found := strings.CutPrefix(rest, "."); found {
		n := leadingDigits(frac)
		if n == 0 {
			return decimal{}, false
		}
		digits, rest = digits+frac[:n], frac[n:]
	}
	if rest != "" {
		e, ok := parseExponent(rest)
		if !ok {
			return decimal{}, false
		}
		d.exp += e
	}
	trimmed := strings.TrimLeft(digits, "0")
	d.exp -= int64(len(digits) - len(trimmed))
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		return decimal{}, true
	}
	return d, true
}

func leadingDigits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

// parseExponent reads e±digits; exponents beyond any use are clamped, which keeps their order.
func parseExponent(s string) (int64, bool) {
	if s[0] != 'e' && s[0] != 'E' {
		return 0, false
	}
	s = s[1:]
	neg := strings.HasPrefix(s, "-")
	if neg || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if s == "" || leadingDigits(s) != len(s) {
		return 0, false
	}
	const most = 1 << 40
	e, err := strconv.ParseInt(s, 10, 64)
	if err != nil || e > most {
		e = most
	}
	if neg {
		e = -e
	}
	return e, true
}

// integer reports whether d has no fraction.
func (d decimal) integer() bool { return d.exp >= int64(len(d.digits)) || d.digits == "" }

// cmp orders two decimals exactly.
func (d decimal) cmp(o decimal) int {
	if d.digits == "" || o.digits == "" || d.neg != o.neg {
		return d.sign() - o.sign()
	}
	sign := 1
	if d.neg {
		sign = -1
	}
	switch {
	case d.exp < o.exp:
		return -sign
	case d.exp > o.exp:
		return sign
	}
	return sign * strings.Compare(d.digits, o.digits)
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.neg:
		return -1
	}
	return 1
}

// plain writes an integer of at most 40 digits without fraction and exponent.
func (d decimal) plain() (string, bool) {
	if !d.integer() || d.exp > 40 {
		return "", false
	}
	if d.digits == "" {
		return "0", true
	}
	s := d.digits + strings.Repeat("0", int(d.exp)-len(d.digits))
	if d.neg {
		s = "-" + s
	}
	return s, true
}

// IsNumber reports whether s is a number in JSON syntax.
func IsNumber(s string) bool {
	_, ok := parseDecimal(s)
	return ok
}
