package jsonrpc

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Append appends m to dst as one line of JSON in UTF-8, without a newline at
// its end, and returns the extended slice.
//
// Raw fields must hold one JSON value each, or be empty to leave the member
// out. They are copied, not encoded again: digits, escapes and the order of
// members stay. Only if one contains a line break is it compacted, and bytes
// that are not UTF-8 become U+FFFD, as they do in every other text of m. So
// whatever m holds, the result cannot break the framing of a stream.
//
// An absent id is left out, so an error that answers something unreadable has
// none. A response with neither result nor error gets the result null.
func Append(dst []byte, m *Message) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if !m.ID.IsZero() {
		dst = append(dst, `,"id":`...)
		dst = m.ID.AppendJSON(dst)
	}
	switch {
	case m.Method != "":
		dst = append(dst, `,"method":`...)
		dst = appendString(dst, m.Method)
		if len(m.Params) > 0 {
			dst = append(dst, `,"params":`...)
			dst = appendRaw(dst, m.Params)
		}
	case m.Error != nil:
		dst = append(dst, `,"error":`...)
		dst = appendError(dst, m.Error)
	case len(m.Result) > 0 && m.vouched:
		dst = append(dst, `,"result":`...)
		dst = append(dst, m.Result...)
	case len(m.Result) > 0:
		dst = append(dst, `,"result":`...)
		dst = appendRaw(dst, m.Result)
	default:
		dst = append(dst, `,"result":null`...)
	}
	return append(dst, '}')
}

// AppendUpToResult appends what precedes the result of a response with a
// vouched result. The result and a closing brace complete it.
func AppendUpToResult(dst []byte, m *Message) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if !m.ID.IsZero() {
		dst = append(dst, `,"id":`...)
		dst = m.ID.AppendJSON(dst)
	}
	return append(dst, `,"result":`...)
}

// Clean returns raw, which holds one JSON value, as Append would write it: in
// valid UTF-8 and without line breaks. It returns raw itself if it is so
// already.
func Clean(raw json.RawMessage) json.RawMessage {
	if isClean(raw) {
		return raw
	}
	return appendRaw(nil, raw)
}

func isClean(raw json.RawMessage) bool {
	return bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 && utf8.Valid(raw)
}

// appendError appends an error object.
func appendError(dst []byte, e *Error) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = appendString(dst, e.Message)
	if len(e.Data) > 0 {
		dst = append(dst, `,"data":`...)
		dst = appendRaw(dst, e.Data)
	}
	return append(dst, '}')
}

// appendString appends s as a JSON string, invalid UTF-8 replaced.
func appendString(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil { // only invalid UTF-8 can fail, and there is none left
		return append(dst, `""`...)
	}
	return out
}

// appendRaw appends one raw JSON value in valid UTF-8 and without line breaks.
func appendRaw(dst []byte, raw json.RawMessage) []byte {
	if isClean(raw) {
		return append(dst, raw...)
	}
	raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	out, err := jsontext.AppendFormat(dst, raw,
		jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true))
	if err == nil {
		return out
	}
	// Not JSON: the receiver will say so, but it stays one line.
	for _, c := range raw {
		if c == '\n' || c == '\r' {
			c = ' '
		}
		dst = append(dst, c)
	}
	return dst
}
