package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// GetPrompt fetches a prompt, after as many rounds of questions as it takes. Where the server says in a way that can be relied on that
// there is none, the error wraps [ErrNotFound].
func (c *Client) GetPrompt(ctx context.Context, p *GetPromptParams, opts ...*RequestOptions) (*GetPromptResult, error) {
	if p == nil || p.Name == "" {
		return nil, errors.New("mcp: GetPrompt needs the name of a prompt")
	}
	res := new(GetPromptResult)
	if err := c.request(ctx, MethodPromptsGet, p, res, pickOptions(opts)); err != nil {
		return nil, missing("prompt", p.Name, err)
	}
	return res, nil
}

// missing recognises the answers that mean that there is no such tool or prompt: -32602 alone may mean bad arguments as well.
func missing(what, name string, err error) error {
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code != CodeInvalidParams {
		return err
	}
	if about, ok := textOf(memberOf(e.Data, what)); !ok || about != name {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNotFound, err)
}

// ReadResource reads a resource, after as many rounds of questions as it takes. Where there is none the error wraps [ErrNotFound] and
// the server's *[Error], whichever code the revision has for it. The result may come from the cache.
func (c *Client) ReadResource(ctx context.Context, p *ReadResourceParams, opts ...*RequestOptions) (*ReadResourceResult, error) {
	if p == nil || p.URI == "" {
		return nil, errors.New("mcp: ReadResource needs a URI")
	}
	res := new(ReadResourceResult)
	_, err := c.cached(ctx, MethodResourcesRead, p, res, pickOptions(opts))
	if err != nil {
		return nil, missingResource(p.URI, err)
	}
	return res, nil
}

// missingResource recognises the answers that mean that there is no such resource.
func missingResource(uri string, err error) error {
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		return err
	}
	about, _ := textOf(memberOf(e.Data, "uri"))
	if e.Code == CodeResourceNotFound || e.Code == CodeInvalidParams && about == uri {
		return fmt.Errorf("%w: %s: %w", ErrNotFound, uri, err)
	}
	return err
}

// Complete asks for values of a prompt's argument or of a template's variable.
func (c *Client) Complete(ctx context.Context, p *CompleteParams, opts ...*RequestOptions) (*CompleteResult, error) {
	if p == nil {
		return nil, errors.New("mcp: Complete needs parameters")
	}
	res := new(CompleteResult)
	if err := c.request(ctx, MethodComplete, p, res, pickOptions(opts)); err != nil {
		return nil, err
	}
	return res, nil
}

// Discover asks the server what it is and what it speaks (2026-07-28). In the handshake era it is an error that wraps [ErrUnavailable];
// [Client.Server] has what the handshake told. The result may come from the cache.
func (c *Client) Discover(ctx context.Context, opts ...*RequestOptions) (*DiscoverResult, error) {
	if err := c.needs(ctx, MethodDiscover); err != nil {
		return nil, err
	}
	res := new(DiscoverResult)
	if _, err := c.cached(ctx, MethodDiscover, nil, res, pickOptions(opts)); err != nil {
		return nil, err
	}
	return res, nil
}

// Ping asks the server for a sign of life. Revision 2026-07-28 has no ping; there it is server/discover that is sent.
func (c *Client) Ping(ctx context.Context, opts ...*RequestOptions) error {
	o := *pickOptions(opts)
	o.Fresh = true
	conn, err := c.connection(ctx)
	if err != nil {
		return err
	}
	method := MethodPing
	if !conn.agreed().rules.Handshake {
		method = MethodDiscover
	}
	return c.request(ctx, method, nil, nil, &o)
}

// SetLogLevel changes which log messages the server sends: those of at least that level. Since 2026-07-28 the level travels with each
// request, so this sets it for those that follow; before, it is a request of its own.
func (c *Client) SetLogLevel(ctx context.Context, level LoggingLevel) error {
	if level.Severity() == 0 {
		return fmt.Errorf("mcp: SetLogLevel: %q is no level", level)
	}
	conn, err := c.connection(ctx)
	if err != nil {
		return err
	}
	if !conn.agreed().rules.LogByRequest {
		if err := c.request(ctx, MethodSetLevel, &SetLevelParams{Level: level}, nil, &RequestOptions{}); err != nil {
			return err
		}
	}
	c.level.Store(&level)
	return nil
}

