// Package sse reads and writes event streams, the format of the HTML Living
// Standard, section 9.2.6 ("text/event-stream"). It is pure: no HTTP, no
// goroutines, no clocks.
//
// The [Reader] takes every line end the standard knows (LF, CRLF, CR), a byte
// order mark, several data lines in an event, fields with and without a space
// after the colon, fields without a colon, comments and unknown fields, cut
// into reads in any way. It bounds the memory that one event may take, never
// the length of the stream.
//
// Invalid UTF-8 is passed on as it is: who reads the data has to judge it.
//
// Unlike a browser it also returns events that have an id or a retry time and
// no data, because a client that wants to resume has to know both.
//
//	event.go   Event, Append, AppendComment
//	reader.go  Reader
package sse
