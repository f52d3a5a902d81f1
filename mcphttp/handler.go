package mcphttp

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// A Handler serves one [mcp.Server] over Streamable HTTP at the path it is mounted on: revision 2026-07-28 statelessly and the
// handshake era (2025-03-26 to 2025-11-25) in sessions, on the same endpoint. See [NewHandler].
type Handler struct {
	srv     *mcp.Server
	opts    Options
	guard   *guard
	methods string       // for Allow and CORS
	era     handshakeEra // nil when only 2026-07-28 is served
	table   sessionTable // nil when there are no sessions at the server
	pingers sync.Pool    // of *pinger

	bodies, writes, pauses *watch // what takes longer than the time for it

	unflushed sync.Once // says once that streams cannot be flushed
}

// handshakeEra is what the handshake era adds to the endpoint. Each method answers the request.
type handshakeEra interface {
	// post serves an admitted request or notification.
	post(w http.ResponseWriter, r *http.Request, p *post)
	// deliver takes a client's response to a request of the server.
	deliver(w http.ResponseWriter, r *http.Request, p *post)
	// batch serves an array of messages.
	batch(w http.ResponseWriter, r *http.Request, p *post)
}

// sessionTable is what sessions that the server keeps add further.
type sessionTable interface {
	get(w http.ResponseWriter, r *http.Request, principal *mcp.Principal)
	delete(w http.ResponseWriter, r *http.Request, principal *mcp.Principal)
	// close ends all sessions and waits until ctx ends for their calls.
	close(ctx context.Context) error
}

// NewHandler returns a handler that serves srv. It panics when an option is malformed; the message names it. The handler may be
// mounted more than once and behind any middleware that leaves streaming alone; [Mount] registers it so that a trailing slash does
// not matter. Call [Handler.Close] when it is no longer used, after [mcp.Server.Shutdown].
func NewHandler(srv *mcp.Server, o *Options) *Handler {
	h, err := newHandler(srv, o)
	if err != nil {
		panic(err)
	}
	return h
}

func newHandler(srv *mcp.Server, o *Options) (*Handler, error) {
	h, err := makeHandler(srv, o)
	if err != nil {
		return nil, err
	}
	if servesHandshake(srv) {
		h.era = newHandshakeEra(h)
	}
	if table, ok := h.era.(sessionTable); ok {
		h.table, h.methods = table, "GET, POST, DELETE"
	}
	return h, nil
}

// makeHandler makes what every endpoint has, for 2026-07-28 alone.
func makeHandler(srv *mcp.Server, o *Options) (*Handler, error) {
	if srv == nil {
		return nil, errors.New("mcphttp: the server is nil")
	}
	opts, err := o.resolved()
	if err != nil {
		return nil, err
	}
	g, err := newGuard(&opts)
	if err != nil {
		return nil, err
	}
	return &Handler{
		srv: srv, opts: opts, guard: g, methods: "POST",
		bodies: newWatch(opts.BodyTimeout), writes: newWatch(opts.WriteTimeout), pauses: newWatch(opts.KeepAlive),
	}, nil
}

// servesHandshake reports whether srv serves a revision that begins with a handshake.
func servesHandshake(srv *mcp.Server) bool {
	return slices.ContainsFunc(srv.Revisions(), mcp.Revision.Legacy)
}

// mirrored picks the headers that the core wants to see.
func mirrored(h http.Header) mcp.Headers {
	return mcp.Headers{
		ProtocolVersion: mcp.HeaderOf(h[headerVersion]),
		Method:          mcp.HeaderOf(h["Mcp-Method"]),
		Name:            mcp.HeaderOf(h["Mcp-Name"]),
		SessionID:       len(h[headerSession]) > 0,
		All:             h,
	}
}

// Canonical forms of header names, as net/http spells them.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
)

// Mount registers h at path, with and without a trailing slash, so that neither spelling is answered with a redirect, which would
// lose the body or the credentials.
func Mount(mux *http.ServeMux, path string, h http.Handler) {
	path = strings.TrimSuffix(path, "/")
	if path != "" {
		mux.Handle(path, h)
	}
	mux.Handle(path+"/{$}", h)
}

// Close ends all sessions of the handshake era and their streams, and waits for their running calls until ctx ends; the error is
// then its cause. Requests of 2026-07-28 belong to the http.Server, whose Shutdown waits for them. A program that runs its own
// http.Server loses least when it calls [mcp.Server.Shutdown] first, which lets calls finish and ends streams properly, then Close,
// then the Shutdown of the http.Server; [Serve] does all of it.
func (h *Handler) Close(ctx context.Context) error {
	if h.table == nil {
		return nil
	}
	return h.table.close(ctx)
}

// ServeHTTP answers one HTTP request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	principal, ok := h.enter(w, r)
	if !ok {
		return
	}
	switch {
	case r.Method == http.MethodPost:
		h.post(w, r, principal)
	case r.Method == http.MethodGet && h.table != nil:
		h.table.get(w, r, principal)
	case r.Method == http.MethodDelete && h.table != nil:
		h.table.delete(w, r, principal)
	default:
		h.methodNotAllowed(w)
	}
}

// enter does what comes before a request is looked at: guard, CORS, authorization. It reports false when the request is answered.
func (h *Handler) enter(w http.ResponseWriter, r *http.Request) (*mcp.Principal, bool) {
	if ref := h.guard.check(r); ref != nil {
		h.opts.Logger.DebugContext(r.Context(), "mcphttp: request refused", "status", ref.status, "reason", ref.message)
		h.answerRefusal(w, ref)
		return nil, false
	}
	h.corsHeaders(w, r)
	if r.Method == http.MethodOptions {
		h.preflight(w, r)
		return nil, false
	}
	return h.authenticate(w, r)
}