// logLevel returns the level that is asked for.
func (c *Client) logLevel() LoggingLevel {
	if l := c.level.Load(); l != nil {
		return *l
	}
	return c.opts.LogLevel
}

// needs checks that the revision in force has a request.
func (c *Client) needs(ctx context.Context, method string) error {
	conn, err := c.connection(ctx)
	if err != nil {
		return err
	}
	if terms := conn.agreed(); !terms.rules.HasRequest(era.ClientToServer, method) {
		return fmt.Errorf("%w: revision %s has no %s", ErrUnavailable, terms.rev, method)
	}
	return nil
}

// CallMethod sends a request of a method that is not the protocol's, with typed parameters and result. P must encode to a JSON object, or
// be nil; R may be [json.RawMessage].
func CallMethod[P, R any](ctx context.Context, c *Client, method string, params P, opts ...*RequestOptions) (R, error) {
	var out R
	err := c.request(ctx, method, params, &out, pickOptions(opts))
	return out, err
}

// Notify sends a notification of a method that is not the protocol's. It returns when the notification is on its way; there is no
// answer to one.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	raw, err := objectOf(params)
	if err != nil {
		return fmt.Errorf("mcp: %s: params: %w", method, err)
	}
	conn, err := c.connection(ctx)
	if err != nil {
		return err
	}
	return conn.link.Send(ctx, &jsonrpc.Message{Method: method, Params: raw})
}

// RootsChanged tells the server that Interactor.Roots would now answer otherwise (handshake era; a no-op in revision 2026-07-28, which
// asks again each time).
func (c *Client) RootsChanged(ctx context.Context) error {
	conn, err := c.connection(ctx)
	if err != nil {
		return err
	}
	if !conn.agreed().rules.HasNotification(era.ClientToServer, NotificationRootsListChanged) {
		return nil
	}
	return conn.link.Send(ctx, &jsonrpc.Message{Method: NotificationRootsListChanged})
}

// ServerRequestHandler answers a request of the server. An *[Error] is answered as it is, any other error as "internal error". ctx ends
// when the server withdraws the request or the connection ends.
type ServerRequestHandler func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

// ServerNotificationHandler takes a notification of the server. Its error is only logged.
type ServerNotificationHandler func(ctx context.Context, params json.RawMessage) error

// HandleServerRequest adds a typed handler for a method that is not the protocol's to o. Requests of servers exist in the handshake era
// only.
func HandleServerRequest[P, R any](o *ClientOptions, method string, h func(ctx context.Context, params P) (R, error)) {
	if o.Methods == nil {
		o.Methods = make(map[string]ServerRequestHandler)
	}
	o.Methods[method] = func(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
		var p P
		if err := readHandlerParams(raw, &p); err != nil {
			return nil, invalidParams("%s: %v", method, err)
		}
		res, err := h(ctx, p)
		if err != nil {
			return nil, err
		}
		return marshalJSON(res)
	}
}

// HandleServerNotification adds a typed handler for a notification that is not the protocol's to o.
func HandleServerNotification[P any](o *ClientOptions, method string, h func(ctx context.Context, params P) error) {
	if o.Notifications == nil {
		o.Notifications = make(map[string]ServerNotificationHandler)
	}
	o.Notifications[method] = func(ctx context.Context, raw json.RawMessage) error {
		var p P
		if err := readHandlerParams(raw, &p); err != nil {
			return fmt.Errorf("params: %w", err)
		}
		return h(ctx, p)
	}
}

// readHandlerParams decodes parameters; absent ones leave v as it is.
func readHandlerParams(raw json.RawMessage, v any) error {
	if len(raw) == 0 {
		return nil
	}
	if r, ok := v.(*json.RawMessage); ok {
		*r = raw
		return nil
	}
	return unmarshalJSON(raw, v)
}
