package terminal

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
)

// maxLine bounds what can be typed as one answer, in bytes.
const maxLine = 64 << 10

var errLong = errors.New("the line is too long")

// lines reads lines so that who waits for one can give up.
type lines struct {
	terminal bool
	r        *bufio.Reader

	mu      sync.Mutex
	pending chan line // of a Read that is under way
	dropped bool      // the pending line was typed for a question that is gone
}

type line struct {
	text string
	err  error
}

func newLines(r io.Reader) *lines {
	return &lines{terminal: isTerminal(r), r: bufio.NewReader(r)}
}

// read returns the next line without its end. When ctx ends first the read goes on for whoever comes next.
func (l *lines) read(ctx context.Context) (string, error) {
	l.mu.Lock()
	ch := l.pending
	if ch == nil {
		ch = make(chan line, 1)
		l.pending = ch
		go func() { ch <- l.next() }() // ends with the Read; see New
	}
	l.mu.Unlock()
	select {
	case got := <-ch:
		l.settle(false)
		return got.text, got.err
	case <-ctx.Done():
		l.mu.Lock()
		l.dropped = l.terminal
		l.mu.Unlock()
		return "", context.Cause(ctx)
	}
}

func (l *lines) settle(dropped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending, l.dropped = nil, dropped
}

// stale reports whether the line that is being typed belongs to a question that is gone.
func (l *lines) stale() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}

// next reads one line, in bounded memory.
func (l *lines) next() line {
	var b strings.Builder
	for {
		part, more, err := l.r.ReadLine()
		if err != nil {
			return line{err: err}
		}
		if b.Len()+len(part) <= maxLine {
			b.Write(part)
		} else {
			b.WriteString(strings.Repeat(" ", maxLine+1-b.Len()))
		}
		if more {
			continue
		}
		if b.Len() > maxLine {
			return line{err: errLong}
		}
		return line{text: strings.ToValidUTF8(b.String(), "\uFFFD")}
	}
}
