package mcp

import (
	"context"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/internal/peer"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// An Exchange is one message from a client together with what its transport knows about it. It is the seam between transports and
// the core: package mcphttp, the stream front end of this package, gateways and serverless hosts all fill an Exchange and hand it to
// [Server.Admit] and then [Server.Serve]. An Exchange belongs to one message; it is not reused and not copied after Admit.
type Exchange struct {
	// Message is the decoded request or notification. Its raw fields must stay valid until Serve has returned.
	Message *jsonrpc.Message
	// Principal is the verified caller, nil when anonymous.
	Principal *Principal
	// Peer is the network address of whoever speaks, with or without a port, as http.Request has it in RemoteAddr; empty where there is
	// none. It tells anonymous callers apart, for [ServerOptions.MaxListenersPerPeer].
	Peer string
	// Headers are the HTTP headers; nil on every other transport.
	Headers *Headers
	// Web says that the message came over HTTP although Headers is nil, as in HTTP+SSE: an anonymous caller has no scopes then, whereas
	// on stdio nobody is asked for any.
	Web bool
	// Session is the handshake-era session that the message arrived in, nil before initialize. Admit takes it away from messages of
	// revision 2026-07-28, which have no session even where one is open beside them.
	Session *Session
	// Stream carries notifications, and in the handshake era requests, that belong to this exchange back to the client before its
	// response. It may be nil: then such messages are dropped, and asking over it is unavailable.
	Stream Stream

	params   requestParams // read once, by Admit
	name     string        // what the request is about
	facts    clientFacts
	admitted bool
	local    bool // it came over a stream that only who runs the program can be at the other end of
	revision Revision
	refusal  error
}

// peer is the key under which what the caller has is counted; empty when callers cannot be told apart.
func (x *Exchange) peer() string {
	if p := x.Principal; p != nil {
		return peer.Named(p.Issuer, p.Subject, p.ClientID)
	}
	return peer.At(x.Peer)
}

// Refusal returns why Serve refused the request, if [ServerOptions.Authorize] did; nil otherwise. Transports that have more to say
// than the error response can carry (HTTP: a challenge) find it here.
func (x *Exchange) Refusal() error { return x.refusal }

// Headers are the HTTP headers that matter to the core, as received.
type Headers struct {
	// ProtocolVersion, Method and Name are MCP-Protocol-Version, Mcp-Method and Mcp-Name.
	ProtocolVersion, Method, Name Header
	// SessionID reports that Mcp-Session-Id was sent.
	SessionID bool
	// All are the headers of the request under their canonical names, as net/http keeps them; Mcp-Param-* are looked up here.
	All map[string][]string
}

// A Header is one HTTP header as received: its first value and how often it was sent.
type Header = era.Header

// HeaderOf makes a Header of the values of an http.Header.
func HeaderOf(values []string) Header { return era.HeaderOf(values) }

// A Stream carries messages to the client while one exchange is being served. Send may be called concurrently; the message is
// encoded before Send returns, so that its raw fields may be reused. Send fails once the exchange is over or the client is gone.
type Stream interface {
	Send(ctx context.Context, m *jsonrpc.Message) error
}

// An Admission is what [Server.Admit] decided about an exchange.
type Admission struct {
	// Err refuses the message; Status is the HTTP status that goes with it. The refusal carries the request's id if it was readable.
	Err    *jsonrpc.Error
	Status int
	// Revision in force: 2026-07-28 for a message that says so in its _meta; for the handshake era that of the session, or, before
	// one exists, the zero value.
	Revision Revision
	// Handshake is set for messages of the handshake era (2024-11-05 to 2025-11-25), which need a [Session].
	Handshake bool
	// Initialize is set for the request that opens a session.
	Initialize bool
}
