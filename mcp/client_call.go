package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// A ClientRequest is one request of a client on its way through the middleware. What a method of the protocol returns to its caller is
// decoded from the result that comes back.
type ClientRequest struct {
	Method string
	// Params is the request's parameters, a JSON object or nil, without what the client adds to _meta. It must not be modified in
	// place; a middleware that wants other parameters sets another value.
	Params json.RawMessage
	// Options of the request, never nil; they must not be modified.
	Options *RequestOptions

	trace *requestTrace // filled in on the way; nil when a middleware made the request
}

// SendFunc sends a request and returns its complete result: all rounds of questions are behind it.
type SendFunc func(ctx context.Context, r *ClientRequest) (json.RawMessage, error)

// ClientMiddleware wraps the sending of requests. It sees each request once, whatever number of messages it takes; what the cache
// answers it does not see.
type ClientMiddleware func(next SendFunc) SendFunc

// ResultResolver turns a result of a type that an extension defines into the complete result of the same request, asking the server as
// often as it takes.
type ResultResolver func(ctx context.Context, c *Client, r *ClientRequest, result json.RawMessage) (json.RawMessage, error)

// An outCall is one logical request of the client: all its rounds, over however many messages.
type outCall struct {
	id       jsonrpc.ID      // of the message under way
	ctx      context.Context //nolint:containedctx // ends with the call, and with it the questions that came on its stream
	req      *ClientRequest
	timer    *callTimer
	progress *progressPump
	seen     bool         // progress was reported in this leg
	last     float64      // how far
	round    atomic.Int32 // rounds of questions so far
	asked    atomic.Int32 // questions so far
	asker    *Interactor
	opened   []*OpenQuestion // pages that the person agreed to open for it (2026-07-28)
	fate     askFate
	held     heldContext // what the link is called with, see HoldTimeouts
}

// request encodes params, sends the request and decodes the result into result (unless that is nil).
func (c *Client) request(ctx context.Context, method string, params, result any, o *RequestOptions) error {
	raw, err := objectOf(params)
	if err != nil {
		return fmt.Errorf("mcp: %s: params: %w", method, err)
	}
	res, err := c.send(ctx, &ClientRequest{Method: method, Params: raw, Options: o})
	if err != nil {
		return err
	}
	return decodeResult(method, res, result)
}

// objectOf encodes params as a JSON object; raw parameters are taken as they are.
func objectOf(params any) (json.RawMessage, error) {
	switch p := params.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		if len(p) > 0 && !isObject(p) {
			return nil, errors.New("want a JSON object")
		}
		return p, nil
	default:
		raw, err := marshalJSON(p)
		if err != nil {
			return nil, err
		}
		if string(raw) == "null" {
			return nil, nil
		}
		if !isObject(raw) {
			return nil, errors.New("want a JSON object")
		}
		return raw, nil
	}
}

func decodeResult(method string, raw json.RawMessage, result any) error {
	switch r := result.(type) {
	case nil:
		return nil
	case *json.RawMessage:
		*r = raw
		return nil
	}
	if err := unmarshalJSON(raw, result); err != nil {
		return &ResultError{Method: method, Err: err, Result: raw}
	}
	return nil
}

// A ResultError is a result of a server that is not what the protocol says it must be.
type ResultError struct {
	Method string          // of the request
	Result json.RawMessage // what the server sent
	Err    error           // what is wrong with it
}

// Error names the method and what is wrong.
func (e *ResultError) Error() string {
	return fmt.Sprintf("mcp: the server's result of %s is invalid: %v", e.Method, e.Err)
}

// Unwrap returns what is wrong.
func (e *ResultError) Unwrap() error { return e.Err }

// roundTrip is the innermost [SendFunc].
func (c *Client) roundTrip(ctx context.Context, r *ClientRequest) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o := r.Options
	call := &outCall{ctx: ctx, req: r, asker: c.opts.Interactor}
	if o.Interactor != nil {
		call.asker = o.Interactor
	}
	call.timer = newCallTimer(r.Method, pick(o.Timeout, c.opts.RequestTimeout), pick(o.TotalTimeout, c.opts.TotalTimeout), cancel)
	defer call.timer.stop()
	call.held = heldContext{Context: ctx, timer: call.timer}
	ctx = &call.held
	if o.Progress != nil {
		call.progress = startProgress(o.Progress)
		defer call.progress.finish()
	}
	conn, err := c.connection(ctx)
	if err != nil {
		return nil, err
	}
	terms := conn.agreed()
	if err := c.checkAsker(terms, call); err != nil {
		return nil, err
	}
	raw, err := c.rounds(ctx, conn, call)
	if errors.Is(err, ErrSessionLost) && ctx.Err() == nil {
		if err := conn.renewSession(ctx, terms.serial); err != nil {
			return nil, fmt.Errorf("%w, and a new one could not be had: %w", ErrSessionLost, err)
		}
		raw, err = c.rounds(ctx, conn, call)
	}
	if err != nil {
		err = causeOf(ctx, err)
	}
	if err := c.settle(ctx, call, raw, err); err != nil {
		return nil, err
	}
	return raw, nil
}

