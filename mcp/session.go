//go:build !mcp_modern_only

package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// builtIn are the revisions of this build.
var builtIn = era.All()

// A Session is what a handshake (2024-11-05 to 2025-11-25) agreed on, and what the server owes its client because of it. It holds no
// goroutine and no connection; a front end makes one for each initialize request, keeps it by its own means (a session id, a
// connection) and closes it. Revision 2026-07-28 has no sessions.
//
// All methods may be called concurrently.
type Session struct {
	server    *Server
	out       Stream
	principal *Principal

	mu            sync.Mutex
	rev           Revision // zero before initialize
	ready         bool     // notifications/initialized came, or a request after initialize
	closed        bool
	detached      bool // made by RestoreSession: there is no way back to the client
	info          *Implementation
	caps          *ClientCapabilities
	level         LoggingLevel
	lastID        int64
	running       requestsRunning
	resources     map[string]struct{}
	resourceBytes int // of the URIs in resources
	pending       map[jsonrpc.ID]*pendingRequest

	draft atomic.Pointer[draftTerms] // nil unless the client speaks the User Interaction draft; see ask_draft.go
	feed  feed
}

// pendingRequest is a request to the client that waits for its answer.
type pendingRequest struct {
	answer chan struct{} // gets one value, of reply, or is closed with the session
	reply  jsonrpc.Message
}

// NewSession makes a session for a client that begins a handshake. Requests that the server sends to the client outside of any
// exchange go to out; with a nil out they wait for [Session.Next] like notices do. The session is bound to the principal: the front
// end compares it ([Session.Owner]) before it lets a message in.
func (s *Server) NewSession(out Stream, p *Principal) *Session {
	ss := &Session{server: s, out: out, principal: p, level: s.options.LogLevel}
	ss.feed.wake = make(chan struct{}, 1)
	return ss
}

// Owner reports whether p is the identity that the session was made for.
func (ss *Session) Owner(p *Principal) bool { return ss.principal.Same(p) }

// Revision returns the negotiated revision, zero before initialize has succeeded.
func (ss *Session) Revision() Revision {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.rev
}

// Closed reports whether the session has been closed, by its front end or by a handler.
func (ss *Session) Closed() bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.closed
}

// Idle reports whether nothing is being served and no answer awaited.
func (ss *Session) Idle() bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.running.n == 0 && len(ss.pending) == 0
}

// Waiting reports whether everything that is being served waits for answers of the client.
func (ss *Session) Waiting() bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return len(ss.pending) > 0 && len(ss.pending) >= ss.running.n
}

// Close ends the session: requests that are being served are cancelled, requests to the client fail with [ErrClosed], and Next
// returns. It waits for nothing. Idempotent.
func (ss *Session) Close() error {
	defer ss.server.audience.removeSession(ss) // last: setReady looks at closed after it has added the session
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.closed = true
	if terms := ss.draft.Load(); terms != nil && !ss.detached {
		ss.server.asks.interactions.drop(terms.scope)
	}
	for r := ss.running.first; r != nil; r = ss.running.first {
		ss.running.remove(r)
		r.cancel(ErrClosed)
	}
	for id, p := range ss.pending {
		close(p.answer)
		delete(ss.pending, id)
	}
	ss.feed.end()
	return nil
}

// Next waits for the next message that the server sends of its own accord: change notices, and requests that belong to no exchange.
// One goroutine at a time may call it: the one that writes the standalone stream. It returns ctx's error, or [ErrClosed] when the
// session or the server has ended.
func (ss *Session) Next(ctx context.Context) (*jsonrpc.Message, error) {
	for {
		ss.mu.Lock()
		if len(ss.feed.ready) > 0 {
			m := ss.feed.ready[0]
			ss.feed.ready = ss.feed.ready[1:]
			ss.mu.Unlock()
			return m, nil
		}
		ss.mu.Unlock()
		b, err := ss.feed.next(ctx)
		if errors.Is(err, errFeedOver) {
			return nil, ErrClosed
		}
		if err != nil {
			return nil, err
		}
		if b.dropped > 0 {
			ss.server.log.Warn("mcp: a slow client lost messages", "client", ss.clientName(), "lost", b.dropped)
		}
		b.hide(ss.server, ss.listening())
		ss.mu.Lock()
		ss.feed.ready = b.notices(nil)
		ss.mu.Unlock()
	}
}

