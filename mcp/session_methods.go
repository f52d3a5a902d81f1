//go:build !mcp_modern_only

package mcp

import (
	"context"

	"github.com/seed38e7925c/parley/internal/era"
)

// addLegacyMethods adds the requests of the handshake era.
func addLegacyMethods(m map[string]method) {
	m[MethodInitialize] = (*Server).initialize
	m[MethodPing] = (*Server).ping
	m[MethodSetLevel] = (*Server).setLevel
	m[MethodResourcesSubscribe] = (*Server).subscribe
	m[MethodResourcesUnsubscribe] = (*Server).unsubscribe
}

// initialize serves the request that opens a session.
func (s *Server) initialize(_ context.Context, c *Call) (any, error) {
	ss := c.exchange.Session
	p := &c.exchange.params
	version, state := p.text(paramProtocolVersion)
	if state != era.Valid {
		return nil, invalidParams("params.protocolVersion must be a string; this server speaks %v", s.served.Legacy().Strings())
	}
	if objectState(p.member(paramCapabilities)) == era.Bad {
		return nil, invalidParams("params.capabilities must be an object")
	}
	if objectState(p.member(paramClientInfo)) == era.Bad {
		return nil, invalidParams("params.clientInfo must be an object")
	}
	if len(p.member(paramCapabilities)) > maxHandshakeFact {
		return nil, invalidParams("params.capabilities has more than %d bytes", maxHandshakeFact)
	}
	caps, err := s.facts.capabilities(p.member(paramCapabilities))
	if err != nil {
		return nil, invalidParams("params.capabilities: %v", err)
	}
	info, err := s.facts.implementation(p.member(paramClientInfo))
	if err != nil {
		return nil, invalidParams("params.clientInfo: %v", err)
	}
	if info != nil && len(p.member(paramClientInfo)) > maxHandshakeFact { // a picture, most likely
		info = &Implementation{Name: clip(info.Name, maxQuotedName), Version: clip(info.Version, maxQuotedName)}
	}
	rev, ok := era.Parse(version)
	if !ok || !s.served.Legacy().Has(rev) {
		rev = s.served.Legacy().Newest() // a counter-offer; the client goes away if it does not like it
	}
	offer, err := s.capabilities(rev)
	if err != nil {
		return nil, err
	}
	if !ss.open(rev, info, caps) {
		return nil, &Error{Code: CodeInvalidRequest, Message: "initialize was called before on this session"}
	}
	c.rev = rev
	ss.draft.Store(s.asks.draftOf(p.member(paramCapabilities)))
	return &InitializeResult{
		ProtocolVersion: rev.String(),
		Capabilities:    *offer,
		ServerInfo:      fitImplementation(rev.Rules(), s.info),
		Instructions:    s.options.Instructions,
	}, nil
}

// maxHandshakeFact bounds each of the two things that a session keeps of what its client says about itself, in bytes.
const maxHandshakeFact = 32 << 10

// open notes what the handshake agreed on; it reports false if there was one before.
func (ss *Session) open(rev Revision, info *Implementation, caps *ClientCapabilities) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.rev != 0 || ss.closed {
		return false
	}
	ss.rev, ss.info, ss.caps = rev, info, caps
	return true
}

// ping serves ping.
func (s *Server) ping(context.Context, *Call) (any, error) { return &EmptyResult{}, nil }

// setLevel serves logging/setLevel.
func (s *Server) setLevel(_ context.Context, c *Call) (any, error) {
	text, state := c.exchange.params.text(paramLevel)
	level := LoggingLevel(text)
	if state != era.Valid || !level.Valid() {
		return nil, invalidParams("params.level must be debug, info, notice, warning, error, critical, alert or emergency")
	}
	ss := c.exchange.Session
	ss.mu.Lock()
	ss.level = level
	ss.mu.Unlock()
	return &EmptyResult{}, nil
}

// subscribe serves resources/subscribe. Subscriptions of a session are a set: subscribing twice is subscribing once.
func (s *Server) subscribe(_ context.Context, c *Call) (any, error) {
	uri, state := c.exchange.params.text(paramURI)
	if state != era.Valid {
		return nil, invalidParams("params.uri must be a string: the URI of the resource")
	}
	ss := c.exchange.Session
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if _, there := ss.resources[uri]; there {
		return &EmptyResult{}, nil
	}
	if len(ss.resources) >= s.options.MaxSubscriptions || ss.resourceBytes+len(uri) > maxSubscribedBytes {
		return nil, invalidParams("this session has %d subscriptions, which is as many as this server allows", len(ss.resources))
	}
	ss.resourceBytes += len(uri)
	if ss.resources == nil {
		ss.resources = make(map[string]struct{})
	}
	ss.resources[uri] = struct{}{}
	return &EmptyResult{}, nil
}

// unsubscribe serves resources/unsubscribe. Unsubscribing from what was not subscribed to succeeds.
func (s *Server) unsubscribe(_ context.Context, c *Call) (any, error) {
	uri, state := c.exchange.params.text(paramURI)
	if state != era.Valid {
		return nil, invalidParams("params.uri must be a string: the URI of the resource")
	}
	ss := c.exchange.Session
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if _, there := ss.resources[uri]; there {
		ss.resourceBytes -= len(uri)
		delete(ss.resources, uri)
	}
	return &EmptyResult{}, nil
}
