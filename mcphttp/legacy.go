//go:build !mcp_modern_only

package mcphttp

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// legacy serves the handshake era in sessions.
type legacy struct {
	h     *Handler
	table *sessions
	calls *work // requests being served, which outlive their HTTP exchange
	once  sync.Once
}

func newHandshakeEra(h *Handler) handshakeEra {
	if h.opts.Sessions.Stateless {
		return newStateless(h)
	}
	return &legacy{h: h, table: newSessions(h), calls: newWork()}
}

// Errors of the session rules.
var (
	errNoSession = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
		Message: "invalid request: the Mcp-Session-Id header is missing; send what initialize returned"}
	errUnknownSession = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
		Message: "session not found: it has ended; begin a new one with initialize"}
	errTwoSessions = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
		Message: "invalid request: the Mcp-Session-Id header was sent twice"}
	errBusySession = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
		Message: "too many requests of this session are in progress; wait for some of them"}
	errFull = &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
		Message: "the server holds as many sessions as it can; try again later"}
	errBadEventID = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
		Message: "invalid request: Last-Event-ID names no stream of this session that can be resumed; send the request again"}
)

// acquire finds the session that a request names, for its owner alone. On failure it answers and returns nil.
func (l *legacy) acquire(w http.ResponseWriter, r *http.Request, p *mcp.Principal, id jsonrpc.ID) *session {
	values := r.Header[headerSession]
	status, err := http.StatusBadRequest, errNoSession
	switch bad := checkVersion(r.Header[headerVersion]); {
	case bad != nil:
		err = bad
	case len(values) > 1:
		err = errTwoSessions
	case len(values) == 1 && values[0] != "":
		if s := l.table.acquire(values[0], p); s != nil {
			return s
		}
		status, err = http.StatusNotFound, errUnknownSession
	}
	l.h.answerError(w, status, id, err)
	return nil
}

// checkVersion refuses a revision that does not exist. Admit has done so where there was a message to be admitted.
func checkVersion(values []string) *jsonrpc.Error {
	if len(values) == 0 {
		return nil
	}
	if len(values) == 1 {
		if _, ok := era.Parse(values[0]); ok {
			return nil
		}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
		Message: "invalid request: MCP-Protocol-Version " + quoteShort(strings.Join(values, ", ")) + " is not a revision of the protocol"}
}

// post serves an admitted request or notification.
func (l *legacy) post(w http.ResponseWriter, r *http.Request, p *post) {
	if p.adm.Initialize {
		l.initialize(w, r, p)
		return
	}
	s := l.acquire(w, r, p.x.Principal, p.msg.ID)
	if s == nil {
		p.release()
		return
	}
	p.x.Session = s.core
	if p.msg.Kind() == jsonrpc.Notification {
		defer l.table.release(s)
		defer p.release()
		l.h.serveNotification(w, r, p)
		return
	}
	if !l.table.begin(s, 1) {
		l.table.release(s)
		l.busy(w, p)
		return
	}
	l.request(w, r, p, s)
}

// busy refuses a request of a session that has too many in progress.
func (l *legacy) busy(w http.ResponseWriter, p *post) {
	w.Header().Set("Retry-After", "1")
	l.h.answerError(w, http.StatusTooManyRequests, p.msg.ID, errBusySession)
	p.release()
}

// initialize opens a session. Nothing is kept of one that fails.
func (l *legacy) initialize(w http.ResponseWriter, r *http.Request, p *post) {
	defer p.release()
	if l.table.full() {
		l.full(w, p)
		return
	}
	core := l.h.srv.NewSession(nil, p.x.Principal)
	p.x.Session = core
	p.x.Stream = nil
	reply, status := l.h.srv.Serve(r.Context(), &p.x)
	if reply == nil || reply.Error != nil {
		l.h.closeCore(core)
		l.h.finish(p, reply, status)
		return
	}
	s := l.table.add(core, p.x.Principal)
	if s == nil {
		l.h.closeCore(core)
		l.full(w, p)
		return
	}
	w.Header()[headerSession] = []string{s.id}
	l.h.finish(p, reply, status)
}

// full refuses a session that there is no room for.
func (l *legacy) full(w http.ResponseWriter, p *post) {
	l.h.opts.Logger.Warn("mcphttp: no room for another session", "Options.Sessions.MaxSessions", l.table.opts().MaxSessions)
	w.Header().Set("Retry-After", strconv.Itoa(int(unusedSessionExpiry.Seconds())))
	l.h.answerError(w, http.StatusServiceUnavailable, p.msg.ID, errFull)
}

