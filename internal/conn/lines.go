package conn

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"
)

const (
	readBuffer    = 64 << 10
	keepBeginning = 1 << 10 // what is kept of a line that is too long
	keepEnd       = 256
)

// errLineTooLong comes with the beginning of a line; the rest was skipped.
var errLineTooLong = errors.New("line too long")

var readBuffers = sync.Pool{New: func() any { return new([readBuffer]byte) }}

// lineReader cuts a stream into lines.
type lineReader struct {
	r          io.Reader
	max        int
	buf        *[readBuffer]byte
	start, end int // what is not yet used
	err        error
	tail       []byte // the end of the last line that was too long
}

// newLineReader returns a reader of lines of at most maxLine bytes.
func newLineReader(r io.Reader, maxLine int) *lineReader {
	return &lineReader{r: r, max: maxLine, buf: readBuffers.Get().(*[readBuffer]byte)}
}

// release gives the buffer back.
func (l *lineReader) release() {
	readBuffers.Put(l.buf)
	l.buf = nil
}

// next returns the next line without its newline, in memory of its own. A last
// line without a newline counts. After errLineTooLong reading can go on, after
// any other error not.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	over := false
	for {
		part, whole := l.part()
		line, over = l.join(line, part, over)
		if whole {
			return result(line, over)
		}
		if l.err != nil {
			if errors.Is(l.err, io.EOF) && (len(line) > 0 || over) {
				return result(line, over)
			}
			return nil, l.err
		}
		l.fill()
	}
}

// result is what next returns for a line.
func result(line []byte, over bool) ([]byte, error) {
	if over {
		return line, errLineTooLong
	}
	return line, nil
}

// part uses up the buffer to the end of the line. A line that did not end yet
// is left there until the buffer is full or the stream over.
func (l *lineReader) part() (part []byte, whole bool) {
	unused := l.buf[l.start:l.end]
	if i := bytes.IndexByte(unused, '\n'); i >= 0 {
		l.start += i + 1
		return unused[:i], true
	}
	if len(unused) == len(l.buf) || l.err != nil {
		l.start, l.end = 0, 0
		return unused, false
	}
	return nil, false
}

// join appends part to line. Once the line is too long only its beginning stays.
func (l *lineReader) join(line, part []byte, over bool) ([]byte, bool) {
	if over {
		l.keepTail(part)
		return line, true
	}
	if n := len(line) + len(part); n > l.max {
		l.tail = l.tail[:0]
		l.keepTail(line)
		l.keepTail(part)
		keep := min(keepBeginning, l.max)
		line = append(line[:min(keep, len(line))], part[:max(0, min(keep-len(line), len(part)))]...)
		return slices.Clone(line), true
	}
	if len(line) > 0 && cap(line)-len(line) < len(part) {
		line = slices.Grow(line, max(len(part), min(len(line), l.max-len(line))))
	}
	if line == nil && len(part) > 0 {
		line = make([]byte, 0, len(part))
	}
	return append(line, part...), false
}

// keepTail adds part to the tail.
func (l *lineReader) keepTail(part []byte) {
	part = part[max(0, len(part)-keepEnd):]
	if n := len(l.tail) + len(part) - keepEnd; n > 0 {
		l.tail = slices.Delete(l.tail, 0, n)
	}
	l.tail = append(l.tail, part...)
}

// fill reads more, behind what is not yet used.
func (l *lineReader) fill() {
	copy(l.buf[:], l.buf[l.start:l.end])
	l.start, l.end = 0, l.end-l.start
	for range 100 {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		l.err = err
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}
