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

	signals sync.Pool // of chan struct{}
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
	errFullPeer = &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
		Message: "you have as many sessions as one caller may have; end some of them, or try again later"}
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
		defer s.use.release()
		defer p.release()
		l.h.serveNotification(w, r, p)
		return
	}
	if !s.use.begin(1, l.table.opts().MaxInFlight) {
		s.use.release()
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
	key := peerOf(p.x.Principal, r.RemoteAddr)
	if lacks := l.table.full(key); lacks != lackNone {
		l.h.refuseSession(w, p.msg.ID, lacks)
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
	s, lacks := l.table.add(core, p.x.Principal, key)
	if s == nil {
		l.h.closeCore(core)
		l.h.refuseSession(w, p.msg.ID, lacks)
		return
	}
	w.Header()[headerSession] = []string{s.id}
	l.h.finish(p, reply, status)
}

// refuseSession refuses a session that there is no room for.
func (h *Handler) refuseSession(w http.ResponseWriter, id jsonrpc.ID, lacks lack) {
	w.Header().Set("Retry-After", strconv.Itoa(int(unusedSessionExpiry.Seconds())))
	if lacks == lackPeer {
		h.opts.Logger.Warn("mcphttp: a caller has all the sessions that it may have", "Options.Sessions.MaxSessionsPerPeer", h.opts.Sessions.MaxSessionsPerPeer)
		h.answerError(w, http.StatusTooManyRequests, id, errFullPeer)
		return
	}
	h.opts.Logger.Warn("mcphttp: no room for another session", "Options.Sessions.MaxSessions", h.opts.Sessions.MaxSessions)
	h.answerError(w, http.StatusServiceUnavailable, id, errFull)
}

// deliver takes a client's response to a request of the server.
func (l *legacy) deliver(w http.ResponseWriter, r *http.Request, p *post) {
	s := l.acquire(w, r, p.x.Principal, jsonrpc.ID{})
	if s == nil {
		p.release()
		return
	}
	defer s.use.release()
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
	s.use.release()
	w.WriteHeader(http.StatusNoContent)
}

// close ends all sessions and waits for their calls.
func (l *legacy) close(ctx context.Context) error {
	l.table.close()
	l.calls.end()
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
