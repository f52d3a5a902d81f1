package conn

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// call is an outgoing request that waits for its response.
type call struct {
	response chan *jsonrpc.Message // holds one; filled by update
}

// NewID returns an id that this connection has not returned before.
func (c *Conn) NewID() (id jsonrpc.ID) {
	c.update(func(s *state) {
		s.lastID++
		id = jsonrpc.IntID(s.lastID)
	})
	return id
}

// Call sends a request and waits for its response, which is returned with a nil
// error even if it carries a JSON-RPC error. A response that could not be
// decoded but was clearly the one for id is returned too, with an error in it
// that says so.
//
// When ctx ends Call returns its cause and forgets the request; telling the peer
// is up to the caller, and a response that still comes goes to the handler. When
// the connection ends the error wraps [ErrClosed]. An id that is absent or
// already waits for a response is refused.
func (c *Conn) Call(ctx context.Context, id jsonrpc.ID, method string, params json.RawMessage) (*jsonrpc.Message, error) {
	if id.IsZero() || method == "" {
		return nil, fmt.Errorf("conn: a call needs an id and a method")
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	w := &call{response: make(chan *jsonrpc.Message, 1)}
	m := &jsonrpc.Message{ID: id, Method: method, Params: params}
	err := c.write(ctx, m, func(s *state) error {
		if s.cause != nil {
			return closedError{s.cause}
		}
		if s.calls[id] != nil {
			return fmt.Errorf("conn: a call with the id %v already waits for its response", id)
		}
		s.calls[id] = w
		return nil
	})
	if err != nil {
		return nil, err
	}
	select {
	case r := <-w.response:
		return r, nil
	case <-ctx.Done():
		return c.abandon(id, w, context.Cause(ctx))
	case <-c.ended:
		return c.abandon(id, w, closedError{c.cause()})
	}
}

// abandon forgets the call, unless its response has come in the meantime.
func (c *Conn) abandon(id jsonrpc.ID, w *call, err error) (*jsonrpc.Message, error) {
	c.update(func(s *state) {
		if s.calls[id] == w {
			delete(s.calls, id)
		}
	})
	select {
	case r := <-w.response:
		return r, nil
	default:
		return nil, err
	}
}

// answer hands a response to the call that waits for it, if there is one.
func (c *Conn) answer(m *jsonrpc.Message) (waited bool) {
	c.update(func(s *state) {
		var w *call
		if w, waited = s.calls[m.ID]; waited {
			delete(s.calls, m.ID)
			w.response <- m
		}
	})
	return waited
}
