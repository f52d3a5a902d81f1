package mcp

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// A Handler serves one request or notification. The result is a result type of this package, or a json.RawMessage that holds an
// encoded JSON object; results of list methods are the latter. What becomes of an error is explained at [ToolError]. A notification
// has no result, and its error is only logged.
type Handler func(ctx context.Context, call *Call) (any, error)

// A Middleware wraps what serves requests and notifications. It sees every one that was admitted, of either era, initialize and
// server/discover included; it may change ctx, refuse, and look at or replace the result. Of a 2026-07-28 call that asks the person
// it sees the *InputRequiredResult as a result.
type Middleware func(next Handler) Handler

// chain is the handler with all middleware around it.
type chain struct {
	handler Handler
	mws     []Middleware
}

// Use adds middleware; the first added is outermost. Middleware holds for every request that begins after Use returns, on every
// connection: it is added when the server is set up, not per request.
func (s *Server) Use(mws ...Middleware) {
	for {
		old := s.chain.Load()
		all := append(old.mws[:len(old.mws):len(old.mws)], mws...)
		h := Handler(s.handle)
		for i := len(all) - 1; i >= 0; i-- {
			h = all[i](h)
		}
		if s.chain.CompareAndSwap(old, &chain{handler: h, mws: all}) {
			return
		}
	}
}

// Serve runs the handler of an admitted message on the caller's goroutine and returns the response, whose raw fields stay valid and
// must not be changed, and the HTTP status to use if nothing was streamed before. The response is nil for notifications, and for
// requests that the client has cancelled: nothing is to be sent for them.
//
// A subscriptions/listen request (2026-07-28) is served until ctx ends, the server shuts down or the stream fails; its notices go to
// x.Stream.
func (s *Server) Serve(ctx context.Context, x *Exchange) (*jsonrpc.Message, int) {
	m := x.Message
	if !x.admitted {
		if adm := s.Admit(x); adm.Err != nil {
			return s.refusal(m, adm.Err, adm.Status)
		}
	}
	if !s.enter() {
		return s.refusal(m, errShuttingDown, httpUnavailable)
	}
	defer s.leave()
	c := s.newCall(x)
	ctx, r := s.track(ctx, x)
	defer r.end()
	c.serving = ctx
	result, err := s.run(ctx, c)
	c.finish()
	return s.conclude(ctx, c, result, err)
}

// newCall makes the call that serves an admitted message.
func (s *Server) newCall(x *Exchange) *Call {
	c := &Call{server: s, exchange: x, method: x.Message.Method, name: x.name, rev: x.revision, principal: x.Principal, client: x.facts}
	if x.Session != nil {
		x.Session.describe(c)
	}
	return c
}

// conclude makes the response of what a handler returned. The encoders and errors of the program, and its log, may panic like a handler.
func (s *Server) conclude(ctx context.Context, c *Call, result any, err error) (reply *jsonrpc.Message, status int) {
	if !s.options.PropagatePanics {
		defer func() {
			if v := recover(); v != nil {
				reply, status = s.contained(c, v)
			}
		}()
	}
	m := c.exchange.Message
	switch {
	case m.Kind() == jsonrpc.Notification:
		if err != nil {
			s.log.Warn("mcp: a notification failed", "method", m.Method, "error", err)
		}
		return nil, httpAccepted
	case errors.Is(whyEnded(ctx), errCancelled):
		return nil, httpAccepted
	case err != nil:
		return s.refusal(m, s.wireError(ctx, c, err), s.errorStatus(c, err))
	}
	raw, err := s.shape(c, result)
	if err != nil {
		return s.refusal(m, s.wireError(ctx, c, err), httpOK)
	}
	if raw == nil { // a listen stream that its client has closed
		return nil, httpOK
	}
	reply = &jsonrpc.Message{ID: m.ID, Result: raw}
	if c.isEncoded(raw) {
		reply.Vouch()
	}
	return reply, httpOK
}

// refusal returns the error response to m, or nothing if m is a notification.
func (s *Server) refusal(m *jsonrpc.Message, err *Error, status int) (*jsonrpc.Message, int) {
	if m.Kind() == jsonrpc.Notification {
		return nil, status
	}
	return &jsonrpc.Message{ID: m.ID, Error: err}, status
}

// contained answers a request whose answer could not be made because code of the program panicked. The log may be what panics.
func (s *Server) contained(c *Call, v any) (*jsonrpc.Message, int) {
	func() {
		defer func() { _ = recover() }()
		s.logCall(c).Error("mcp: panic while a request was answered", "error", fmt.Sprint(v), "stack", string(debug.Stack()))
	}()
	return s.refusal(c.exchange.Message, errInternal, httpOK)
}

// run calls the middleware chain and contains panics.
func (s *Server) run(ctx context.Context, c *Call) (result any, err error) {
	if !s.options.PropagatePanics {
		defer func() {
			if v := recover(); v != nil {
				result, err = nil, &panicError{value: v, stack: debug.Stack()}
			}
		}()
	}
	authorize := s.options.Authorize
	if authorize == nil {
		authorize = holdsScopes
	}
	if err := authorize(ctx, c); err != nil {
		c.exchange.refusal = err
		return nil, &refusedError{err}
	}
	return s.chain.Load().handler(ctx, c)
}

