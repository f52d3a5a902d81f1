//go:build !mcp_modern_only

package mcphttp

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// stateless serves the handshake era without a table: the session id is what the handshake agreed on, sealed.
type stateless struct {
	h    *Handler
	keys *mcp.KeyRing
}

// maxSealedSession bounds a session id, which travels in a header that proxies bound too. What a client says of itself beyond its name
// is left out first.
const maxSealedSession = 4 << 10

var (
	errSealedTooLarge = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
		Message: "params.capabilities are too large: this server keeps them in the session id"}
	errNothingAsked = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
		Message: "invalid request: a response was sent, but this server asks nothing, because it keeps no sessions"}
)

func newStateless(h *Handler) *stateless {
	s := &stateless{h: h, keys: h.opts.Sessions.Keys}
	if s.keys == nil {
		s.keys = mcp.NewKeyRing()
		h.opts.Logger.Warn("mcphttp: the keys of stateless sessions were made for this process only: " +
			"another replica, or this one after a restart, does not know them; set Options.Sessions.Keys")
	}
	return s
}

// binding is what a session id is sealed for.
func (s *stateless) binding(p *mcp.Principal) *mcp.Binding {
	return &mcp.Binding{Purpose: "http session", Audience: s.h.srv.Info().Name, Principal: p}
}

// seal makes a session id.
func (s *stateless) seal(p *mcp.Principal, st mcp.SessionState) (string, error) {
	for range 2 {
		plain, err := json.Marshal(&st)
		if err != nil {
			return "", fmt.Errorf("mcphttp: encoding a session: %w", err)
		}
		id, err := s.keys.Seal(s.binding(p), plain)
		if err != nil || len(id) <= maxSealedSession {
			return id, err
		}
		if st.ClientInfo != nil {
			st.ClientInfo = &mcp.Implementation{Name: clip(st.ClientInfo.Name), Version: clip(st.ClientInfo.Version)}
		}
	}
	return "", errSealedTooLarge
}

// clip bounds a client's name for itself.
func clip(s string) string { return s[:min(len(s), 100)] }

// session restores the session of a request. Without an id, as old clients of stateless servers send none, it is one of the revision
// that the header says, with nothing declared. On failure it answers and returns nil.
func (s *stateless) session(w http.ResponseWriter, r *http.Request, p *post, rev mcp.Revision) *mcp.Session {
	status, refused := http.StatusBadRequest, checkVersion(r.Header[headerVersion])
	st := mcp.SessionState{ProtocolVersion: rev.String()}
	switch values := r.Header[headerSession]; {
	case refused != nil, len(values) == 0:
	case len(values) > 1:
		refused = errTwoSessions
	case s.open(p.x.Principal, values[0], &st) != nil:
		status, refused = http.StatusNotFound, errUnknownSession
	}
	if refused == nil {
		core, err := s.h.srv.RestoreSession(p.x.Principal, st)
		if err == nil {
			return core
		}
		s.h.opts.Logger.Debug("mcphttp: a session cannot be restored", "error", err)
		status, refused = http.StatusNotFound, errUnknownSession
	}
	s.h.answerError(w, status, p.msg.ID, refused)
	return nil
}

// open reads a session id.
func (s *stateless) open(p *mcp.Principal, id string, st *mcp.SessionState) error {
	plain, err := s.keys.Open(s.binding(p), id)
	if err == nil {
		err = json.Unmarshal(plain, st)
	}
	if err != nil {
		s.h.opts.Logger.Debug("mcphttp: a session id does not open", "error", err)
	}
	return err
}

// post serves an admitted request or notification on this goroutine. The client's going away does not cancel it.
func (s *stateless) post(w http.ResponseWriter, r *http.Request, p *post) {
	defer p.release()
	if p.adm.Initialize {
		s.initialize(w, r, p)
		return
	}
	core := s.session(w, r, p, p.adm.Revision)
	if core == nil {
		return
	}
	defer s.h.closeCore(core)
	p.x.Session = core
	if p.msg.Kind() == jsonrpc.Notification {
		s.h.serveNotification(w, r, p)
		return
	}
	defer p.sink.close()
	if p.x.Stream != nil {
		p.sink.keepAlive()
	}
	reply, status := s.h.srv.Serve(context.WithoutCancel(r.Context()), &p.x)
	s.h.finish(p, reply, status)
}

// initialize agrees on a session and gives all of it to the client.
func (s *stateless) initialize(w http.ResponseWriter, r *http.Request, p *post) {
	core := s.h.srv.NewSession(nil, p.x.Principal)
	defer s.h.closeCore(core)
	p.x.Session, p.x.Stream = core, nil
	reply, status := s.h.srv.Serve(r.Context(), &p.x)
	if reply != nil && reply.Error == nil {
		id, err := s.seal(p.x.Principal, core.State())
		if err != nil {
			s.h.opts.Logger.Warn("mcphttp: no session id could be made", "error", err)
			reply = &jsonrpc.Message{ID: p.msg.ID, Error: wireError(err)}
		} else {
			w.Header()[headerSession] = []string{id}
		}
	}
	s.h.finish(p, reply, status)
}

// batch serves an array of messages.
func (s *stateless) batch(w http.ResponseWriter, r *http.Request, p *post) {
	defer p.release()
	items, err := jsonrpc.DecodeBatch(p.body.b)
	if err != nil {
		s.h.answerError(w, http.StatusBadRequest, jsonrpc.ID{}, wireError(err))
		return
	}
	core := s.session(w, r, p, mcp.Revision20250326)
	if core == nil {
		return
	}
	defer s.h.closeCore(core)
	if !core.Revision().Rules().Batch {
		s.h.answerError(w, http.StatusBadRequest, jsonrpc.ID{}, errNoBatch)
		return
	}
	b := newBatch(s.h, p, core, r.Header)
	b.sort(items)
	if len(b.requests) > s.h.opts.Sessions.MaxInFlight {
		s.h.answerError(w, http.StatusTooManyRequests, jsonrpc.ID{}, errBusySession)
		return
	}
	if p.accepts&acceptsSSE != 0 {
		p.x.Stream = &p.sink
		p.sink.keepAlive()
	}
	ctx := context.WithoutCancel(r.Context())
	b.serveQuiet(ctx)
	b.serveRequests(ctx)
	b.finish()
}

// deliver refuses a response: nothing was asked.
func (s *stateless) deliver(w http.ResponseWriter, _ *http.Request, p *post) {
	p.release()
	s.h.answerError(w, http.StatusBadRequest, jsonrpc.ID{}, errNothingAsked)
}
