package mcp

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// A Transport opens links to one server. [Command], [Pipe] and [ConnTransport] are transports, and so is what package mcphttp dials.
// A Transport may be opened more than once, one link after another: the client does so to speak the older handshake to a server that
// died on the probe, and to come back after a lost connection.
//
// A Transport that implements [fmt.Stringer] says where its server really is (the URL's host, the command line); questions to the
// person carry it. One that embeds [EraMemo] remembers for all its clients which kind of server it leads to.
type Transport interface {
	// Open makes a link and starts to read from it. What the server sends of its own accord goes to r, possibly before Open returns.
	// ctx bounds the opening only.
	Open(ctx context.Context, r Receiver) (Link, error)
}

// A Link is one open way to a server. All methods may be called concurrently.
type Link interface {
	// RoundTrip sends a request and returns the response to it, a result or an error response; the message belongs to the caller. The
	// error is not nil only when no response was had: ctx ended, the link is lost (an error that wraps [ErrClosed] and says why), the
	// session is gone ([ErrSessionLost]; the client then sends initialize again on the same link), or the server refused at transport
	// level (*[TransportError]). After an error that is not ErrClosed the link stays usable.
	//
	// When ctx ends, the link tells the server that nobody waits any more, in the way of the transport and the revision, without
	// delaying the return: by notifications/cancelled, or by closing the HTTP exchange. It says nothing about initialize and
	// server/discover.
	RoundTrip(ctx context.Context, req *Outgoing) (*jsonrpc.Message, error)
	// Send sends a notification, or the response to a server's request.
	Send(ctx context.Context, m *jsonrpc.Message) error
	// Established tells the link which revision was negotiated, after server/discover or initialize, and again after initialize was
	// repeated. HTTP sets its headers accordingly from here on and, in the handshake era, opens the standalone stream in the background.
	Established(rev Revision)
	// Close ends the link: the session is deleted where there is one, a child process is stopped. It waits, bounded, until
	// everything that the link started has ended, and unblocks every RoundTrip. Idempotent.
	Close() error
}

// A HeaderLink is a [Link] that repeats parts of requests in HTTP headers. Over such a link a tool whose schema has an invalid
// x-mcp-header is not offered, and [Outgoing.Mirrored] is filled in; links that are not HeaderLinks have no use for either.
type HeaderLink interface {
	Link
	// MirrorsHeaders reports whether requests of that revision are repeated in headers.
	MirrorsHeaders(rev Revision) bool
}

// An AuthLink is a [Link] whose requests carry credentials. Responses that a server marked private are cached under their identity.
type AuthLink interface {
	Link
	// AuthContext names the credentials in force. It changes when they change identity, and is never a secret itself. Where it is
	// empty nothing is known of them, and what is private stays with its client.
	AuthContext() string
}

// A Receiver takes what a server sends of its own accord. Its methods do not block; they must be called in order of arrival.
type Receiver interface {
	// Receive is handed each notification and each request of the server; m and its raw fields are valid until it returns. via is the
	// id of the outgoing request whose stream carried it, zero where it came on the standalone stream or the transport cannot tell.
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

// An EraMemo, embedded in a [Transport], remembers across clients which revision its server was last found to speak, so that the next
// connection begins in the right way without a probe. The memory is dropped when it turns out wrong. The zero value remembers
// nothing; it is safe for concurrent use.
type EraMemo struct{ rev atomic.Uint32 }

func (m *EraMemo) memo() *EraMemo { return m }

func (m *EraMemo) load() Revision { return Revision(m.rev.Load()) }

func (m *EraMemo) store(rev Revision) { m.rev.Store(uint32(rev)) }

// memoOf returns the memory of a transport, a new one for transports that have none.
func memoOf(t Transport) *EraMemo {
	if m, ok := t.(interface{ memo() *EraMemo }); ok {
		return m.memo()
	}
	return new(EraMemo)
}
