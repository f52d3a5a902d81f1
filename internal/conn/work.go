package conn

import (
	"context"
	"fmt"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// maxIdleWorkers is how many goroutines wait for more work, for a stack that has
// grown once need not grow again. More work than that gets new goroutines.
const maxIdleWorkers = 64

// work is an incoming request that is being worked on.
type work struct {
	id     jsonrpc.ID
	ctx    context.Context //nolint:containedctx // on its way to the goroutine that runs f
	cancel context.CancelCauseFunc
	f      func(ctx context.Context)
}

// Go runs f in a goroutine of its own, as the work for the incoming request id.
// ctx is the one that the handler got, or derived from it; f's is cancelled by
// CancelIncoming(id), when f returns, and when Run ends, which waits for f.
//
// An id that is being worked on and has no response yet is refused: the peer
// used it twice. A zero id stands for work that no request asked for and that
// cannot be cancelled by id. After the end the error wraps [ErrClosed].
func (c *Conn) Go(ctx context.Context, id jsonrpc.ID, f func(ctx context.Context)) error {
	w := &work{id: id, f: f}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	spawn, err := c.startWork(w)
	switch {
	case err != nil:
		w.cancel(err)
		return err
	case spawn:
		go c.worker(w)
	}
	return nil
}

// startWork enters w into the table and gives it to an idle worker. If there is
// none, spawn tells to start one.
func (c *Conn) startWork(w *work) (spawn bool, err error) {
	c.update(func(s *state) {
		switch {
		case s.cause != nil:
			err = closedError{s.cause}
			return
		case w.id.IsZero():
		case s.incoming[w.id] != nil:
			err = fmt.Errorf("conn: the id %v is already in use by a request that was not answered yet", w.id)
			return
		default:
			s.incoming[w.id] = w
		}
		s.working++
		if spawn = s.idleWorkers == 0; spawn {
			s.workers++
			return
		}
		s.idleWorkers--
		c.jobs <- w // has room for one job for every idle worker
	})
	return spawn, err
}

// worker does w and then what else comes, until there are enough idle workers
// or the connection ends.
func (c *Conn) worker(w *work) {
	defer c.update(func(s *state) {
		s.workers--
		if s.workers == 0 {
			signal(&s.idle)
		}
	})
	for w != nil && c.do(w) {
		w = <-c.jobs // nil once it is closed and empty
	}
}

// do does w and reports whether the worker has to wait for more.
func (c *Conn) do(w *work) (more bool) {
	returned := false // false if f ends its goroutine
	defer func() { more = c.endWork(w, returned) }()
	w.f(w.ctx)
	returned = true
	return
}

// endWork removes w from the table, where its response may have removed it
// before, and another request taken its place. It reports whether the worker,
// if it can be kept, counts as idle from now on.
func (c *Conn) endWork(w *work, keep bool) (idle bool) {
	w.cancel(nil)
	c.update(func(s *state) {
		if s.incoming[w.id] == w {
			delete(s.incoming, w.id)
		}
		s.working--
		signal(&s.slot)
		if idle = keep && s.cause == nil && s.idleWorkers < maxIdleWorkers; idle {
			s.idleWorkers++
		}
	})
	return idle
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
