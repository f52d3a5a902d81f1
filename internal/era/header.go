package era

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

const (
	headerOpen  = "=?base64?"
	headerClose = "?="
)

// EncodeHeader returns s as the value of an HTTP header that repeats something of the body (Mcp-Name, Mcp-Param-*).
//
// Text of printable ASCII without a space at either end is its own encoding. Anything else, and text that looks encoded
// already, is written in the Base64 form =?base64?…?=. The empty string is its own encoding: the header is sent, empty.
// Invalid UTF-8 in s is replaced, as it is in the body.
func EncodeHeader(s string) string {
	if plainHeader(s) {
		return s
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return headerOpen + base64.StdEncoding.EncodeToString([]byte(s)) + headerClose
}

func plainHeader(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7E {
			return false
		}
	}
	if s == "" {
		return true
	}
	looksWrapped := strings.HasPrefix(s, headerOpen) && strings.HasSuffix(s, headerClose) // overlapping markers too
	return s[0] != ' ' && s[len(s)-1] != ' ' && !looksWrapped
}

func wrapped(s string) bool {
	return len(s) >= len(headerOpen)+len(headerClose) && strings.HasPrefix(s, headerOpen) && strings.HasSuffix(s, headerClose)
}

// DecodeHeader undoes [EncodeHeader]. The markers are case-sensitive: other spellings are literal text. It reports false
// for a value in Base64 form that is not strict, padded standard Base64 of UTF-8 text.
// It allocates only for the Base64 form.
func DecodeHeader(h string) (string, bool) {
	if !wrapped(h) {
		return h, true
	}
	body := h[len(headerOpen) : len(h)-len(headerClose)]
	if strings.ContainsAny(body, "\r\n") { // the decoder would skip them
		return "", false
	}
	b, err := base64.StdEncoding.Strict().DecodeString(body)
	if err != nil || !utf8.Valid(b) {
		return "", false
	}
	return string(b), true
}
