package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Lines is a connection with one message a line.
type Lines struct {
	w   io.Writer
	in  *bufio.Reader
	buf []byte
}

// NewLines returns the client's side of a connection.
func NewLines(r io.Reader, w io.Writer) *Lines {
	return &Lines{w: w, in: bufio.NewReaderSize(r, 64<<10)}
}

// Send writes a message.
func (l *Lines) Send(m *Bytes) error {
	_, err := l.w.Write(m.Raw)
	return err
}

// Next reads a message, which stays valid until the next call.
func (l *Lines) Next() ([]byte, error) {
	part, err := l.in.ReadSlice('\n')
	if err == nil {
		return part, nil
	}
	l.buf = l.buf[:0]
	for errors.Is(err, bufio.ErrBufferFull) {
		l.buf = append(l.buf, part...)
		part, err = l.in.ReadSlice('\n')
	}
	l.buf = append(l.buf, part...)
	return l.buf, err
}

// Do sends a request and reads its answer.
func (l *Lines) Do(m *Bytes) ([]byte, error) {
	if err := l.Send(m); err != nil {
		return nil, err
	}
	return l.Next()
}

// Handshake agrees on the older revision.
func (l *Lines) Handshake() error {
	answer, err := l.Do(Initialize().Line())
	if err != nil {
		return err
	}
	if !bytes.Contains(answer, []byte(`"protocolVersion"`)) {
		return fmt.Errorf("initialize: %s", answer)
	}
	return l.Send(Initialized().Line())
}
