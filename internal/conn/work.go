package conn

import (
	"context"
	"fmt"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// work is an incoming request that is being worked on.
type work struct {
	cancel context.CancelCauseFunc
}

// Go runs f in a goroutine of its own, as the work for the incoming request id.
// ctx is the one that the handler got, or derived from it; f's is cancelled by
// CancelIncoming(id) and when Run ends, which waits for f.
//
// An id that is being worked on and has no response yet is refused: the peer
// used it twice. A zero id stands for work that no request asked for and that
// cannot be cancelled by id. After the end the error wraps [ErrClosed].
func (c *Conn) Go(ctx context.Context, id jsonrpc.ID, f func(ctx context.Context)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &work{cancel: cancel}
	if err := c.startWork(id, w); err != nil {
		cancel(err)
		return err
	}
	go func() {
		defer c.endWork(id, w)
		f(ctx)
	}()
	return nil
}

// startWork enters w into the table.
func (c *Conn) startWork(id jsonrpc.ID, w *work) (err error) {
	c.update(func(s *state) {
		switch {
		case s.cause != nil:
			err = closedError{s.cause}
			return
		case id.IsZero():
		case s.incoming[id] != nil:
			err = fmt.Errorf("conn: the id %v is already in use by a request that was not answered yet", id)
			return
		default:
			s.incoming[id] = w
		}
		s.working++
	})
	return err
}

// endWork removes w from the table, where its response may have removed it
// before, and another request taken its place.
func (c *Conn) endWork(id jsonrpc.ID, w *work) {
	w.cancel(nil)
	c.update(func(s *state) {
		if s.incoming[id] == w {
			delete(s.incoming, id)
		}
		s.working--
		signal(&s.slot)
		if s.working == 0 {
			signal(&s.idle)
		}
	})
}

// CancelIncoming cancels, for the given cause, the context of the work for the
// incoming request id. It reports false if there is none, be it that the
// request is unknown or that its response is already queued.
func (c *Conn) CancelIncoming(id jsonrpc.ID, cause error) bool {
	var w *work
	c.update(func(s *state) { w = s.incoming[id] })
	if w == nil {
		return false
	}
	w.cancel(cause)
	return true
}
