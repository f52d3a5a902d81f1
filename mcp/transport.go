package mcp

import (
	"context"
	"encoding/json"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// A Transport opens links to one server. [Command], [Pipe] and [Conn] are transports, and so is what package mcphttp dials. A
// Transport may be opened more than once, one link after another: the client does so to speak the older handshake to a server that
// died on the probe, and to come back after a lost connection.
type Transport interface {
	// Open makes a link and starts to read from it. What the server sends of its own accord goes to r. ctx bounds the opening only.
	Open(ctx context.Context, r Receiver) (Link, error)
}

// A Link is one open way to a server. All methods may be called concurrently.
type Link interface {
	// RoundTrip sends a request and returns the response to it, a result or an error response. The error is not nil only when no
	// response was had: ctx ended (HTTP: the exchange is closed, which in revision 2026-07-28 cancels it), the link is lost
	// ([ErrClosed]), the session is gone ([ErrSessionLost]), or the server refused at transport level (*[TransportError]).
	// After an error that is not ErrClosed the link stays usable.
	RoundTrip(ctx context.Context, req *Outgoing) (*jsonrpc.Message, error)
	// Send sends a notification, or the response to a server's request.
	Send(ctx context.Context, m *jsonrpc.Message) error
	// Established tells the link which revision was negotiated, after server/discover or initialize. HTTP sets its headers
	// accordingly from here on and, in the handshake era, opens the standalone stream in the background.
	Established(rev Revision)
	// Close ends the link: the session is deleted where there is one, a child process is stopped. It waits, bounded, until
	// everything that the link started has ended, and unblocks every RoundTrip. Idempotent.
	Close() error
}

// A Receiver takes what a server sends of its own accord. Its methods must not block; they are called in order of arrival.
type Receiver interface {
	// Receive is handed each notification and each request of the server. via is the id of the outgoing request whose stream carried
	// it, zero where it came on the standalone stream or the transport cannot tell.
	Receive(ctx context.Context, m *jsonrpc.Message, via jsonrpc.ID)
	// Lost tells that the link ended without Close; err says why, with what a person needs to find the cause (exit code, last lines
	// of stderr). It is called at most once.
	Lost(err error)
}

// An Outgoing is one request of a client on its way.
type Outgoing struct {
	ID     jsonrpc.ID
	Method string
	Params json.RawMessage
	// Name is mirrored as Mcp-Name where the method has one: the tool, the prompt, the resource's URI, the task's id.
	Name string
	// Mirrored are the arguments that the tool's schema maps to Mcp-Param-* headers (x-mcp-header), not yet encoded.
	Mirrored []MirroredParam
	// Revision is the one that the request is written in.
	Revision Revision
}

// A MirroredParam is one tool argument repeated in a header.
type MirroredParam struct{ Name, Value string }
