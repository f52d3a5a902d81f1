package schema

import (
	"bytes"
	"math"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The scanner steps over JSON text without judging it: whatever it is given has been, or will be, validated by package jsontext.
// It never reads outside of its input, and reports what cannot be JSON with a negative end.

const malformed = -1

func skipSpace(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// scanString steps over the string that starts at b[i].
func scanString(b []byte, i int) (end int, escaped bool) {
	const short = 24 // names and the like: not worth two calls
	i++
	for stop := min(len(b), i+short); i < stop; i++ {
		switch b[i] {
		case '"':
			return i + 1, false
		case '\\':
			return scanEscaped(b, i), true
		}
	}
	n := bytes.IndexByte(b[i:], '"')
	if n < 0 {
		return malformed, false
	}
	if k := bytes.IndexByte(b[i:i+n], '\\'); k >= 0 {
		return scanEscaped(b, i+k), true
	}
	return i + n + 1, false
}

// scanEscaped steps over the rest of a string; b[i] is its first backslash.
func scanEscaped(b []byte, i int) int {
	for ; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return malformed
}

// scanNumber steps over the number that starts at b[i] and counts its longest run of digits.
func scanNumber(b []byte, i int) (end, digits int) {
	run := 0
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case '0' <= c && c <= '9':
			run++
			digits = max(digits, run)
		case c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E':
			run = 0
		default:
			return i, digits
		}
	}
	return i, digits
}

func scanLiteral(b []byte, i int) int {
	for _, s := range [...]string{"true", "false", "null"} {
		if len(b)-i >= len(s) && string(b[i:i+len(s)]) == s {
			return i + len(s)
		}
	}
	return malformed
}

// skimmer steps over whole values.
type skimmer struct {
	depth  int  // deepest nesting that is stepped over
	digits int  // longest run of digits seen
	deep   bool // the limit was exceeded
}

// skip steps over the value that starts at b[i].
func (s *skimmer) skip(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch c := b[i]; {
		case c == '"':
			i, _ = scanString(b, i)
		case c == '{' || c == '[':
			depth++
			if depth > s.depth {
				s.deep = true
				return malformed
			}
			i++
			continue
		case c == '}' || c == ']':
			depth--
			i++
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',' || c == ':':
			if depth == 0 {
				return malformed
			}
			i++
			continue
		case c == '-' || '0' <= c && c <= '9':
			var n int
			i, n = scanNumber(b, i)
			s.digits = max(s.digits, n)
		default:
			i = scanLiteral(b, i)
		}
		if i < 0 {
			return malformed
		}
		if depth <= 0 {
			return i
		}
	}
	return malformed
}

// EachMember calls f for the members of an object, in their order, with the unquoted name, which is valid during the call, and the
// value. raw must be known to be valid JSON; EachMember reports whether it is an object.
func EachMember(raw []byte, f func(name, value []byte)) bool {
	i := skipSpace(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return false
	}
	s := skimmer{depth: math.MaxInt}
	var scratch []byte
	for i = skipSpace(raw, i+1); i < len(raw) && raw[i] == '"'; i = skipSpace(raw, i+1) {
		end, escaped := scanString(raw, i)
		if end < 0 {
			return false
		}
		name, unescaped, ok := unquote(scratch, raw[i:end], escaped)
		from := skipSpace(raw, end)
		if !ok || from == len(raw) || raw[from] != ':' {
			return false
		}
		scratch, from = unescaped, skipSpace(raw, from+1)
		if i = s.skip(raw, from); i < 0 {
			return false
		}
		f(name, raw[from:i:i])
		if i = skipSpace(raw, i); i == len(raw) || raw[i] != ',' {
			break
		}
	}
	return i < len(raw) && raw[i] == '}' && skipSpace(raw, i+1) == len(raw)
}

// unquote returns the text of a string literal including its quotes; scratch is reused when escapes have to be undone.
func unquote(scratch, lit []byte, escaped bool) (text, newScratch []byte, ok bool) {
	if !escaped {
		return lit[1 : len(lit)-1], scratch, true
	}
	out, err := jsontext.AppendUnquote(scratch[:0], lit)
	return out, out, err == nil
}

// describe says what a JSON text is, shortened for messages.
func describe(lit []byte) string {
	const most = 40
	if len(lit) == 0 {
		return "nothing"
	}
	switch lit[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		if len(lit) > 4*most {
			lit = append(bytes.ToValidUTF8(lit[:4*most], nil), '"')
		}
		return "the string " + shorten(string(lit), most)
	case 't', 'f':
		return "the boolean " + string(lit)
	case 'n':
		return "null"
	}
	return "the number " + shorten(string(lit), most)
}

// shorten cuts s to at most n code points, and says that it did.
func shorten(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// kindOf names the JSON type of a text for messages, without showing the value.
func kindOf(lit []byte) string {
	d := describe(lit)
	if rest, ok := strings.CutPrefix(d, "the "); ok {
		kind, _, _ := strings.Cut(rest, " ")
		return "a " + kind
	}
	return d
}
