package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
)

// A Conn is one HTTP connection with one request at a time.
type Conn struct {
	c       net.Conn
	in      *bufio.Reader
	Host    string
	Session string // the last Mcp-Session-Id that came

	left    int64 // of the body, or of the current chunk of it
	chunked bool
	body    []byte // memory for bodies and events
}

// Dial connects.
func Dial(host string) (*Conn, error) {
	c, err := new(net.Dialer).DialContext(context.Background(), "tcp", host)
	if err != nil {
		return nil, err
	}
	return &Conn{c: c, in: bufio.NewReaderSize(c, 32<<10), Host: host}, nil
}

// Close ends the connection.
func (c *Conn) Close() error { return c.c.Close() }

// line reads a line without its end.
func (c *Conn) line() ([]byte, error) {
	l, err := c.in.ReadSlice('\n')
	return bytes.TrimRight(l, "\r\n"), err
}

// Open sends a request and reads the head of the answer.
func (c *Conn) Open(request []byte) (status int, err error) {
	if _, err := c.c.Write(request); err != nil {
		return 0, err
	}
	l, err := c.line()
	if err != nil || len(l) < 12 {
		return 0, fmt.Errorf("no status line: %q %w", l, err)
	}
	for _, digit := range l[9:12] {
		status = status*10 + int(digit-'0')
	}
	c.left, c.chunked = 0, false
	for {
		l, err := c.line()
		if err != nil || len(l) == 0 {
			return status, err
		}
		c.header(l)
	}
}

func (c *Conn) header(l []byte) {
	name, value, _ := bytes.Cut(l, []byte(": "))
	switch {
	case bytes.EqualFold(name, []byte("content-length")):
		for _, digit := range value {
			c.left = c.left*10 + int64(digit-'0')
		}
	case bytes.EqualFold(name, []byte("transfer-encoding")):
		c.chunked = true
	case bytes.EqualFold(name, []byte("mcp-session-id")):
		if c.Session != string(value) {
			c.Session = string(value)
		}
	}
}

// chunk goes to the next chunk of a chunked body; io.EOF is its end.
func (c *Conn) chunk() error {
	l, err := c.line()
	if err != nil {
		return err
	}
	if c.left, err = strconv.ParseInt(string(l), 16, 64); err != nil {
		return err
	}
	if c.left > 0 {
		return nil
	}
	if _, err := c.line(); err != nil {
		return err
	}
	c.chunked = false
	return io.EOF
}

// more adds what has come of the body to c.body.
func (c *Conn) more() error {
	if c.left == 0 {
		if !c.chunked {
			return io.EOF
		}
		if err := c.chunk(); err != nil {
			return err
		}
	}
	if c.in.Buffered() == 0 {
		if _, err := c.in.Peek(1); err != nil {
			return err
		}
	}
	n := min(c.left, int64(c.in.Buffered()))
	part, err := c.in.Peek(int(n))
	if err != nil {
		return err
	}
	c.body = append(c.body, part...)
	if _, err := c.in.Discard(int(n)); err != nil {
		return err
	}
	if c.left -= n; c.left == 0 && c.chunked {
		_, err = c.line()
	}
	return err
}

// Rest reads the rest of the body, which stays valid until the next request.
func (c *Conn) Rest() ([]byte, error) {
	c.body = c.body[:0]
	for {
		if err := c.more(); errors.Is(err, io.EOF) {
			return c.body, nil
		} else if err != nil {
			return nil, err
		}
	}
}

// Do sends a request and reads the answer.
func (c *Conn) Do(request []byte) (status int, body []byte, err error) {
	if status, err = c.Open(request); err != nil {
		return status, nil, err
	}
	body, err = c.Rest()
	return status, body, err
}

// Event reads events of a stream up to the next that has data, and returns that. It is for streams on which the server waits after
// each event: what comes behind one in the same piece is an error.
func (c *Conn) Event() ([]byte, error) {
	c.body = c.body[:0]
	for {
		if event, rest, ok := bytes.Cut(c.body, []byte("\n\n")); ok {
			if data := Payload(event); len(data) > 0 {
				if len(rest) > 0 {
					return nil, fmt.Errorf("unexpected bytes after an event: %q", rest)
				}
				return data, nil
			}
			c.body = append(c.body[:0], rest...)
			continue
		}
		if err := c.more(); err != nil {
			return nil, fmt.Errorf("no event: %w", err)
		}
	}
}

// Payload returns the message in a body that is either JSON or one event.
func Payload(body []byte) []byte {
	if len(body) > 0 && body[0] == '{' {
		return bytes.TrimRight(body, "\n")
	}
	for len(body) > 0 {
		var l []byte
		l, body, _ = bytes.Cut(body, []byte("\n"))
		if data, ok := bytes.CutPrefix(l, []byte("data: ")); ok && len(data) > 0 {
			return data
		}
	}
	return nil
}

// Handshake opens a session.
func (c *Conn) Handshake() (session string, err error) {
	c.Session = ""
	status, body, err := c.Do(Initialize().Post(c.Host, "").Raw)
	if err != nil || status != http.StatusOK {
		return "", fmt.Errorf("initialize: status %d, %s: %w", status, body, err)
	}
	session = c.Session
	status, body, err = c.Do(Initialized().Post(c.Host, session).Raw)
	if err == nil && status != http.StatusAccepted {
		err = fmt.Errorf("initialized: status %d: %s", status, body)
	}
	return session, err
}
