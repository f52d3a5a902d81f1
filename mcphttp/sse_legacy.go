//go:build !mcp_modern_only

package mcphttp

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/internal/peer"
	"github.com/seed38e7925c/parley/internal/sse"
	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// An SSEHandler serves one [mcp.Server] over HTTP+SSE, the transport of revision 2024-11-05, at the path it is mounted on: GET opens
// the stream that is the session and carries everything the server says, and POST takes the client's messages. It exists for clients
// that know nothing newer; the protocol has deprecated it. See [NewSSEHandler].
type SSEHandler struct {
	h        *Handler
	endpoint *url.URL // what the endpoint event says, without the query; nil for the URL of the GET itself

	mu     sync.Mutex
	conns  map[string]*sseConn
	byPeer peer.Counts
}

// An sseConn is one open stream, which is one session.
type sseConn struct {
	core      *mcp.Session
	principal *mcp.Principal
	peer      string // under which it is counted
	out       *sink
	ctx       context.Context //nolint:containedctx // the session's life: calls that arrive by POST end with it
	calls     sync.WaitGroup

	mu       sync.Mutex
	expiry   *time.Timer // ends the stream with the token; nil if its end is not known
	expires  time.Time
	ready    bool // initialize was answered
	inFlight int
	closed   bool
}

// sessionParam is the query parameter that names the session in the endpoint's URI.
const sessionParam = "session"

// NewSSEHandler returns a handler for HTTP+SSE. Guard, authorization and limits are those of the options, as for [NewHandler];
// [SessionOptions.MaxSessions] bounds the open streams. The endpoint event carries a reference relative to the URL of the GET, which
// holds behind any prefix that a proxy adds; [Options.SSEEndpoint] overrides it. It panics when an option is malformed.
func NewSSEHandler(srv *mcp.Server, o *Options) *SSEHandler {
	h, err := makeHandler(srv, o)
	if err != nil {
		panic(err)
	}
	h.methods = "GET, POST"
	s := &SSEHandler{h: h, conns: make(map[string]*sseConn)}
	if e := h.opts.SSEEndpoint; e != "" {
		if s.endpoint, err = url.Parse(e); err != nil {
			panic(optionError("SSEEndpoint", e, "want a URL or a path"))
		}
	}
	return s
}

// ServeHTTP answers one HTTP request.
func (s *SSEHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	principal, ok := s.h.enter(w, r)
	if !ok {
		return
	}
	switch r.Method {
	case http.MethodGet:
		s.get(w, r, principal)
	case http.MethodPost:
		s.post(w, r, principal)
	default:
		s.h.methodNotAllowed(w)
	}
}

// get opens a session, and carries what the server says until the client goes or the server ends.
func (s *SSEHandler) get(w http.ResponseWriter, r *http.Request, principal *mcp.Principal) {
	if parseAccept(r.Header["Accept"])&acceptsSSE == 0 {
		s.h.answerRefusal(w, refuse(http.StatusNotAcceptable, "the answer to GET is a stream, so Accept must allow text/event-stream"))
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	id := rand.Text()
	out := &sink{h: s.h, w: w, carrier: &sseGet{endpoint: s.endpointFor(id), cancel: cancel}}
	c := &sseConn{core: s.h.srv.NewSession(out, principal), principal: principal, peer: peerOf(principal, r.RemoteAddr), out: out, ctx: ctx}
	defer s.h.closeCore(c.core)
	if lacks := s.add(id, c); lacks != lackNone {
		s.h.refuseSession(w, jsonrpc.ID{}, lacks)
		return
	}
	defer s.remove(id, c)
	c.expireWith(principal, cancel)
	if out.begin() == nil {
		out.keepAlive()
		c.pump(ctx)
	}
	c.expireWith(nil, nil)
	c.end()
	c.calls.Wait() // when the client has gone they are cancelled; when the server is ending they finish
	out.close()
}

// expireWith ends the stream when the token of its caller does, unless the caller comes with a newer one; a nil caller ends that.
func (c *sseConn) expireWith(p *mcp.Principal, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.expiry != nil {
		c.expiry.Stop()
		c.expiry = nil
	}
	if p != nil && !p.Expiry.IsZero() {
		c.expiry, c.expires = time.AfterFunc(time.Until(p.Expiry), end), p.Expiry
	}
}

// renew keeps the stream open for as long as the token of a request of the same caller is good.
func (c *sseConn) renew(p *mcp.Principal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.expiry != nil && p.Expiry.After(c.expires) && c.expiry.Stop() {
		c.expires = p.Expiry
		c.expiry.Reset(time.Until(p.Expiry))
	}
}

// sseGet is the carrier of the stream.
type sseGet struct {
	endpoint string
	cancel   context.CancelFunc
}

func (g *sseGet) prelude(dst []byte) []byte {
	return sse.Append(dst, &sse.Event{Name: "endpoint", Data: []byte(g.endpoint)})
}

func (g *sseGet) closed() { g.cancel() }

// pump passes on the core's unsolicited messages.
func (c *sseConn) pump(ctx context.Context) {
	for {
		m, err := c.core.Next(ctx)
		if err != nil || c.out.Send(ctx, m) != nil {
			return
		}
	}
}

// endpointFor returns where the client of a session posts.
func (s *SSEHandler) endpointFor(id string) string {
	query := url.Values{sessionParam: {id}}
	if s.endpoint == nil {
		return "?" + query.Encode()
	}
	u := *s.endpoint
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += query.Encode()
	return u.String()
}

func (s *SSEHandler) add(id string, c *sseConn) lack {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.conns) >= s.h.opts.Sessions.MaxSessions:
		return lackAll
	case s.byPeer.Full(c.peer, s.h.opts.Sessions.MaxSessionsPerPeer):
		return lackPeer
	}
	s.conns[id] = c
	s.byPeer.Add(c.peer)
	return lackNone
}

