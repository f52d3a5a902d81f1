package mcphttp

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/seed38e7925c/parley/internal/peer"
	"github.com/seed38e7925c/parley/mcp"
)

// Defaults of [Options] and [SessionOptions].
const (
	DefaultMaxBodyBytes     = 4 << 20
	DefaultMaxHeaderBytes   = 64 << 10
	DefaultBodyTimeout      = 30 * time.Second
	DefaultWriteTimeout     = 30 * time.Second
	DefaultKeepAlive        = 15 * time.Second
	DefaultPath             = "/mcp"
	DefaultIdleTimeout      = 30 * time.Minute
	DefaultMaxSessions      = 10_000
	DefaultMaxInFlight      = 64
	DefaultReplayBytes      = 1 << 20
	DefaultReplayTotalBytes = 64 << 20
	DefaultReplayFor        = 5 * time.Minute
	DefaultRetryAfter       = time.Second
	DefaultShutdownTimeout  = 10 * time.Second
	unusedSessionExpiry     = time.Minute // sessions whose client never came back after initialize
	defaultReadHeaderExpiry = 10 * time.Second
	defaultConnIdleExpiry   = 2 * time.Minute
)

// Options narrow and tune a [Handler]. The zero value, like nil, means the defaults: both eras, loopback names only, no
// authorization. Options are read once, when the handler is made.
type Options struct {
	// AllowedHosts are the names, besides loopback ones, by which this server may be reached: host or host:port, compared with the
	// Host header without regard to case; an entry without a port allows every port. "*" allows any name and turns the protection
	// against DNS rebinding off: only for servers that require authorization.
	AllowedHosts []string
	// AllowedOrigins are the origins whose pages may use this server, as scheme://host[:port]. They also get CORS headers. Requests
	// without an Origin header, from pages on loopback addresses (which get no CORS headers unless listed) and from the same origin
	// as an allowed host need no entry. "*" allows any page, with no credentials but those that the page sends itself.
	AllowedOrigins []string

	// Authenticate verifies the caller of each request before its body is read. It returns the principal, or nil for an anonymous
	// caller that it lets pass, or an [*AuthError]; any other error is logged and answered with status 500. It may be called
	// concurrently. When it is nil, the principal is what [WithPrincipal] put into the request's context, or nobody.
	Authenticate func(r *http.Request) (*mcp.Principal, error)

	// MaxBodyBytes bounds a request body; larger ones are answered with status 413. Default 4 MiB.
	MaxBodyBytes int64
	// MaxHeaderBytes bounds a request's headers; larger ones are answered with status 431. Default 64 KiB.
	MaxHeaderBytes int
	// BodyTimeout bounds the time that a request body takes to arrive. Default 30 s, negative for no bound.
	BodyTimeout time.Duration
	// WriteTimeout bounds each single write to a client that does not read. Streams last as long as they need, whatever the
	// WriteTimeout of the http.Server. Default 30 s, negative for no bound.
	WriteTimeout time.Duration
	// KeepAlive is how long an unfinished answer or an open stream stays silent before a comment is sent, which also turns a
	// pending answer into a stream. Default 15 s, negative for never.
	KeepAlive time.Duration

	// Sessions tune the handshake era, 2025-03-26 to 2025-11-25. Nil means the defaults. Which revisions are served at all is the
	// server's own option; where 2026-07-28 is the only one, GET and DELETE are answered with status 405.
	Sessions *SessionOptions
	// SSEEndpoint is where clients of [NewSSEHandler] post their messages, as a URL or a path, when a proxy makes the default, the
	// URL of their GET, unusable. The session's name is added to its query.
	SSEEndpoint string

	// Logger gets what must not cross the wire. Default slog.Default().
	Logger *slog.Logger

	// Path is where [ListenAndServe] and [Serve] mount the endpoint, with and without a trailing slash. Default "/mcp".
	Path string
	// Fallback serves every other path of [ListenAndServe] and [Serve]: pages that people are sent to, health checks. The Host and
	// Origin of its requests are its own business. Without it they are answered with status 404 and the endpoint's path.
	Fallback http.Handler
	// TLSConfig makes [ListenAndServe] and [Serve] speak TLS, with HTTP/2. Without it they speak plain HTTP/1.1, and HTTP/2 to
	// clients that begin with it.
	TLSConfig *tls.Config
	// ShutdownTimeout bounds how long [ListenAndServe] and [Serve] wait for running calls when they are told to end. Default 10 s.
	ShutdownTimeout time.Duration
}

