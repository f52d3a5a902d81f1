package mcphttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed38e7925c/parley/mcp"
)

// Defaults of [DialOptions].
const (
	DefaultMaxMessageBytes = 16 << 20
	DefaultMaxRetries      = 2
	DefaultMaxRetryAfter   = 30 * time.Second
	DefaultCloseTimeout    = 3 * time.Second
	dialMaxHeaderBytes     = 64 << 10
)

// DialOptions tune a transport made by [Dial]. Nil and zero values mean the defaults.
type DialOptions struct {
	// Client sends the requests. Its Transport is where credentials are added and challenges are met: a RoundTripper that authorizes
	// requests fits here, and if it has a method AuthContext() string, responses cached as private are kept apart by what that
	// returns. Its Timeout is not used, since it would cut streams short; calls are bounded by their contexts. Redirects are followed
	// only within the same origin, with the method unchanged, and where its CheckRedirect agrees.
	//
	// Default: a client of its own for each transport, with HTTP/1.1 and, over TLS, HTTP/2, and with the proxy of the environment
	// (HTTPS_PROXY, HTTP_PROXY, NO_PROXY; never for loopback) as programs of this kind are expected to have. To use no proxy, give a
	// Client whose Transport has none.
	Client *http.Client
	// Header is sent with every request, for instance a fixed Authorization. Headers that the protocol sets itself are refused.
	Header http.Header
	// UnencryptedHTTP2 speaks HTTP/2 from the first byte to a server at an http URL. It cannot be combined with Client.
	UnencryptedHTTP2 bool
	// DisableStream leaves the standalone GET stream of the handshake era closed: nothing is then received but answers and what comes
	// with them. Revision 2026-07-28 has no such stream.
	DisableStream bool

	// MaxMessageBytes bounds one message of the server, be it a JSON body or one event of a stream, after decompression. Streams as a
	// whole are not bounded. A larger message fails the request that it answers. Default 16 MiB.
	MaxMessageBytes int
	// MaxHeaderBytes bounds the headers of one answer. It cannot be combined with Client. Default 64 KiB.
	MaxHeaderBytes int64
	// MaxRetries bounds how often a request is repeated that was not served, see [Dial]. Default 2, negative for never.
	MaxRetries int
	// MaxRetryAfter is the longest Retry-After that is waited for; a request that the server wants to have later fails at once.
	// Default 30 s.
	MaxRetryAfter time.Duration
	// CloseTimeout bounds the farewell to the server when a link is closed. Default 3 s.
	CloseTimeout time.Duration
	// Logger is told of what goes wrong beside the requests: streams that end, messages that are none. Default: nobody.
	Logger *slog.Logger
}

// Dial returns a [mcp.Transport] to the MCP endpoint at an http or https URL, for [mcp.Connect]. It does not connect; a URL or options
// that cannot be used are refused by Open. At most one DialOptions may be given.
//
// The transport speaks Streamable HTTP as of every revision. In 2026-07-28 each request is an exchange of its own, and giving up on it
// (the end of its context) closes that exchange, which cancels the request. From 2025-03-26 to 2025-11-25 there is a session: it is
// ended with DELETE when the link is closed, a stream for what the server sends of its own accord is kept open in the background where
// the server has one, and answers whose connection broke are picked up again where the server allows it. A server that refuses
// initialize with status 400, 404 or 405 is tried over HTTP+SSE of 2024-11-05; with that one the session ends with its stream.
//
// Requests are repeated by the transport itself, after a pause that grows or that the server named, only when that cannot do a thing
// twice. Requests that only read or set (discover, ping, list, read, get, complete, log level, subscribe) are repeated after the
// statuses 429, 502, 503 and 504 and when the connection failed. Everything else, a tool call above all, is repeated only after 429 or
// 503 with Retry-After, by which the server says that it took no action, and when the connection could not be made in the first
// place. Listening is repeated by the client.
//
// A request fails with a *[mcp.TransportError] if the server answered with no JSON-RPC message, with the challenges of a 401 or 403 in
// it; Status is 0 if there was no answer at all. One failed exchange does not end the link; only Close does.
func Dial(rawURL string, o ...*DialOptions) mcp.Transport {
	t := &dialer{rawURL: rawURL}
	if len(o) > 0 && o[0] != nil {
		t.opts = *o[0]
	}
	t.err = t.prepare()
	if t.err == nil && len(o) > 1 {
		t.err = errors.New("mcphttp: Dial takes one DialOptions")
	}
	return t
}