func (s *SSEHandler) remove(id string, c *sseConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[id] == c {
		delete(s.conns, id)
		s.byPeer.Remove(c.peer)
	}
}

// find returns a session for its owner.
func (s *SSEHandler) find(id string, p *mcp.Principal) *sseConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.conns[id]; c != nil && c.principal.Same(p) {
		return c
	}
	return nil
}

// post takes one message; what answers it goes over the stream.
func (s *SSEHandler) post(w http.ResponseWriter, r *http.Request, principal *mcp.Principal) {
	c := s.find(r.URL.Query().Get(sessionParam), principal)
	if c == nil {
		s.h.answerError(w, http.StatusNotFound, jsonrpc.ID{}, errUnknownSession)
		return
	}
	ref := checkContentType(r.Header)
	p := &post{}
	p.sink.h, p.sink.w = s.h, w
	if ref == nil {
		p.body, ref = p.sink.readBody(r)
	}
	if ref != nil {
		s.h.answerRefusal(w, ref)
		return
	}
	var err error
	if p.msg, err = jsonrpc.Decode(p.body.b); err != nil {
		s.h.answerError(w, http.StatusBadRequest, p.msg.ID, wireError(err))
		p.release()
		return
	}
	if p.msg.Kind() == jsonrpc.Response {
		deliver(c.core, &p.msg)
		p.release()
		w.WriteHeader(http.StatusAccepted)
		return
	}
	p.x.Message, p.x.Principal, p.x.Stream, p.x.Web = &p.msg, principal, c.out, true
	c.renew(principal)
	if status, refused := c.take(s.h, p); refused != nil {
		s.h.answerError(w, status, p.msg.ID, refused)
		p.release()
		return
	}
	if p.msg.Kind() == jsonrpc.Notification {
		c.serve(s.h, p) // before the answer, so that what the client posts next finds it done
	} else {
		go c.serve(s.h, p) // counted by take; the GET waits for it
	}
	w.WriteHeader(http.StatusAccepted)
}

var errNotHandshake = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
	Message: "invalid request: HTTP+SSE carries no revision without a handshake; begin with initialize"}

// take admits a message and counts it among those being served.
func (c *sseConn) take(h *Handler, p *post) (int, *jsonrpc.Error) {
	limit := h.opts.Sessions.MaxInFlight
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return http.StatusNotFound, errUnknownSession
	}
	if c.ready {
		p.x.Session = c.core
	}
	adm := h.srv.Admit(&p.x)
	switch {
	case adm.Err != nil:
		return adm.Status, adm.Err
	case !adm.Handshake:
		return http.StatusBadRequest, errNotHandshake
	case c.inFlight >= limit:
		return http.StatusTooManyRequests, errBusySession
	}
	p.x.Session = c.core
	c.inFlight++
	c.calls.Add(1)
	return 0, nil
}

// serve serves one message and writes its answer to the stream.
func (c *sseConn) serve(h *Handler, p *post) {
	defer c.calls.Done()
	reply, _ := h.srv.Serve(c.ctx, &p.x)
	c.mu.Lock()
	c.inFlight--
	c.ready = c.ready || p.msg.Method == methodInitialize && reply != nil && reply.Error == nil
	c.mu.Unlock()
	if reply != nil {
		if err := c.out.Send(c.ctx, reply); err != nil && !errors.Is(err, mcp.ErrClosed) {
			h.opts.Logger.Debug("mcphttp: answer not delivered", "error", err)
		}
	}
	p.release()
}

// methodInitialize opens a session.
const methodInitialize = "initialize"

// end refuses further messages.
func (c *sseConn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}
