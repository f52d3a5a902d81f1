//go:build !mcp_modern_only

package mcphttp

import (
	"context"
	"fmt"
	"net/http"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// A served is a request of a session, or a batch of them, on its way to its answer. It is served on a goroutine of its own, because it
// outlives the HTTP exchange: the client's going away does not cancel it, and the response may be closed early. Everything that belongs
// to it is one piece of memory, but for the track, which is kept after it has ended.
type served struct {
	l     *legacy
	s     *session
	p     *post
	t     *track
	batch *batch // nil for a single request
	ctx   callContext
	plain plainAnswer
	over  chan struct{} // gets one value when the response is complete
}

// callContext is the context of a call: the values of its HTTP request, without its end.
type callContext struct {
	context.Context //nolint:containedctx // a context is what it is
	t               *track
}

// trackKey finds the track of a call in its context, for CloseStream.
type trackKey struct{}

// Value implements [context.Context].
func (c *callContext) Value(key any) any {
	if key == (trackKey{}) {
		return c.t
	}
	return c.Context.Value(key)
}

// request serves an acquired request to its end.
func (l *legacy) request(w http.ResponseWriter, r *http.Request, p *post, s *session) {
	l.serve(w, r, &served{l: l, s: s, p: p})
}

// serve has the request served and carries the answer.
func (l *legacy) serve(w http.ResponseWriter, r *http.Request, c *served) {
	defer c.s.use.release()
	c.open()
	c.ctx = callContext{context.WithoutCancel(r.Context()), c.t}
	l.calls.do(c)
	c.carry(w, r)
}

// open makes a track for the answer to a POST.
func (c *served) open() {
	p := c.p
	c.over = c.l.signal()
	p.sink.carrier = c
	c.t = c.s.newTrack(&p.sink)
	p.x.Stream = noStream{}
	if p.accepts&acceptsSSE != 0 {
		p.x.Stream = c.t
		p.sink.keepAlive()
	}
}

func (c *served) prelude(dst []byte) []byte { return c.t.appendPriming(dst, 0) }
func (c *served) closed()                   { c.over <- struct{}{} }

// signal returns a channel for one value; it goes back to l.signals once that was taken.
func (l *legacy) signal() chan struct{} {
	if c, ok := l.signals.Get().(chan struct{}); ok {
		return c
	}
	return make(chan struct{}, 1)
}

// run serves the request. It is called on a goroutine of its own.
func (c *served) run() {
	if c.batch != nil {
		c.batch.run(c)
		return
	}
	defer c.s.use.done(1)
	reply, status := c.l.h.srv.Serve(&c.ctx, &c.p.x)
	c.answer(reply, status)
	c.p.release()
}

// noStream is the stream of a client that takes JSON alone. It loses what belongs to the call, and refuses questions, whose answers
// would be waited for in vain.
type noStream struct{}

func (noStream) Send(_ context.Context, m *jsonrpc.Message) error {
	if m.Kind() == jsonrpc.Request {
		return fmt.Errorf("%w: it accepts application/json alone, and a question needs a stream", mcp.ErrUnavailable)
	}
	return nil
}

// carry waits until the HTTP response is complete, was closed, or lost its client.
func (c *served) carry(w http.ResponseWriter, r *http.Request) {
	p := c.p
	select {
	case <-c.over:
	case <-r.Context().Done():
		p.sink.abort()
		<-c.over // at once
	}
	c.l.signals.Put(c.over)
	c.t.detach(&p.sink)
	p.sink.expire()
	switch plain := p.sink.plain; {
	case plain != nil:
		p.sink.writePlain(plain)
	case !p.sink.hasBegun() && r.Context().Err() == nil: // the session ended under the call
		c.l.h.answerError(w, http.StatusNotFound, p.msg.ID, errUnknownSession)
	}
}

// answer ends the track with the response to its request.
func (c *served) answer(reply *jsonrpc.Message, status int) {
	switch {
	case reply == nil: // the client has cancelled the request
		c.plain.status = http.StatusAccepted
		c.t.finish(&c.plain)
	case (c.p.accepts&acceptsJSON != 0 || status >= http.StatusBadRequest) && c.t.mayBePlain():
		buf, large := encode(reply)
		c.plain = plainAnswer{status: status, buf: buf, large: large, header: refusalHeaders(&c.p.x)}
		c.t.finish(&c.plain, reply)
	default:
		c.t.finish(nil, reply)
	}
}