func (h *Handler) methodNotAllowed(w http.ResponseWriter) {
	ref := refuse(http.StatusMethodNotAllowed, "this endpoint takes "+h.methods)
	ref.header = http.Header{"Allow": {h.methods}}
	h.answerRefusal(w, ref)
}

// A post is one POST request on its way. Everything that belongs to one message is one allocation; it is not reused once a handler has
// seen it, because handlers may hold on to its stream.
type post struct {
	msg     jsonrpc.Message
	headers mcp.Headers
	x       mcp.Exchange
	sink    sink
	accepts accepts
	body    *buffer
	adm     mcp.Admission
}

// post reads the message and finds out whose it is.
func (h *Handler) post(w http.ResponseWriter, r *http.Request, principal *mcp.Principal) {
	p := posts.Get().(*post) // the pool holds nothing else
	p.sink.h, p.sink.w = h, w
	p.accepts = parseAccept(r.Header["Accept"])
	ref := checkContentType(r.Header)
	if ref == nil && p.accepts == 0 {
		ref = refuse(http.StatusNotAcceptable, "the Accept header must allow application/json or text/event-stream")
	}
	if ref == nil {
		p.body, ref = p.sink.readBody(r)
	}
	if ref != nil {
		h.answerRefusal(w, ref)
		return
	}
	p.x.Principal, p.x.Peer = principal, r.RemoteAddr
	switch h.route(w, r, p) { // here and not there, so that the stacks of open streams stay small
	case toHandshake:
		h.era.post(w, r, p)
	case toModern:
		h.serveModern(w, r, p)
	case answered:
	}
}

// destination says who goes on with a message, and releases its body.
type destination uint8

const (
	answered destination = iota // nobody
	toModern
	toHandshake
)

// route decodes the message and finds out whose it is.
func (h *Handler) route(w http.ResponseWriter, r *http.Request, p *post) destination {
	if jsonrpc.IsBatch(p.body.b) {
		if h.era != nil {
			h.era.batch(w, r, p)
			return answered
		}
		p.release()
		h.answerError(w, http.StatusBadRequest, jsonrpc.ID{}, errNoBatch)
		return answered
	}
	var err error
	if p.msg, err = jsonrpc.Decode(p.body.b); err != nil {
		h.answerError(w, http.StatusBadRequest, p.msg.ID, wireError(err))
		p.release()
		return answered
	}
	if p.msg.Kind() == jsonrpc.Response {
		if h.era != nil {
			h.era.deliver(w, r, p)
			p.reuse()
			return answered
		}
		p.release()
		h.answerError(w, http.StatusBadRequest, jsonrpc.ID{}, errNoResponse)
		return answered
	}
	p.headers = mirrored(r.Header)
	p.x.Message = &p.msg
	p.x.Headers = &p.headers
	if p.accepts&acceptsSSE != 0 {
		p.x.Stream = &p.sink
	}
	p.adm = h.srv.Admit(&p.x)
	switch {
	case p.adm.Err != nil:
		h.answerError(w, p.adm.Status, p.msg.ID, p.adm.Err)
		p.release()
		return answered
	case p.adm.Handshake && h.era != nil:
		return toHandshake
	}
	return toModern
}

// release hands the body's buffer back. Raw fields of the message must not be used any more, so they are cut off.
func (p *post) release() {
	p.msg.Params, p.msg.Result = nil, nil
	if p.body != nil {
		p.body.release()
		p.body = nil
	}
}

// posts are those that no handler has seen: of responses.
var posts = sync.Pool{New: func() any { return &post{} }}

// reuse gives the post to another request.
func (p *post) reuse() {
	*p = post{}
	posts.Put(p)
}

// Refusals of messages that the endpoint does not take.
var (
	errNoBatch = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
		Message: "invalid request: an array of messages is taken in sessions of revision 2025-03-26 only"}
	errNoResponse = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
		Message: "invalid request: a response cannot be posted here"}
)

// wireError returns the JSON-RPC error that a decoding function returned.
func wireError(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "invalid request"}
}

// answerRefusal turns a request away.
func (h *Handler) answerRefusal(w http.ResponseWriter, ref *refusal) {
	header := w.Header()
	for name, values := range ref.header {
		header[name] = values
	}
	h.answerError(w, ref.status, jsonrpc.ID{}, &jsonrpc.Error{Code: ref.code, Message: ref.message})
}

// answerError answers with an error, always as JSON whatever the client accepts. A zero id is left out.
func (h *Handler) answerError(w http.ResponseWriter, status int, id jsonrpc.ID, e *jsonrpc.Error) {
	header := w.Header()
	header["X-Content-Type-Options"] = headerNoSniff
	header["Cache-Control"] = headerNoStore
	h.answerJSON(w, status, &jsonrpc.Message{ID: id, Error: e})
}

// answerJSON answers with one message.
func (h *Handler) answerJSON(w http.ResponseWriter, status int, m *jsonrpc.Message) {
	(&sink{h: h, w: w}).answerJSON(status, m)
}

// encode encodes a message: whole in the buffer, or, so that a long list is not copied for every client, up to its result, which is
// then large and lacks only a closing brace.
func encode(m *jsonrpc.Message) (buf *buffer, large []byte) {
	if m.Vouched() && len(m.Result) > largeBuffer/2 {
		buf = getBuffer(0)
		buf.b = jsonrpc.AppendUpToResult(buf.b, m)
		return buf, m.Result
	}
	buf = getBuffer(int64(len(m.Result)) + 256)
	buf.b = jsonrpc.Append(buf.b, m)
	return buf, nil
}

// headerNoStore keeps errors out of caches.
var headerNoStore = []string{"no-store"}
