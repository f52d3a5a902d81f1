package mcphttp

import (
	"errors"
	"io"
	"net"
	"time"
)

// A firstByteListener hands out connections on which the time for the headers of the first request begins with its first byte, as
// net/http has it for all later requests. Without that a client that dials early, as net/http's own does, and sends when the time is
// almost over, gets "400 Bad Request": with HTTP/2 in the clear net/http reads the first 14 bytes by themselves, and what it has of a line
// when the deadline comes it takes for the whole of it.
type firstByteListener struct {
	net.Listener
	expiry time.Duration // for the headers
}

func (l firstByteListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &firstByteConn{Conn: c, expiry: l.expiry}, nil
}

type firstByteConn struct {
	net.Conn
	expiry time.Duration
	begun  bool // net/http reads from one goroutine at a time
}

func (c *firstByteConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.begun && n > 0 && err == nil {
		c.begun = true
		err = c.SetReadDeadline(time.Now().Add(c.expiry))
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
