package mcp

import (
	"encoding/json"
)

// A Call is one request being served, as its handler sees it: who calls, what they can do, and the ways back to them while the
// handler runs. It is the same at every revision; the revision's own ways are behind its methods.
//
// A Call is valid until its handler returns. Its methods may be called from several goroutines.
type Call struct {
	server    *Server // nil for a scripted call (NewCall)
	exchange  *Exchange
	method    string
	name      string // tool or prompt name, resource URI
	rev       Revision
	principal *Principal
	client    clientFacts
	asking    asking // what has been asked and answered; see ask.go
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

// Params returns the request's parameters as received. They must not be modified or kept.
func (c *Call) Params() json.RawMessage {
	if c.exchange == nil {
		return nil
	}
	return c.exchange.Message.Params
}