// A dialer is the [mcp.Transport] of an endpoint. It remembers which era the server speaks, and is otherwise immutable.
type dialer struct {
	mcp.EraMemo
	endpoint
	rawURL string
	err    error // why it cannot be opened
}

// An endpoint is what all links of a transport share. It is immutable.
type endpoint struct {
	url    *url.URL
	opts   DialOptions
	client *http.Client
	owned  bool // the client is this transport's own
	log    *slog.Logger
}

// String returns the URL without what may be secret in it: user, password and query.
func (e *endpoint) String() string {
	if e.url == nil {
		return "an invalid URL"
	}
	return placeOf(e.url)
}

// placeOf returns a URL as it may be shown.
func placeOf(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Open implements [mcp.Transport]. It sends nothing yet.
func (t *dialer) Open(ctx context.Context, r mcp.Receiver) (mcp.Link, error) {
	if t.err != nil {
		return nil, t.err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return newLink(&t.endpoint, r), nil
}

// prepare checks the URL and the options and fills in the defaults.
func (t *dialer) prepare() error {
	u, err := url.Parse(t.rawURL)
	if err != nil {
		return fmt.Errorf("mcphttp: Dial: %w", withoutURL(err))
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return errors.New("mcphttp: Dial: the URL must begin with http:// or https:// and name a host")
	}
	u.Fragment, u.RawFragment = "", ""
	t.url = u
	if err := t.opts.check(u); err != nil {
		return err
	}
	o := &t.opts
	o.Header = o.Header.Clone()
	o.MaxMessageBytes = cmp.Or(o.MaxMessageBytes, DefaultMaxMessageBytes)
	o.MaxHeaderBytes = cmp.Or(o.MaxHeaderBytes, dialMaxHeaderBytes)
	o.MaxRetries = cmp.Or(o.MaxRetries, DefaultMaxRetries)
	o.MaxRetryAfter = cmp.Or(o.MaxRetryAfter, DefaultMaxRetryAfter)
	o.CloseTimeout = cmp.Or(o.CloseTimeout, DefaultCloseTimeout)
	t.log = o.Logger
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	t.client, t.owned = dialClient(o)
	return nil
}

// linkHeaders are the headers that the protocol sets itself.
var linkHeaders = []string{"Accept", "Content-Type", "Content-Length", "Host", "Last-Event-Id", "Mcp-Method", "Mcp-Name",
	"Mcp-Protocol-Version", "Mcp-Session-Id"}

// check finds values that can only be mistakes.
func (o *DialOptions) check(u *url.URL) error {
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"MaxMessageBytes", int64(o.MaxMessageBytes)},
		{"MaxHeaderBytes", o.MaxHeaderBytes},
		{"MaxRetryAfter", int64(o.MaxRetryAfter)},
		{"CloseTimeout", int64(o.CloseTimeout)},
	} {
		if f.value < 0 {
			return fmt.Errorf("mcphttp: DialOptions.%s: must not be negative", f.name)
		}
	}
	switch {
	case o.Client != nil && o.UnencryptedHTTP2:
		return errors.New("mcphttp: DialOptions.UnencryptedHTTP2: cannot be combined with Client; set it in the Client's Transport")
	case o.Client != nil && o.MaxHeaderBytes > 0:
		return errors.New("mcphttp: DialOptions.MaxHeaderBytes: cannot be combined with Client; set it in the Client's Transport")
	case o.UnencryptedHTTP2 && u.Scheme != "http":
		return errors.New("mcphttp: DialOptions.UnencryptedHTTP2: the URL must begin with http://")
	}
	for name := range o.Header {
		canonical := http.CanonicalHeaderKey(name)
		if slices.Contains(linkHeaders, canonical) || strings.HasPrefix(canonical, linkParamPrefix) {
			return fmt.Errorf("mcphttp: DialOptions.Header: %s is set by the protocol", canonical)
		}
	}
	return nil
}

// withoutURL takes the URL out of an error of packages net/url and net/http: it may hold secrets.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