// SessionOptions tune the sessions of the handshake era.
type SessionOptions struct {
	// Stateless makes the session id itself carry what a session would remember, sealed, so that any replica of the server can
	// serve the next request. There is no stream for unsolicited messages (GET and DELETE are answered with status 405), nothing
	// can be resumed, the client cannot be asked anything in the middle of a call, and subscriptions and logging/setLevel have no
	// effect on later requests.
	Stateless bool
	// Keys seal the ids of stateless sessions. Replicas share them; the default is a ring of this process alone, which is logged.
	Keys *mcp.KeyRing
	// IdleTimeout ends sessions that were not used for so long; an open stream or a running call is use, but not a call that waits for
	// an answer of a client that has gone away. Default 30 min. Sessions whose client never came back after initialize end after one
	// minute.
	IdleTimeout time.Duration
	// MaxSessions bounds the sessions held; beyond it initialize is answered with status 503. Default 10,000.
	MaxSessions int
	// MaxSessionsPerPeer bounds the sessions of one caller among them: of one principal, or, for anonymous callers, of one network
	// address (one /64 network of IPv6; loopback addresses are not bounded, because a proxy there is everybody). Beyond it initialize is
	// answered with status 429. Behind a proxy on another machine that does not authenticate set it to MaxSessions. Default a quarter of
	// MaxSessions, and at least 64.
	MaxSessionsPerPeer int
	// MaxInFlight bounds the requests of one session being worked on; beyond it requests are answered with status 429. Default 64.
	MaxInFlight int
	// ReplayBytes bounds what one session keeps of its streams' messages for clients that reconnect with Last-Event-ID; the oldest
	// go first, and the newest message of a stream is always kept. Default 1 MiB, negative for nothing: then streams carry no
	// event ids and cannot be resumed.
	ReplayBytes int
	// ReplayTotalBytes bounds what all sessions together keep; while it is reached, nothing more is kept. Default 64 MiB.
	ReplayTotalBytes int64
	// ReplayFor is how long the messages of a finished stream are kept, of the 256 latest ones of a session. Default 5 min.
	ReplayFor time.Duration
	// RetryAfter is how long a 2025-11-25 client is told to wait before it reconnects to a stream that was closed early.
	// Default 1 s.
	RetryAfter time.Duration
}

// optionError names the option and the value that is wrong.
func optionError(field, value, advice string) error {
	return fmt.Errorf("mcphttp: Options.%s: %q: %s", field, value, advice)
}

// resolved returns the options with their defaults filled in; the receiver may be nil and is not changed.
func (o *Options) resolved() (Options, error) {
	var r Options
	if o != nil {
		r = *o
	}
	var s SessionOptions
	if r.Sessions != nil {
		s = *r.Sessions
	}
	r.Sessions = &s
	fill(&r.MaxBodyBytes, DefaultMaxBodyBytes)
	fill(&r.MaxHeaderBytes, DefaultMaxHeaderBytes)
	fill(&r.BodyTimeout, DefaultBodyTimeout)
	fill(&r.WriteTimeout, DefaultWriteTimeout)
	fill(&r.KeepAlive, DefaultKeepAlive)
	fill(&r.Path, DefaultPath)
	fill(&r.ShutdownTimeout, DefaultShutdownTimeout)
	fill(&s.IdleTimeout, DefaultIdleTimeout)
	fill(&s.MaxSessions, DefaultMaxSessions)
	fill(&s.MaxSessionsPerPeer, peer.Share(s.MaxSessions))
	fill(&s.MaxInFlight, DefaultMaxInFlight)
	fill(&s.ReplayBytes, DefaultReplayBytes)
	fill(&s.ReplayTotalBytes, DefaultReplayTotalBytes)
	fill(&s.ReplayFor, DefaultReplayFor)
	fill(&s.RetryAfter, DefaultRetryAfter)
	if r.Logger == nil {
		r.Logger = slog.Default()
	}
	return r, r.check()
}

// fill sets an option that was left at its zero value.
func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// check finds values that can only be mistakes.
func (o *Options) check() error {
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"MaxBodyBytes", o.MaxBodyBytes},
		{"MaxHeaderBytes", int64(o.MaxHeaderBytes)},
		{"ShutdownTimeout", int64(o.ShutdownTimeout)},
		{"Sessions.IdleTimeout", int64(o.Sessions.IdleTimeout)},
		{"Sessions.MaxSessions", int64(o.Sessions.MaxSessions)},
		{"Sessions.MaxSessionsPerPeer", int64(o.Sessions.MaxSessionsPerPeer)},
		{"Sessions.MaxInFlight", int64(o.Sessions.MaxInFlight)},
		{"Sessions.ReplayTotalBytes", o.Sessions.ReplayTotalBytes},
		{"Sessions.ReplayFor", int64(o.Sessions.ReplayFor)},
		{"Sessions.RetryAfter", int64(o.Sessions.RetryAfter)},
	} {
		if f.value < 0 {
			return optionError(f.name, strconv.FormatInt(f.value, 10), "must not be negative")
		}
	}
	if o.Path[0] != '/' {
		return optionError("Path", o.Path, `must begin with "/"`)
	}
	return nil
}
