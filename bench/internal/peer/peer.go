// Package peer is the seam between the workloads and what is compared. A peer is one package under internal/peers; nothing else knows
// its library.
package peer

import (
	"context"
	"io"
	"net/http"
	"time"
)

// A Mode is how a server is spoken to over HTTP.
type Mode string

// The modes.
const (
	Modern    Mode = "2026"      // revision 2026-07-28: every request stands alone
	Stateful  Mode = "2025"      // revision 2025-11-25 in a session
	Stateless Mode = "2025-less" // revision 2025-11-25 without memory on the server
)

// Setup is what a workload wants of a server. Every server has tool.Repeat.
type Setup struct {
	Mode Mode
	// Extra is the number of further tools, named by tool.Extra, each like tool.Repeat.
	Extra int
	// Ask adds tool.Approve and tool.Trip.
	Ask bool
	// Filter shows callers only those tools for which tool.ShownName is true.
	Filter bool
	// Room is how many sessions and streams have to fit; 0 for the library's default.
	Room int
}

// A Server is a running server.
type Server struct {
	Handler http.Handler
	// Change changes the list of tools in some way that clients are told of.
	Change func()
}

// A Caller is a connected client that calls tool.Repeat.
type Caller interface {
	// Call calls tool.Repeat, with a message of its own choice, and checks the answer.
	Call(ctx context.Context) error
	Close() error
}

// A Peer is one of those compared.
type Peer interface {
	Name() string
	// Serve makes a server. What it needs to stop is left to the end of the process.
	Serve(s Setup) (*Server, error)
	// ServeLines serves messages, one a line, until r ends. Setup.Mode is ignored: the client decides.
	ServeLines(ctx context.Context, r io.Reader, w io.Writer, s Setup) error
	// Dial connects a client, as the library does by default, to the endpoint at url.
	Dial(ctx context.Context, url string) (Caller, error)
}

// A Guarded peer can protect a server by access tokens.
type Guarded interface {
	// Guard protects a server whose tokens are signed by an algorithm of RFC 7518: ES256 or RS256.
	Guard(algorithm string) (*Guard, error)
}

// A Guard is the protection of a server. Its functions do their work once, with no network.
type Guard struct {
	// Bare checks the signature of a token, and nothing else.
	Bare func() error
	// Fresh authenticates a request with a token that is not remembered, signed by a key that is known.
	Fresh func() error
	// Known authenticates a request with a token that was seen before.
	Known func() error
	// Rotate has the issuer sign with a new key, and authenticates a request of each of so many callers at once. It returns how often the
	// keys were fetched for that.
	Rotate func(callers int) (fetches int, err error)
}

// A Connected peer can ask people for secrets on pages of its own, and keeps them.
type Connected interface {
	// Connect makes a server with tool.Repeat, tool.Keyed and tool.Hold. Its callers are who the header Authorization names after Bearer.
	Connect() (*Connection, error)
}

// A Connection is a server with pages.
type Connection struct {
	Handler http.Handler
	// Fill fills in the page at a link as somebody, and returns when that completed it.
	Fill func(person, link string) (completed time.Time, err error)
	// Entered returns how many calls of tool.Keyed and tool.Hold have begun.
	Entered func() int64
	Close   func() error
}
