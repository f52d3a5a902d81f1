package mcphttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

const (
	// What is left of an answer when all that matters was read is read on for so long and so much, so that its connection can be used
	// again.
	linkDrainTime  = 500 * time.Millisecond
	linkDrainBytes = 64 << 10
)

// A link is the [mcp.Link] over HTTP, also a [mcp.HeaderLink] and [mcp.AuthLink]. Nothing in it depends on one exchange: whatever fails,
// fails alone.
type link struct {
	*endpoint
	to  mcp.Receiver
	rev atomic.Uint32 // what was negotiated, zero before
	old handshakeLink // what only the handshake era has

	mu      sync.Mutex
	closed  bool
	running map[*linkExchange]struct{}
	idle    chan struct{} // closed when nothing is running any more after Close
}

// A linkExchange is a piece of work of a link that its Close ends and waits for.
type linkExchange struct {
	cancel   context.CancelFunc
	forget   func() bool // unties it from the caller's context
	left     bool        // it ends by itself; the caller no longer waits
	deadline time.Time   // the caller's, zero for none
}

func newLink(e *endpoint, to mcp.Receiver) *link {
	return &link{endpoint: e, to: to, running: make(map[*linkExchange]struct{}), idle: make(chan struct{})}
}

// errLinkClosed is what calls get once Close was called.
var errLinkClosed = fmt.Errorf("%w: the link was closed", mcp.ErrClosed)

// begin starts a piece of work that ends with ctx or Close. The context returned outlives ctx once the exchange was untied from it.
func (l *link) begin(ctx context.Context) (context.Context, *linkExchange, error) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	x := &linkExchange{cancel: cancel}
	x.deadline, _ = ctx.Deadline()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		cancel()
		return nil, nil, errLinkClosed
	}
	l.running[x] = struct{}{}
	x.forget = context.AfterFunc(ctx, cancel)
	return own, x, nil
}

// end ends a piece of work.
func (l *link) end(x *linkExchange) {
	x.forget()
	x.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, x)
	if l.closed && len(l.running) == 0 {
		close(l.idle)
	}
}

// leave ends an exchange whose answer was had although its body may not be at its end yet. The caller does not wait for the rest. Where
// a server keeps the stream open, the connection is given up soon.
func (l *link) leave(x *linkExchange, resp *http.Response) {
	x.left = true
	if resp.Body == http.NoBody || resp.ContentLength == 0 {
		l.closeBody(resp)
		l.end(x)
		return
	}
	x.forget()
	go func() { // Close waits for it through x
		defer l.end(x)
		l.discard(resp, x.cancel)
	}()
}

// discard reads the rest of a body, within bounds, and closes it.
func (l *link) discard(resp *http.Response, cancel context.CancelFunc) {
	timer := time.AfterFunc(linkDrainTime, cancel)
	_, err := io.CopyN(io.Discard, resp.Body, linkDrainBytes)
	timer.Stop()
	if !errors.Is(err, io.EOF) {
		cancel() // first: over HTTP/2 closing an unfinished body would wait for the peer
	}
	l.closeBody(resp)
}

// closeBody closes a body that is done with. Nothing depends on the outcome.
func (l *link) closeBody(resp *http.Response) {
	if err := resp.Body.Close(); err != nil {
		l.log.Debug("mcphttp: closing a body", "server", l.String(), "err", err)
	}
}

// spawn runs f on a goroutine of its own, which Close ends and waits for. It returns what ends it earlier.
func (l *link) spawn(f func(ctx context.Context)) context.CancelFunc {
	own, x, err := l.begin(context.Background())
	if err != nil {
		return func() {}
	}
	go func() { // Close waits for it through x
		defer l.end(x)
		f(own)
	}()
	return x.cancel
}

// isClosed reports whether Close was called.
func (l *link) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// revision returns what was negotiated.
func (l *link) revision() mcp.Revision { return mcp.Revision(l.rev.Load()) }

