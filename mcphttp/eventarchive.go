//go:build !mcp_modern_only

package mcphttp

import (
	"bytes"
	"encoding/binary"
	"time"
)

// An archive holds the messages of streams that have ended, for clients that come back for the rest. It is two pieces of memory without
// pointers, so that the collector has nothing to do however much is kept: as tracks and messages of their own they made each collection
// several times as long. The zero archive is empty.
type archive struct {
	streams     []archived
	data        []byte // what they have, one after the other
	first, from int    // where the oldest one is, in streams and in data
}

// archived is a stream in an archive.
type archived struct {
	number uint64
	ended  time.Duration // since the table of sessions was made
	size   int           // in data
	kept   int           // bytes of messages
}

func (a *archive) len() int { return len(a.streams) - a.first }

// add appends a stream.
func (a *archive) add(number uint64, ended time.Duration, events []event) {
	s := archived{number: number, ended: ended}
	begin := len(a.data)
	for _, ev := range events {
		a.data = binary.AppendUvarint(a.data, ev.seq)
		a.data = binary.AppendUvarint(a.data, uint64(len(ev.data)))
		a.data = append(a.data, ev.data...)
		s.kept += len(ev.data)
	}
	s.size = len(a.data) - begin
	a.streams = append(a.streams, s)
}

// oldest returns the stream that ended first. There must be one.
func (a *archive) oldest() archived { return a.streams[a.first] }

// drop removes the oldest stream.
func (a *archive) drop() {
	a.from += a.oldest().size
	if a.first++; a.first == len(a.streams) {
		*a = archive{} // an idle session holds nothing
		return
	}
	if a.first > a.len() {
		a.streams = append(a.streams[:0], a.streams[a.first:]...)
		a.first = 0
	}
	if a.from > len(a.data)/3 {
		a.data = append(a.data[:0], a.data[a.from:]...)
		a.from = 0
	}
}

// find returns where a stream lies in data; ok is false if it is not here.
func (a *archive) find(number uint64) (begin, end int, ok bool) {
	begin = a.from
	for _, s := range a.streams[a.first:] {
		if s.number == number {
			return begin, begin + s.size, true
		}
		begin += s.size
	}
	return 0, 0, false
}

// after returns the messages of a stream after a position.
func (a *archive) after(number, seq uint64) (events []event) {
	begin, end, _ := a.find(number)
	for rest := a.data[begin:end]; len(rest) > 0; {
		at, n := binary.Uvarint(rest)
		size, m := binary.Uvarint(rest[n:])
		data := rest[n+m:][:size]
		rest = rest[n+m+len(data):]
		if at > seq {
			events = append(events, event{seq: at, data: bytes.Clone(data)})
		}
	}
	return events
}
