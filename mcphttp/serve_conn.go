package mcphttp

import (
	"errors"
	"io"
	"net"
	"time"
)

// A firstByteListener hands out connections on which the time for the headers of the first request begins with its first byte, as
// net/http has it for all later requests; until then a connection is an idle one. Clients do dial early: net/http's own dials a
// connection for each of several calls and keeps those that it finds it can do without. Without this a call on such a connection is lost
// when it comes just as the time for headers is over, long before the client takes an idle connection for old. Or it gets "400 Bad
// Request": with HTTP/2 in the clear net/http reads the first 14 bytes by themselves, and what it has of a line when the deadline comes it
// takes for the whole of it.
type firstByteListener struct {
	net.Listener
	idle    time.Duration // until the first byte
	headers time.Duration // from then on
}

func (l *firstByteListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &firstByteConn{Conn: c, times: l}, nil
}

type firstByteConn struct {
	net.Conn
	times *firstByteListener
	begun bool // net/http reads from one goroutine at a time, and sets no deadline meanwhile before the first byte is there
}

func (c *firstByteConn) SetReadDeadline(t time.Time) error {
	now := time.Now()
	if !c.begun && t.After(now) {
		t = now.Add(c.times.idle)
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *firstByteConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.begun && n > 0 && err == nil {
		c.begun = true
		err = c.SetReadDeadline(time.Now().Add(c.times.headers))
	}
	return n, err
}

// ReadFrom lets the connection send a file in its own way, which net/http looks for.
func (c *firstByteConn) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

// CloseWrite lets net/http say something to a client that is still writing, without losing it to a reset.
func (c *firstByteConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return errors.ErrUnsupported
}
