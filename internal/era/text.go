package era

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxQuoted bounds what an error message repeats of the peer's own text, in bytes.
const maxQuoted = 128

// clean returns s as valid UTF-8, cut to a length that is fit for an error.
func clean(s string) string {
	if len(s) > maxQuoted {
		cut := maxQuoted
		for cut > maxQuoted-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// quote returns s in single quotes, cleaned, with what cannot be printed replaced.
func quote(s string) string {
	return "'" + strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, clean(s)) + "'"
}

// appendString appends s as a JSON string. s is valid UTF-8, so that it cannot fail.
func appendString(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		return append(dst, `""`...)
	}
	return out
}
