package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"sync"
)

// A keyboard is where the person types. Questions of servers and the login read from it in turns; a line that nobody waits for any more is
// kept for whoever asks next.
type keyboard struct {
	file *os.File
	r    *bufio.Reader

	mu      sync.Mutex
	pending chan typed // a line is being read
	rest    []byte     // of a line that was read and not taken
}

type typed struct {
	line []byte
	err  error
}

// keyboards are those in use, by file: a line that is being read must not be lost to whoever comes next.
var keyboards sync.Map

func newKeyboard(f *os.File) *keyboard {
	k, _ := keyboards.LoadOrStore(f, &keyboard{file: f, r: bufio.NewReader(f)})
	return k.(*keyboard)
}

// Fd is that of the terminal.
func (k *keyboard) Fd() uintptr { return k.file.Fd() }

// next begins to read a line, unless that is under way.
func (k *keyboard) next() chan typed {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pending == nil {
		ch := make(chan typed, 1)
		k.pending = ch
		go func() { // ends with the line; a read of a terminal cannot be given up
			line, err := k.r.ReadSlice('\n')
			ch <- typed{append([]byte(nil), line...), err}
		}()
	}
	return k.pending
}

func (k *keyboard) taken() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pending = nil
}

// Read implements io.Reader for the interactor.
func (k *keyboard) Read(p []byte) (int, error) {
	if len(k.rest) == 0 {
		t := <-k.next()
		k.taken()
		if len(t.line) == 0 {
			return 0, t.err
		}
		k.rest = t.line // an error comes again with the next line
	}
	n := copy(p, k.rest)
	k.rest = k.rest[n:]
	return n, nil
}

// line returns the next line, or the cause for which ctx ended first.
func (k *keyboard) line(ctx context.Context) (string, error) {
	var text strings.Builder
	for {
		select {
		case t := <-k.next():
			k.taken()
			text.Write(t.line)
			if t.err == bufio.ErrBufferFull && text.Len() < 64<<10 { //nolint:errorlint // it is returned as it is
				continue
			}
			if t.err != nil && (text.Len() == 0 || t.err != io.EOF) { //nolint:errorlint // as above
				return "", t.err
			}
			return strings.TrimSpace(text.String()), nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}