// refusedError wraps what Authorize said.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// panicError is a contained panic.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// wireError maps what a handler returned to what the peer gets to see, and logs the rest.
func (s *Server) wireError(ctx context.Context, c *Call, err error) *Error {
	var (
		wire    *Error
		tool    *ToolError
		refused *refusedError
	)
	switch {
	case errors.As(err, &wire):
		return wire
	case errors.As(err, &refused):
		s.logCall(c).Warn("mcp: request refused", "error", err)
		return &Error{Code: CodeInvalidRequest, Message: "not permitted"}
	case errors.As(err, &tool):
		logTool(ctx, s.logCall(c), "mcp: request failed", tool)
		return &Error{Code: CodeInternalError, Message: tool.Text}
	case errors.Is(err, ErrNotFound):
		return notFound(c)
	}
	s.logFailure(ctx, c, err)
	return errInternal
}

// logFailure logs an error that is none of the peer's business. That a request fails whose context has ended is no news.
func (s *Server) logFailure(ctx context.Context, c *Call, err error) {
	log := s.logCall(c)
	var p *panicError
	if errors.As(err, &p) {
		log.Error("mcp: handler panicked", "error", p.Error(), "stack", string(p.stack))
		return
	}
	if ctx.Err() != nil {
		log.Debug("mcp: request ended before its handler", "error", err, "cause", context.Cause(ctx))
		return
	}
	log.Error("mcp: handler failed", "error", err)
}

// errorStatus chooses the HTTP status of an error.
func (s *Server) errorStatus(c *Call, err error) int {
	var (
		status interface{ HTTPStatus() int }
		wire   *Error
	)
	switch {
	case errors.As(err, &status):
		return status.HTTPStatus()
	case errors.As(err, new(*refusedError)):
		return httpForbidden
	case errors.As(err, &wire):
		return era.HTTPStatus(c.rev, wire.Code)
	}
	return httpOK
}

// handle finds the method's own handler.
func (s *Server) handle(ctx context.Context, c *Call) (any, error) {
	if c.exchange.Message.Kind() == jsonrpc.Notification {
		return nil, s.handleNotification(ctx, c)
	}
	if h := methods[c.method]; h != nil && s.offers(c.method, c.rev) {
		if shape := c.exchange.params.shape; shape == paramsOther || shape == paramsBroken {
			return nil, errParamsShape
		}
		return h(s, ctx, c)
	}
	if h, ok := s.custom.request(c.method); ok {
		return h(ctx, c)
	}
	return nil, methodNotFound(c.method)
}

// errParamsShape refuses params that are no object.
var errParamsShape = invalidParams("params must be one JSON object in which every name occurs once")

// A method is a built-in request.
type method func(s *Server, ctx context.Context, c *Call) (any, error)

// methods are the built-in requests of every era; era.Rules says which revision has which.
var methods map[string]method

func init() {
	methods = map[string]method{
		MethodDiscover:               (*Server).discover,
		MethodToolsList:              (*Server).listTools,
		MethodToolsCall:              (*Server).callTool,
		MethodPromptsList:            (*Server).listPrompts,
		MethodPromptsGet:             (*Server).getPrompt,
		MethodResourcesList:          (*Server).listResources,
		MethodResourcesTemplatesList: (*Server).listTemplates,
		MethodResourcesRead:          (*Server).readResource,
		MethodComplete:               (*Server).complete,
		MethodListen:                 (*Server).listen,
	}
	addLegacyMethods(methods)
}

// knows reports whether requests of the method are served at the revision.
func (s *Server) knows(name string, rev Revision) bool {
	if methods[name] != nil && s.offers(name, rev) {
		return true
	}
	_, ok := s.custom.request(name)
	return ok
}

// offers reports whether a built-in method exists at the revision and its capability is declared.
func (s *Server) offers(name string, rev Revision) bool {
	if rev == 0 { // before there is a revision; a build without the handshake era has neither method
		return name == MethodInitialize || name == MethodPing
	}
	if !rev.Rules().HasRequest(era.ClientToServer, name) {
		return false
	}
	switch name {
	case MethodToolsList, MethodToolsCall:
		return s.has("tools")
	case MethodPromptsList, MethodPromptsGet:
		return s.has("prompts")
	case MethodResourcesList, MethodResourcesTemplatesList, MethodResourcesRead, MethodResourcesSubscribe, MethodResourcesUnsubscribe:
		return s.has("resources")
	case MethodComplete:
		return s.has("completions")
	case MethodSetLevel:
		return !s.options.NoLogging
	}
	return true
}

// customMethods are the requests and notifications that a program added.
type customMethods struct {
	mu            sync.RWMutex
	requests      map[string]Handler
	notifications map[string]Handler
}

func (m *customMethods) request(name string) (Handler, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	h, ok := m.requests[name]
	return h, ok
}

func (m *customMethods) notification(name string) (Handler, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	h, ok := m.notifications[name]
	return h, ok
}
