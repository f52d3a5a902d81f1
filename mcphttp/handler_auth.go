package mcphttp

import (
	"context"
	"errors"
	"net/http"

	"github.com/seed38e7925c/parley/mcp"
)

// An AuthError refuses a request for want of authorization. [Options.Authenticate] returns it (or wraps it) to say how.
type AuthError struct {
	// Status is the HTTP status: 401 when there is no valid credential, 403 when it does not suffice, 400 when it is malformed, 503 when
	// it cannot be verified at the moment. Zero means 401.
	Status int
	// Challenges are the values of WWW-Authenticate, one header line each.
	Challenges []string
	// Header are further headers of the answer, such as Retry-After; nil for none. It must not be modified afterwards.
	Header http.Header
	// Message tells the client's developer what is missing. It crosses the wire, so it must not tell why a token is invalid in
	// more detail than its holder may know.
	Message string
	// Err is the cause, for the log only; it may be nil.
	Err error
}

// Error returns the message, and the cause where there is one.
func (e *AuthError) Error() string {
	msg := e.Message
	if msg == "" {
		msg = http.StatusText(e.HTTPStatus())
	}
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

// Unwrap returns the cause.
func (e *AuthError) Unwrap() error { return e.Err }

// As makes the message cross the wire in a refusal by [mcp.ServerOptions.Authorize], as it does in one by [Options.Authenticate].
func (e *AuthError) As(target any) bool {
	t, ok := target.(**mcp.Error)
	if !ok || e.Message == "" {
		return false
	}
	*t = &mcp.Error{Code: mcp.CodeInvalidRequest, Message: e.Message}
	return true
}

// HTTPStatus returns the status to answer with. It makes an AuthError that [mcp.ServerOptions.Authorize] returns, after the message was
// decoded, refuse the request in the same way.
func (e *AuthError) HTTPStatus() int {
	if e.Status == 0 {
		return http.StatusUnauthorized
	}
	return e.Status
}

// refusalHeaders returns the headers of a refusal by [mcp.ServerOptions.Authorize], nil for none.
func refusalHeaders(x *mcp.Exchange) http.Header {
	err := x.Refusal()
	if err == nil {
		return nil
	}
	var refused *AuthError
	if errors.As(err, &refused) {
		return refused.headers()
	}
	return nil
}

// headers returns the headers of the answer, nil for none.
func (e *AuthError) headers() http.Header {
	if len(e.Challenges) == 0 {
		return e.Header
	}
	h := e.Header.Clone()
	if h == nil {
		h = make(http.Header, 1)
	}
	h[headerChallenge] = e.Challenges
	return h
}

// headerChallenge is the canonical form of WWW-Authenticate.
const headerChallenge = "Www-Authenticate"

type principalKey struct{}

// WithPrincipal returns a context that hands a verified caller from an authorization middleware in front of a [Handler] to it. The
// handler believes it: only code that has verified a credential may call this.
func WithPrincipal(ctx context.Context, p *mcp.Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns what [WithPrincipal] stored, nil when there is nothing.
func PrincipalFrom(ctx context.Context) *mcp.Principal {
	p, _ := ctx.Value(principalKey{}).(*mcp.Principal)
	return p
}

// authenticate finds the caller, or answers the request and returns false.
func (h *Handler) authenticate(w http.ResponseWriter, r *http.Request) (*mcp.Principal, bool) {
	if h.opts.Authenticate == nil {
		return PrincipalFrom(r.Context()), true
	}
	p, err := h.opts.Authenticate(r)
	if err == nil {
		return p, true
	}
	var refused *AuthError
	if !errors.As(err, &refused) {
		h.opts.Logger.ErrorContext(r.Context(), "mcphttp: Options.Authenticate failed", "error", err)
		h.answerRefusal(w, refuse(http.StatusInternalServerError, "internal error"))
		return nil, false
	}
	h.opts.Logger.DebugContext(r.Context(), "mcphttp: request not authorized", "status", refused.HTTPStatus(), "error", err)
	message := refused.Message
	if message == "" {
		message = http.StatusText(refused.HTTPStatus())
	}
	ref := refuse(refused.HTTPStatus(), message)
	ref.header = refused.headers()
	h.answerRefusal(w, ref)
	return nil, false
}
