package sse

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Event is one event of a stream.
type Event struct {
	// Name is the event field; "" and "message" mean the same.
	Name string
	// ID is the id field if HasID is set; it may be empty, which tells the
	// receiver to forget the last id. Without HasID the last id stays in force.
	ID    string
	HasID bool
	// Data is what the data fields hold, joined by line feeds. It is nil if
	// there was no data field and empty if there was an empty one.
	Data []byte
	// Retry is how long to wait before reconnecting, in whole milliseconds;
	// 0 means that the event does not say. A reader returns a year at most.
	Retry time.Duration
}

// Append appends ev to dst as it goes over the wire, the blank line that ends
// it included. Every line of Data, however it ends, becomes a data line of its
// own, so a carriage return arrives as a line feed. Line breaks cannot be sent in
// Name and ID, nor NUL in ID; they are left out.
func Append(dst []byte, ev *Event) []byte {
	if ev.HasID {
		dst = appendField(dst, "id", strings.ReplaceAll(ev.ID, "\x00", ""))
	}
	if ev.Name != "" {
		dst = appendField(dst, "event", ev.Name)
	}
	if ms := ev.Retry.Milliseconds(); ms > 0 {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, ms, 10)
		dst = append(dst, '\n')
	}
	if ev.Data != nil {
		dst = appendLines(dst, "data: ", ev.Data)
	}
	return append(dst, '\n')
}

// AppendComment appends text as a comment, which receivers ignore: a keep-alive
// or a note. It must not be written within an event.
func AppendComment(dst []byte, text string) []byte {
	dst = appendLines(dst, ": ", []byte(text))
	return append(dst, '\n')
}

// appendField appends a field whose value is a single line.
func appendField(dst []byte, name, value string) []byte {
	if strings.ContainsAny(value, "\r\n") {
		value = strings.NewReplacer("\r", "", "\n", "").Replace(value)
	}
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, '\n')
}

// appendLines appends each line of text behind prefix.
func appendLines(dst []byte, prefix string, text []byte) []byte {
	for {
		line, rest, more := cutLine(text)
		dst = append(dst, prefix...)
		dst = append(dst, line...)
		dst = append(dst, '\n')
		if !more {
			return dst
		}
		text = rest
	}
}

// cutLine cuts text after its first line, which ends in CR, LF or CRLF.
func cutLine(text []byte) (line, rest []byte, more bool) {
	i := lineEnd(text)
	if i < 0 {
		return text, nil, false
	}
	line, rest = text[:i], text[i+1:]
	if text[i] == '\r' && len(rest) > 0 && rest[0] == '\n' {
		rest = rest[1:]
	}
	return line, rest, true
}

// lineEnd returns the index of the first CR or LF in b, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}