// listening returns a call that stands for the session's client while nothing of it is being served.
func (ss *Session) listening() *Call {
	if ss.server.options.Visible == nil {
		return nil
	}
	x := &Exchange{Message: &jsonrpc.Message{Method: MethodResourcesSubscribe}, Principal: ss.principal, Session: ss}
	c := &Call{server: ss.server, exchange: x, method: MethodResourcesSubscribe, principal: ss.principal, over: true}
	ss.describe(c)
	return c
}

// Notify queues a notification of one's own for the client. It does not wait; when more than ServerOptions.MaxQueue messages wait,
// the oldest is lost.
func (ss *Session) Notify(method string, params any) error {
	raw, err := encodeParams(params)
	if err != nil {
		return err
	}
	ss.mu.Lock()
	ready, closed := ss.ready, ss.closed
	ss.mu.Unlock()
	switch {
	case closed:
		return ErrClosed
	case !ready:
		return fmt.Errorf("%w: the client has not finished its handshake", ErrUnavailable)
	}
	ss.feed.push(&jsonrpc.Message{Method: method, Params: raw}, ss.server.options.MaxQueue)
	return nil
}

// Notify queues a notification of one's own for every session of the handshake era. Revision 2026-07-28 has no such thing: its
// clients hear only what they asked for; see [Call.Notify].
func (s *Server) Notify(method string, params any) error {
	raw, err := encodeParams(params)
	if err != nil {
		return err
	}
	s.audience.mu.RLock()
	defer s.audience.mu.RUnlock()
	for ss := range s.audience.sessions {
		ss.feed.push(&jsonrpc.Message{Method: method, Params: raw}, s.options.MaxQueue)
	}
	return nil
}

// describe fills in what a call inherits from its session.
func (ss *Session) describe(c *Call) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	c.rev = ss.rev
	c.client = clientFacts{info: ss.info, caps: ss.caps, logLevel: ss.level}
}

// clientName returns what the client calls itself, for the log.
func (ss *Session) clientName() string {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.info == nil {
		return ""
	}
	return clip(ss.info.Name, maxQuotedName)
}

// notified handles the notifications that are the session's own; it reports whether m was one.
func (ss *Session) notified(c *Call) bool {
	switch c.method {
	case NotificationInitialized:
		ss.setReady()
		return true
	case NotificationCancelled:
		id, err := jsonrpc.ParseID(c.exchange.params.member(paramRequestID))
		if err != nil {
			return true
		}
		ss.mu.Lock()
		r := ss.running.find(id)
		ss.mu.Unlock()
		if r != nil {
			r.cancel(errCancelled)
		}
		return true
	}
	return false
}

// setReady lets notices through to the client.
func (ss *Session) setReady() {
	ss.mu.Lock()
	first := !ss.ready && ss.rev != 0 && !ss.closed && !ss.detached
	if first {
		ss.ready = true
	}
	ss.mu.Unlock()
	if !first {
		return
	}
	ss.server.audience.addSession(ss)
	if ss.Closed() {
		ss.server.audience.removeSession(ss)
	}
}

// change tells the client that a list has changed.
func (ss *Session) change(c change) { ss.feed.change(c) }

// update tells the client that a resource has changed, if it subscribed to it, which it reports.
func (ss *Session) update(uri string) bool {
	ss.mu.Lock()
	wanted := subscribed(ss.resources, uri)
	ss.mu.Unlock()
	if wanted {
		ss.feed.update(uri)
	}
	return wanted
}

// rouse wakes who writes the standalone stream, if there is something to tell.
func (ss *Session) rouse() { ss.feed.rouse() }

// end tells whoever writes the standalone stream that nothing more will come.
func (ss *Session) end() { ss.feed.end() }

// request sends a request to the client and waits for its answer, which may be an error response. It goes to stream, the stream of
// the exchange that caused it; with a nil stream to the session's own, or else to whoever calls Next. When ctx ends the client is told
// that the answer is not wanted any more.
func (ss *Session) request(ctx context.Context, stream Stream, method string, params json.RawMessage) (*jsonrpc.Message, error) {
	p := &pendingRequest{answer: make(chan struct{}, 1)}
	id, err := ss.expect(p)
	if err != nil {
		return nil, err
	}
	defer ss.forget(id)
	if stream == nil {
		stream = ss.own()
	}
	if err := stream.Send(ctx, requestMessage(id, method, params)); err != nil {
		return nil, fmt.Errorf("%w: the request %s could not be sent: %w", ErrClosed, method, err)
	}
	select {
	case _, ok := <-p.answer:
		if !ok {
			return nil, ErrClosed
		}
		return &p.reply, nil
	case <-ctx.Done():
		ss.withdraw(context.WithoutCancel(ctx), stream, id)
		return nil, context.Cause(ctx)
	}
}