// RoundTrip implements [mcp.Link].
func (l *link) RoundTrip(ctx context.Context, req *mcp.Outgoing) (*jsonrpc.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	l.awaitStream(ctx, req)
	own, x, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	m, err := l.roundTrip(own, x, req)
	if !x.left {
		l.end(x)
	}
	switch {
	case err == nil:
		return m, nil
	case l.isClosed():
		return nil, errLinkClosed
	case ctx.Err() != nil:
		l.takeBack(req)
		return nil, context.Cause(ctx)
	}
	return nil, err
}

// roundTrip sends a request in the way that the server speaks. It leaves or marks x when it is not to be ended yet.
func (l *link) roundTrip(ctx context.Context, x *linkExchange, req *mcp.Outgoing) (*jsonrpc.Message, error) {
	if l.overSSE(req) {
		return l.sseRoundTrip(ctx, req)
	}
	p := l.posting(req)
	resp, err := l.post(ctx, x, p) //nolint:bodyclose // answer closes it, or leaves it with x
	if err != nil {
		return nil, err
	}
	m, err := l.answer(ctx, x, req, p, resp)
	switch {
	case req.Method != mcp.MethodInitialize:
		return m, err
	case (err != nil || m.Error != nil) && era.FallBackToSSE(resp.StatusCode):
		return l.fallBack(ctx, req, m, err)
	case err == nil:
		err = l.keepSession(m, resp)
	}
	return m, err
}

// Send implements [mcp.Link].
func (l *link) Send(ctx context.Context, m *jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	own, x, err := l.begin(ctx)
	if err != nil {
		return err
	}
	err = l.send(own, x, m)
	if !x.left {
		l.end(x)
	}
	if m.Method == mcp.NotificationInitialized {
		l.openStream()
	}
	switch {
	case err == nil:
		return nil
	case l.isClosed():
		return errLinkClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

// send posts a message that is not answered.
func (l *link) send(ctx context.Context, x *linkExchange, m *jsonrpc.Message) error {
	p, err := l.sending(m)
	if err != nil {
		return err
	}
	resp, err := l.post(ctx, x, p)
	if err != nil {
		return err
	}
	if accepted(resp) {
		l.leave(x, resp)
		return nil
	}
	defer l.closeBody(resp)
	refusal, err := l.refused(resp, p)
	if err == nil {
		err = &mcp.TransportError{Status: resp.StatusCode, Err: refusal.Error}
	}
	return err
}

// Established implements [mcp.Link].
func (l *link) Established(rev mcp.Revision) {
	l.rev.Store(uint32(rev))
	l.armStream(rev)
}

// MirrorsHeaders implements [mcp.HeaderLink].
func (l *link) MirrorsHeaders(rev mcp.Revision) bool { return rev.Rules().HTTP.MirrorHeaders }

// AuthContext implements [mcp.AuthLink]: it is what the Transport of DialOptions.Client says it is. Credentials in DialOptions.Header,
// or added by a Transport that does not name them, have no name.
func (l *link) AuthContext() string {
	if a, ok := l.client.Transport.(interface{ AuthContext() string }); ok {
		return a.AuthContext()
	}
	return ""
}

// Close implements [mcp.Link]. Both parts of it, the end of what is running and the farewell to the server, are bounded by
// DialOptions.CloseTimeout.
func (l *link) Close() error {
	first := l.shut()
	timer := time.NewTimer(l.opts.CloseTimeout)
	defer timer.Stop()
	var late error
	select {
	case <-l.idle:
	case <-timer.C:
		late = fmt.Errorf("mcphttp: closing: requests did not end within %v of being cancelled; a RoundTripper or receiver ignores its context",
			l.opts.CloseTimeout)
	}
	if !first {
		return late
	}
	err := l.endSession()
	if l.owned {
		l.client.CloseIdleConnections()
	}
	return errors.Join(late, err)
}

// shut lets nothing begin any more and cancels what is running. It reports whether it was the first to do so.
func (l *link) shut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.closed = true
	for x := range l.running {
		x.cancel()
	}
	if len(l.running) == 0 {
		close(l.idle)
	}
	return true
}