// trackKey finds the track of a call in its context, for CloseStream.
type trackKey struct{}

// request serves a request on a goroutine of its own, because it outlives the HTTP exchange: the client's going away does not cancel
// it, and the response may be closed early.
func (l *legacy) request(w http.ResponseWriter, r *http.Request, p *post, s *session) {
	defer l.table.release(s)
	t, over := l.open(p, s)
	ctx := context.WithValue(context.WithoutCancel(r.Context()), trackKey{}, t)
	l.calls.do(func() {
		defer l.table.done(s, 1)
		reply, status := l.h.srv.Serve(ctx, &p.x)
		t.answer(p, reply, status)
		p.release()
	})
	l.carry(w, r, p, t, over)
}

// open makes a track for the answer to a POST.
func (l *legacy) open(p *post, s *session) (*track, chan struct{}) {
	t := s.newTrack()
	over := make(chan struct{})
	p.sink.onClose = func() { close(over) }
	if s.primes() {
		p.sink.prelude = func(dst []byte) []byte { return appendRetry(dst, t.id(0), l.table.opts().RetryAfter) }
	}
	t.out.Store(&p.sink)
	p.x.Stream = noStream{}
	if p.accepts&acceptsSSE != 0 {
		p.x.Stream = t
		p.sink.keepAlive()
	}
	return t, over
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
func (l *legacy) carry(w http.ResponseWriter, r *http.Request, p *post, t *track, over <-chan struct{}) {
	select {
	case <-over:
	case <-r.Context().Done():
		p.sink.abort()
	}
	t.detach(&p.sink)
	p.sink.expire()
	switch plain := p.sink.plain; {
	case plain != nil:
		l.h.writePlain(w, plain)
	case !p.sink.hasBegun() && r.Context().Err() == nil: // the session ended under the call
		l.h.answerError(w, http.StatusNotFound, p.msg.ID, errUnknownSession)
	}
}

// answer ends a track with the response to its request.
func (t *track) answer(p *post, reply *jsonrpc.Message, status int) {
	switch {
	case reply == nil: // the client has cancelled the request
		t.finish(&plainAnswer{status: http.StatusAccepted})
	case p.accepts&acceptsJSON != 0 || status >= http.StatusBadRequest:
		plain := encodePlain(status, reply)
		plain.challenges = challenges(&p.x)
		t.finish(plain, reply)
	default:
		t.finish(nil, reply)
	}
}

// deliver takes a client's response to a request of the server.
func (l *legacy) deliver(w http.ResponseWriter, r *http.Request, p *post) {
	s := l.acquire(w, r, p.x.Principal, jsonrpc.ID{})
	if s == nil {
		p.release()
		return
	}
	defer l.table.release(s)
	deliver(s.core, &p.msg)
	p.release()
	w.WriteHeader(http.StatusAccepted)
}

// deliver hands over a response whose body is released afterwards. The core copies the result; an error is copied here.
func deliver(core *mcp.Session, m *jsonrpc.Message) {
	if m.Error != nil {
		own := *m.Error
		own.Data = bytes.Clone(own.Data)
		m.Error = &own
	}
	core.Deliver(m)
}

// delete ends a session at its client's wish.
func (l *legacy) delete(w http.ResponseWriter, r *http.Request, principal *mcp.Principal) {
	s := l.acquire(w, r, principal, jsonrpc.ID{})
	if s == nil {
		return
	}
	l.table.remove(s)
	s.end()
	l.table.release(s)
	w.WriteHeader(http.StatusNoContent)
}

// close ends all sessions and waits for their calls.
func (l *legacy) close(ctx context.Context) error {
	l.table.close()
	l.once.Do(l.calls.end)
	done := make(chan struct{})
	go func() { // ends with the calls, whose contexts are cancelled
		defer close(done)
		l.calls.wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("mcphttp: calls are still running: %w", context.Cause(ctx))
	}
}

// primes reports whether streams of the session begin with an event that has only an id.
func (s *session) primes() bool { return s.resumable() && s.core.Revision().Rules().HTTP.Priming }

// encodePlain encodes a JSON answer.
func encodePlain(status int, m *jsonrpc.Message) *plainAnswer {
	buf, large := encode(m)
	return &plainAnswer{status: status, buf: buf, large: large}
}