// expect enters a request to the client into the table of those that wait for an answer.
func (ss *Session) expect(p *pendingRequest) (jsonrpc.ID, error) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	switch {
	case ss.closed:
		return jsonrpc.ID{}, ErrClosed
	case ss.detached:
		return jsonrpc.ID{}, fmt.Errorf("%w: a stateless session has no channel for requests to the client", ErrUnavailable)
	case len(ss.pending) >= ss.server.options.MaxPending:
		return jsonrpc.ID{}, fmt.Errorf("%w: %d requests to the client wait for an answer already", ErrUnavailable, len(ss.pending))
	}
	if ss.pending == nil {
		ss.pending = make(map[jsonrpc.ID]*pendingRequest)
	}
	ss.lastID++
	id := jsonrpc.IntID(ss.lastID)
	ss.pending[id] = p
	return id, nil
}

func (ss *Session) forget(id jsonrpc.ID) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.pending, id)
}

// withdraw tells the client that an answer is not wanted any more. It is best effort: the caller has gone already.
func (ss *Session) withdraw(ctx context.Context, stream Stream, id jsonrpc.ID) {
	params := append([]byte(`{"requestId":`), id.AppendJSON(nil)...)
	m := &jsonrpc.Message{Method: NotificationCancelled, Params: append(params, `,"reason":"the request that caused the question has ended"}`...)}
	if err := stream.Send(ctx, m); err != nil {
		ss.server.log.Debug("mcp: a question could not be withdrawn", "error", err)
	}
}

// own returns the session's own way to the client.
func (ss *Session) own() Stream {
	if ss.out != nil {
		return ss.out
	}
	return (*sessionQueue)(ss)
}

// sessionQueue is a session seen as a stream: messages wait for Next.
type sessionQueue Session

// Send queues a message. It does not wait.
func (q *sessionQueue) Send(_ context.Context, m *jsonrpc.Message) error {
	q.feed.push(m, q.server.options.MaxQueue)
	return nil
}

// Deliver hands the session a response of its client. Responses that nobody waits for are ignored and logged: late ones are normal
// after a question was withdrawn.
func (ss *Session) Deliver(m *jsonrpc.Message) {
	ss.mu.Lock()
	p := ss.pending[m.ID]
	delete(ss.pending, m.ID)
	ss.mu.Unlock()
	if p == nil {
		ss.server.log.Debug("mcp: a response that nobody waits for", "client", ss.clientName(), "id", m.ID.String())
		return
	}
	p.reply = *m
	p.reply.Params = nil
	p.reply.Result = bytes.Clone(m.Result)
	p.answer <- struct{}{}
}

// CallClient sends a request of one's own to the client of a call, on the stream of the call, and waits for the result. Only the
// handshake era knows requests to the client: at 2026-07-28 the error is [ErrUnavailable]. A client that answers with an error
// makes it an *[Error].
func CallClient[P, R any](ctx context.Context, c *Call, method string, params P) (R, error) {
	var result R
	raw, err := encodeParams(params)
	if err != nil {
		return result, err
	}
	if c.Session() == nil {
		return result, fmt.Errorf("%w: revision %s has no requests to the client", ErrUnavailable, c.rev)
	}
	m, err := c.toClient(ctx, method, raw)
	if err != nil {
		return result, err
	}
	if m.Error != nil {
		return result, m.Error
	}
	if err := unmarshalJSON(m.Result, &result); err != nil {
		return result, fmt.Errorf("mcp: the client's answer to %s cannot be read: %w", method, err)
	}
	return result, nil
}

// toClient sends a request to the client on the stream of the call, and waits for the answer.
func (c *Call) toClient(ctx context.Context, method string, params json.RawMessage) (*jsonrpc.Message, error) {
	c.mu.Lock()
	err := c.gone()
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return c.exchange.Session.request(ctx, c.exchange.Stream, method, params)
}