func pick(v, def time.Duration) time.Duration {
	if v == 0 {
		return def
	}
	return v
}

// leg sends one message of a call and waits for the response to it.
func (c *Client) leg(ctx context.Context, conn *connection, call *outCall, more ...member) (json.RawMessage, error) {
	terms := conn.agreed()
	call.id = c.newID()
	call.seen, call.last = false, 0
	params, err := c.legParams(terms, call, more)
	if err != nil {
		return nil, fmt.Errorf("mcp: %s: params: %w", call.req.Method, err)
	}
	out := &Outgoing{ID: call.id, Method: call.req.Method, Params: params, Revision: terms.rev}
	if name := terms.rules.NameParam(out.Method); name != "" {
		out.Name, _ = textOf(memberOf(params, name))
	}
	if terms.mirrors && out.Method == MethodToolsCall {
		if out.Mirrored, err = c.tools.mirrored(out.Name, memberOf(params, "arguments")); err != nil {
			return nil, err
		}
	}
	conn.track(call)
	call.timer.beginLeg()
	resp, err := conn.link.RoundTrip(ctx, out)
	call.timer.endLeg()
	conn.untrack(call)
	if err != nil {
		return nil, err
	}
	if resp.Error != nil {
		return nil, resp.Error
	}
	return resp.Result, nil
}

// legParams returns the parameters of one message: those of the request, what a retry adds, and in _meta what the revision wants.
func (c *Client) legParams(terms *agreement, call *outCall, more []member) (json.RawMessage, error) {
	meta, err := c.legMeta(terms, call)
	if err != nil {
		return nil, err
	}
	if len(meta) == 0 && len(more) == 0 {
		return call.req.Params, nil
	}
	if len(meta) > 0 {
		raw, err := withMembers(memberOf(call.req.Params, "_meta"), meta...)
		if err != nil {
			return nil, fmt.Errorf("_meta: %w", err)
		}
		more = append([]member{{"_meta", raw}}, more...)
	}
	return withMembers(call.req.Params, more...)
}

// legMeta returns what one message adds to _meta: the caller's entries, and over them the protocol's.
func (c *Client) legMeta(terms *agreement, call *outCall) ([]member, error) {
	o := call.req.Options
	meta := make([]member, 0, 6+len(o.Meta))
	for k, v := range o.Meta {
		meta = append(meta, member{k, v})
	}
	if call.progress != nil || o.ResetOnProgress || c.opts.ResetOnProgress {
		meta = setMember(meta, MetaProgressToken, call.id.AppendJSON(nil))
	}
	if terms.rules.Handshake {
		return meta, nil
	}
	own := terms.own
	if call.asker != c.opts.Interactor {
		var err error
		if own, err = c.identity(terms.rev, call.asker); err != nil {
			return nil, err
		}
	}
	for _, m := range own {
		meta = setMember(meta, m.name, m.value)
	}
	level := o.LogLevel
	if level == "" {
		level = c.logLevel()
	}
	if level != "" && terms.rules.LogByRequest {
		meta = setMember(meta, MetaLogLevel, rawString(string(level)))
	}
	return meta, nil
}

func setMember(set []member, name string, value json.RawMessage) []member {
	for i := range set {
		if set[i].name == name {
			set[i].value = value
			return set
		}
	}
	return append(set, member{name, value})
}

// identity returns what every request since 2026-07-28 says in _meta about the client.
func (c *Client) identity(rev Revision, asker *Interactor) ([]member, error) {
	caps, err := marshalJSON(c.capabilities(rev.Rules(), asker))
	if err != nil {
		return nil, fmt.Errorf("capabilities: %w", err)
	}
	info, err := marshalJSON(c.opts.Info)
	if err != nil {
		return nil, fmt.Errorf("ClientOptions.Info: %w", err)
	}
	return []member{
		{MetaProtocolVersion, rawString(rev.String())},
		{MetaClientInfo, info},
		{MetaClientCapabilities, caps},
	}, nil
}

// capabilities follow from what the interactor can do and what the revision knows.
func (c *Client) capabilities(rules *era.Rules, in *Interactor) *ClientCapabilities {
	caps := &ClientCapabilities{Experimental: c.opts.Experimental}
	if rules.Capabilities.Elicitation && (in.Form != nil || in.Open != nil && rules.Elicitation.URL) {
		caps.Elicitation = &ElicitationCapability{}
		if rules.Capabilities.ElicitationModes {
			if in.Form != nil {
				caps.Elicitation.Form = &Supported{}
			}
			if in.Open != nil {
				caps.Elicitation.URL = &Supported{}
			}
		}
	}
	if in.Sample != nil {
		caps.Sampling = &SamplingCapability{}
		if rules.SamplingTools && in.SampleTools {
			caps.Sampling.Tools = &Supported{}
		}
	}
	if in.Roots != nil {
		caps.Roots = &RootsCapability{ListChanged: rules.Capabilities.RootsListChanged}
	}
	caps.Extensions = c.opts.Extensions
	return caps
}
