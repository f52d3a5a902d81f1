package mcp

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/seed38e7925c/parley/internal/era"
)

// errShuttingDown refuses requests of a server that is going away.
var errShuttingDown = &Error{Code: CodeInternalError, Message: "the server is shutting down; try again later"}

// errCancelled is the cause of contexts of requests that their client has cancelled.
var errCancelled = errors.New("mcp: the client cancelled the request")

// drain counts what is being served, so that Shutdown can wait for it.
type drain struct {
	active   atomic.Int64
	stopping atomic.Bool
	mu       sync.Mutex
	idle     chan struct{} // made by Shutdown, closed when active falls to 0
	conns    map[io.Closer]struct{}
}

func (d *drain) init() { d.conns = make(map[io.Closer]struct{}) }

// draining reports whether Shutdown was called.
func (s *Server) draining() bool { return s.drain.stopping.Load() }

// enter counts a request in; it reports false if the server is going away.
func (s *Server) enter() bool {
	s.drain.active.Add(1)
	if s.drain.stopping.Load() {
		s.leave()
		return false
	}
	return true
}

// leave counts a request out.
func (s *Server) leave() {
	if s.drain.active.Add(-1) == 0 && s.drain.stopping.Load() {
		s.drain.signal()
	}
}

// signal wakes Shutdown if nothing is being served.
func (d *drain) signal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.idle != nil && d.active.Load() == 0 {
		close(d.idle)
		d.idle = nil
	}
}

// addConn remembers a stream connection for Shutdown to close. It reports false if the server is going away.
func (d *drain) addConn(c io.Closer) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopping.Load() {
		return false
	}
	d.conns[c] = struct{}{}
	return true
}

// removeConn forgets a stream connection that has ended.
func (d *drain) removeConn(c io.Closer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.conns, c)
}

// Shutdown ends the server in good order: requests that are being served finish, new ones are refused, subscriptions/listen streams
// end with their result, standalone streams of sessions end, and at last stream connections (stdio, pipe, socket) are closed. It
// returns when that is done.
//
// If ctx ends first, stream connections are closed anyway, which cancels the contexts of their handlers, and ctx's error is returned;
// requests that came over HTTP are cancelled by closing the HTTP server. A server that was shut down serves no more.
func (s *Server) Shutdown(ctx context.Context) error {
	d := &s.drain
	d.mu.Lock()
	d.stopping.Store(true)
	idle := d.idle
	if idle == nil {
		idle = make(chan struct{})
		d.idle = idle
	}
	d.mu.Unlock()
	s.audience.end()
	s.asks.drain()
	d.signal()
	var err error
	select {
	case <-idle:
	case <-ctx.Done():
		err = ctx.Err()
	}
	d.mu.Lock()
	conns := make([]io.Closer, 0, len(d.conns))
	for c := range d.conns {
		conns = append(conns, c)
	}
	d.mu.Unlock()
	for _, c := range conns {
		err = errors.Join(err, c.Close())
	}
	return err
}

// track gives a request of a session a context that the session can cancel. Whoever calls ends what it returns.
func (s *Server) track(ctx context.Context, x *Exchange) (context.Context, *running) {
	if x.Session == nil || x.Message.ID.IsZero() || x.Message.Method == MethodInitialize {
		return ctx, nil
	}
	r := x.Session.begin(ctx, x.Message.ID)
	return r, r
}

// builtRevisions are the revisions that this build can serve.
var builtRevisions = era.SetOf(builtIn...)
