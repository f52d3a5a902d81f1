package jsonrpc

import "bytes"

// MaxDepth bounds how deep objects and arrays of a message may be nested, the
// message itself included. Deeper ones are refused with [CodeInvalidRequest].
const MaxDepth = 1000

var errTooDeep = &Error{
	Code:    CodeInvalidRequest,
	Message: "invalid request: nested deeper than 1000 levels",
}

// tooDeep reports whether data is nested deeper than MaxDepth. It costs two
// vectorised counts unless the message has more than MaxDepth openings at all.
func tooDeep(data []byte) bool {
	if len(data) <= MaxDepth || bytes.Count(data, []byte{'{'})+bytes.Count(data, []byte{'['}) <= MaxDepth {
		return false
	}
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = endOfString(data, i)
		case '{', '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// endOfString returns the index of the quote that ends the string starting at
// data[i], or the last index of data if nothing ends it.
func endOfString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(data) - 1
}
