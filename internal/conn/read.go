package conn

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// readLoop reads lines until the input or the connection ends.
func (c *Conn) readLoop(ctx context.Context) {
	defer close(c.readerDone)
	lines := newLineReader(c.r, c.opts.MaxLine)
	defer lines.release()
	for {
		line, err := lines.next()
		if err != nil && !errors.Is(err, errLineTooLong) {
			c.end(err)
			return
		}
		select {
		case <-c.ended:
			return
		default:
		}
		if err != nil {
			c.overlong(ctx, line, lines.tail)
			continue
		}
		c.line(ctx, line)
	}
}

// line handles one line.
func (c *Conn) line(ctx context.Context, line []byte) {
	if len(bytes.Trim(line, " \t\r\n")) == 0 {
		return
	}
	m, err := jsonrpc.Decode(line)
	if err != nil {
		var e *jsonrpc.Error
		if !errors.As(err, &e) {
			e = &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: err.Error()}
		}
		c.malformed(ctx, line, &m, e)
		return
	}
	c.Deliver(ctx, &m)
}

// overlong handles a line that was too long and of which only the ends are left.
func (c *Conn) overlong(ctx context.Context, beginning, end []byte) {
	e := &jsonrpc.Error{
		Code:    jsonrpc.CodeInvalidRequest,
		Message: fmt.Sprintf("invalid request: the message is longer than the limit of %d bytes", c.opts.MaxLine),
	}
	m := jsonrpc.DecodeCut(beginning, end)
	if m.Error != nil {
		m.Error = e
	}
	c.malformed(ctx, beginning, &m, e)
}

// malformed hands a line that is no message to whom it may concern.
func (c *Conn) malformed(ctx context.Context, line []byte, m *jsonrpc.Message, e *jsonrpc.Error) {
	if m.Error != nil {
		c.answer(m)
	}
	c.h.HandleMalformed(ctx, c, line, m, e)
}

// Deliver handles m as if it had been read: a response goes to the call that
// waits for it, everything else to the handler. It is for handlers that take a
// batch apart, and must be called on the reading goroutine.
func (c *Conn) Deliver(ctx context.Context, m *jsonrpc.Message) {
	switch m.Kind() {
	case jsonrpc.Response:
		if c.answer(m) {
			return
		}
	case jsonrpc.Request:
		if !c.waitForSlot() {
			return
		}
	}
	c.h.HandleMessage(ctx, c, m)
}

// waitForSlot waits until a request more may be worked on. It reports false if
// the connection ended.
func (c *Conn) waitForSlot() bool {
	for {
		var full <-chan struct{}
		c.update(func(s *state) {
			if s.inFlight() >= c.opts.MaxInFlight {
				full = waiter(&s.slot)
			}
		})
		if full == nil {
			return true
		}
		select {
		case <-full:
		case <-c.ended:
			return false
		}
	}
}
