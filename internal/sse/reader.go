package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// DefaultMaxEvent is the bound on one event where none is given: 16 MiB.
	DefaultMaxEvent = 16 << 20

	firstBuffer = 4 << 10   // what a reader starts with
	keepBuffer  = 256 << 10 // buffers beyond this are given up after use
)

// ErrTooLong is wrapped by the error of [Reader.Next] for an event that is
// larger than the reader allows.
var ErrTooLong = errors.New("event too long")

// Reader reads events from a stream. It must not be used concurrently.
type Reader struct {
	r   io.Reader
	max int
	err error // ends the stream once what was buffered is used up

	buf        []byte // buf[start:end] is not yet used
	start, end int
	scanned    int  // no line end in buf[start : start+scanned]
	skipLF     bool // the last line ended in CR; a LF that follows belongs to it
	begun      bool // the byte order mark can no longer come

	data []byte // of the event being read
}

// NewReader returns a reader of the stream r. An event whose data, or one of
// whose lines, takes more than maxEvent bytes ends the stream with an error;
// 0 or less means [DefaultMaxEvent]. Any number of events may follow each other.
func NewReader(r io.Reader, maxEvent int) *Reader {
	if maxEvent <= 0 {
		maxEvent = DefaultMaxEvent
	}
	return &Reader{r: r, max: maxEvent}
}

// Next returns the next event that has data, an id or a retry time; all others
// do nothing by the standard. Its Data is valid until the next call.
//
// At the end of the stream the error is [io.EOF]; an event that no blank line
// has ended by then is discarded, as the standard wants. An event beyond the
// bound gives an error that wraps [ErrTooLong] and names the bound; any other
// error is the one of the underlying reader. Errors repeat on further calls.
func (r *Reader) Next() (Event, error) {
	var ev Event
	if cap(r.data) > keepBuffer {
		r.data = nil
	}
	r.data = r.data[:0]
	hasData := false
	for {
		line, err := r.line()
		if err != nil {
			return Event{}, err
		}
		if len(line) > 0 {
			isData, err := r.field(&ev, line)
			if err != nil {
				return Event{}, err
			}
			hasData = hasData || isData
			continue
		}
		if hasData {
			ev.Data = r.data[: len(r.data)-1 : len(r.data)-1] // the last line feed is no part of it
		}
		if hasData || ev.HasID || ev.Retry > 0 {
			return ev, nil
		}
		ev = Event{} // a name alone means nothing
	}
}

// field applies one line that is not blank, and reports whether it was data.
func (r *Reader) field(ev *Event, line []byte) (isData bool, err error) {
	name, value, _ := bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "data":
		if len(r.data)+len(value) > r.max {
			return false, r.tooLong()
		}
		r.data = append(r.data, value...)
		r.data = append(r.data, '\n')
		return true, nil
	case "event":
		ev.Name = eventName(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			ev.ID, ev.HasID = string(value), true
		}
	case "retry":
		if d, ok := retry(value); ok {
			ev.Retry = d
		}
	}
	return false, nil
}

// eventName returns the name without allocating the usual one.
func eventName(value []byte) string {
	if string(value) == "message" {
		return "message"
	}
	return string(value)
}

// maxRetry is what longer times become, so that they fit into a Duration.
const maxRetry = 365 * 24 * time.Hour

// retry reads a time in milliseconds, digits only.
func retry(value []byte) (time.Duration, bool) {
	var ms int64
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		ms = min(ms*10+int64(c-'0'), maxRetry.Milliseconds())
	}
	return time.Duration(ms) * time.Millisecond, len(value) > 0
}

// line returns the next line without its end; it is valid until the next call.
func (r *Reader) line() ([]byte, error) {
	for {
		if r.skipLF && r.start < r.end {
			r.skipLF = false
			if r.buf[r.start] == '\n' {
				r.start++
			}
		}
		unused := r.buf[r.start:r.end]
		if i := lineEnd(unused[r.scanned:]); i >= 0 {
			line := unused[:r.scanned+i]
			r.skipLF = unused[len(line)] == '\r'
			r.start += len(line) + 1
			r.scanned = 0
			if len(line) > r.max {
				return nil, r.tooLong()
			}
			return r.withoutMark(line), nil
		}
		r.scanned = len(unused)
		if r.scanned > r.max {
			return nil, r.tooLong()
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// withoutMark removes the byte order mark from the first line of the stream.
func (r *Reader) withoutMark(line []byte) []byte {
	if r.begun {
		return line
	}
	r.begun = true
	return bytes.TrimPrefix(line, []byte("\ufeff"))
}

// tooLong ends the stream.
func (r *Reader) tooLong() error {
	r.err = fmt.Errorf("event stream: %w: more than the limit of %d bytes", ErrTooLong, r.max)
	r.start, r.end, r.scanned = 0, 0, 0
	r.buf, r.data = nil, nil
	return r.err
}

// fill reads more bytes behind those that are not yet used.
func (r *Reader) fill() error {
	if r.err != nil {
		return r.err
	}
	r.makeRoom()
	for range 100 {
		n, err := r.r.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	r.err = io.ErrNoProgress
	return r.err
}

// makeRoom moves the unused bytes to the front of a buffer that has space.
func (r *Reader) makeRoom() {
	unused := r.buf[r.start:r.end]
	switch {
	case r.buf == nil, len(unused) == 0 && len(r.buf) > keepBuffer:
		r.buf = make([]byte, firstBuffer)
	case 2*len(unused) > len(r.buf):
		r.buf = make([]byte, 2*len(r.buf))
	}
	copy(r.buf, unused)
	r.start, r.end = 0, len(unused)
}
