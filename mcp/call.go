package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// A Call is one request being served, as its handler sees it: who calls, what they can do, and the ways back to them while the
// handler runs. It is the same at every revision; the revision's own ways are behind its methods.
//
// A Call is valid until its handler returns. Its methods may be called from several goroutines; what they send after the handler has
// returned, or after the client has cancelled the request, is refused with [ErrClosed].
type Call struct {
	server    *Server // nil for a scripted call (NewCall)
	exchange  *Exchange
	method    string
	name      string // tool or prompt name, resource URI
	rev       Revision
	principal *Principal
	client    clientFacts
	asking    asking // what has been asked and answered; see ask.go

	encoded []byte          // a list result that needs no shaping
	serving context.Context //nolint:containedctx // the request's own: it tells that the client has cancelled, whatever ctx a handler sends with

	mu       sync.Mutex
	over     bool    // the handler has returned
	reported bool    // some progress was sent
	progress float64 // the last progress sent
}

// clientFacts are what a client declared about itself: in the handshake for the older revisions, in _meta of each request since
// 2026-07-28.
type clientFacts struct {
	info     *Implementation
	caps     *ClientCapabilities // nil when nothing was declared
	logLevel LoggingLevel        // empty: no log messages wanted
}

// Method returns the method of the request, such as "tools/call".
func (c *Call) Method() string { return c.method }

// Name returns what the request is about: the tool's or prompt's name, the resource's URI; empty for other methods.
func (c *Call) Name() string { return c.name }

// Revision returns the protocol revision the request is served at.
func (c *Call) Revision() Revision { return c.rev }

// Principal returns the verified caller, nil when anonymous (as always on stdio).
func (c *Call) Principal() *Principal { return c.principal }

// ClientInfo returns what the client calls itself, nil when it did not say. It is a claim, not a proof.
func (c *Call) ClientInfo() *Implementation { return c.client.info }

// ClientCapabilities returns what the client declared for this request (2026-07-28) or in its handshake; never nil. It must not be
// modified.
func (c *Call) ClientCapabilities() *ClientCapabilities {
	if c.client.caps == nil {
		return &ClientCapabilities{}
	}
	return c.client.caps
}

// ID returns the id of the request, the zero ID for a notification.
func (c *Call) ID() jsonrpc.ID {
	if c.exchange == nil {
		return jsonrpc.ID{}
	}
	return c.exchange.Message.ID
}

// Session returns the handshake-era session that the request belongs to, nil in revision 2026-07-28.
func (c *Call) Session() *Session {
	if c.exchange == nil {
		return nil
	}
	return c.exchange.Session
}

// Params returns the request's parameters as received. They must not be modified or kept.
func (c *Call) Params() json.RawMessage {
	if c.exchange == nil {
		return nil
	}
	return c.exchange.Message.Params
}

// Meta returns the _meta of the request, nil when it has none. Each call decodes it anew, so that it may be modified and kept.
func (c *Call) Meta() Meta {
	if c.exchange == nil {
		return nil
	}
	raw := c.exchange.params.member(paramMeta)
	if len(raw) == 0 {
		return nil
	}
	var m Meta
	if err := unmarshalJSON(raw, &m); err != nil { // it was read as an object before, or is none
		return nil
	}
	return m
}

// Progress tells the client how far the request has come; total may be 0 when it is not known. It does nothing if the client did not
// ask for progress. Progress only moves forward: a value that is not greater than the last one sent, as happens when goroutines
// report at the same time, is not sent. The message is left out for 2024-11-05.
//
// Specification: basic/utilities/progress.
func (c *Call) Progress(ctx context.Context, done, total float64, message string) error {
	if !c.wantsProgress() {
		return nil
	}
	if !finite(done) || !finite(total) {
		return errNotFinite
	}
	if !c.rev.Rules().Fields.ProgressMessage {
		message = ""
	}
	c.mu.Lock()
	defer c.mu.Unlock() // held while sending, so that what is sent later is not overtaken
	if err := c.gone(); err != nil {
		return err
	}
	if c.reported && done <= c.progress {
		return nil
	}
	c.reported, c.progress = true, done
	params := append([]byte(`{"progressToken":`), c.exchange.params.cut(c.exchange.params.token)...)
	params = append(params, `,"progress":`...)
	params = appendNumber(params, done)
	if total != 0 {
		params = append(params, `,"total":`...)
		params = appendNumber(params, total)
	}
	if message != "" {
		params = append(params, `,"message":`...)
		params = appendText(params, message)
	}
	params = append(params, '}')
	return c.exchange.Stream.Send(ctx, &jsonrpc.Message{Method: NotificationProgress, Params: params})
}

// wantsProgress reports whether the client asked for progress, and can be sent some.
func (c *Call) wantsProgress() bool {
	return c.exchange != nil && c.exchange.params.token.to != 0 && c.exchange.Stream != nil
}

// Notify sends a notification of one's own to the client, on the stream of the request. Without a stream it is dropped. params is
// encoded as JSON and must become an object; nil leaves it out.
func (c *Call) Notify(ctx context.Context, method string, params any) error {
	raw, err := encodeParams(params)
	if err != nil {
		return err
	}
	return c.send(ctx, &jsonrpc.Message{Method: method, Params: raw})
}

// send puts a notification on the stream of the request, unless the handler has returned.
func (c *Call) send(ctx context.Context, m *jsonrpc.Message) error {
	c.mu.Lock()
	err := c.gone()
	c.mu.Unlock()
	switch {
	case err != nil:
		return err
	case c.exchange == nil || c.exchange.Stream == nil:
		return nil
	}
	return c.exchange.Stream.Send(ctx, m)
}

// errCallCancelled refuses what a handler sends about a request that its client has cancelled: there must be no further messages for it.
var errCallCancelled = fmt.Errorf("%w: %w", ErrClosed, errCancelled)

// gone returns why nothing can be sent any more. c.mu is held.
func (c *Call) gone() error {
	switch {
	case c.over:
		return ErrClosed
	case c.serving != nil && errors.Is(whyEnded(c.serving), errCancelled):
		return errCallCancelled
	}
	return nil
}

// finish marks the handler as returned.
func (c *Call) finish() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
}
