package mcpauth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/internal/dialguard"
)

// Defaults of what is fetched.
const (
	DefaultMaxDocumentBytes = 1 << 20
	DefaultFetchTimeout     = 15 * time.Second
	DefaultLoginTimeout     = 10 * time.Minute
	maxDocumentRedirects    = 3
)

// A fetcher talks to places that a server named: metadata documents and the endpoints in them. It dials only addresses that the policy
// allows, checked when they are dialled, so that no answer of DNS can change in between. It uses no proxy of the environment, follows
// redirects of documents only within their origin, and of requests with credentials none.
type fetcher struct {
	server   *url.URL
	options  string // what its options are called
	loopback bool
	allow    []netip.Prefix
	proxy    *url.URL // nil: none
	tls      *tls.Config
	limit    int64
	timeout  time.Duration
	gets     *http.Client
	posts    *http.Client
}

func newFetcher(server *url.URL, o *ClientOptions) *fetcher {
	f := &fetcher{server: server, options: "ClientOptions", loopback: o.AllowLoopback || loopbackHost(server.Hostname()), allow: o.AllowNetworks,
		proxy: o.Proxy, tls: o.TLS, limit: o.MaxDocumentBytes, timeout: o.FetchTimeout}
	rt := &http.Transport{
		DialContext:            f.dial,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  o.FetchTimeout,
		MaxResponseHeaderBytes: 64 << 10,
		IdleConnTimeout:        30 * time.Second,
		TLSClientConfig:        o.TLS,
		ForceAttemptHTTP2:      true,
	}
	f.gets = &http.Client{Transport: rt, CheckRedirect: f.redirect}
	f.posts = &http.Client{Transport: rt, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return f
}

func (f *fetcher) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxDocumentRedirects || !sameOrigin(req.URL, via[0].URL) {
		return fmt.Errorf("mcpauth: the redirect to another origin (%s) is not followed", origin(req.URL))
	}
	return nil
}

// dial connects to what a name stands for, provided that the address may be used. The network that the person's own server is in is
// that person's choice.
func (f *fetcher) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	own := strings.EqualFold(addr, net.JoinHostPort(f.server.Hostname(), portOf(f.server)))
	if f.proxy != nil {
		return f.dialThrough(ctx, addr, own)
	}
	return f.dialDirect(ctx, network, addr, own)
}

// dialDirect connects without a proxy.
func (f *fetcher) dialDirect(ctx context.Context, network, addr string, own bool) (net.Conn, error) {
	d := &net.Dialer{Timeout: 10 * time.Second, Control: f.guard(own).Control}
	return d.DialContext(ctx, network, addr)
}

// guard decides about addresses. own says that it is the MCP server's.
func (f *fetcher) guard(own bool) *dialguard.Guard {
	return &dialguard.Guard{Package: "mcpauth", Options: f.options, Loopback: f.loopback, Networks: f.allow, Private: own}
}

// permits decides about one address.
func (f *fetcher) permits(a netip.Addr, own bool) error { return f.guard(own).Permits(a) }

// checkURL says what is wrong with a URL that a document named for a purpose.
func (f *fetcher) checkURL(purpose, raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || raw == "":
		return fmt.Errorf("mcpauth: the %s %q is no URL", purpose, clip(raw))
	case u.Host == "" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("mcpauth: the %s %q must be absolute, without user and fragment", purpose, clip(raw))
	case u.Scheme == "https", u.Scheme == "http" && f.plain(u):
		return nil
	}
	return fmt.Errorf("mcpauth: the %s %q must begin with https://", purpose, clip(raw))
}

// plain reports whether a URL may do without TLS: on this computer, or at a private server that is itself spoken to without.
func (f *fetcher) plain(u *url.URL) bool {
	return loopbackHost(u.Hostname()) || f.server.Scheme == "http" && sameOrigin(u, f.server)
}

// errNoDocument says that a place has no such document.
var errNoDocument = errors.New("no such document")

// document fetches a JSON document. errNoDocument means that there is none: a status of 4xx, or something that is not JSON.
func (f *fetcher) document(ctx context.Context, u string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("MCP-Protocol-Version", metadataRevision)
	resp, err := f.gets.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
		return fmt.Errorf("mcpauth: %s answered %s", u, resp.Status)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%w (%s)", errNoDocument, resp.Status)
	}
	body, err := f.read(resp.Body)
	if err != nil {
		return fmt.Errorf("mcpauth: reading %s: %w", u, err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w (not the JSON that is expected: %w)", errNoDocument, err)
	}
	return nil
}

// read reads a body up to the limit.
func (f *fetcher) read(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, f.limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > f.limit {
		return nil, fmt.Errorf("the document is larger than %d bytes (%s.MaxDocumentBytes)", f.limit, f.options)
	}
	return body, nil
}

// A reply is an answer whose body has been read.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// post sends a body and returns the answer, whatever its status. Redirects are answers.
func (f *fetcher) post(ctx context.Context, u string, header http.Header, body string) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = header
	resp, err := f.posts.Do(req)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer resp.Body.Close()
	data, err := f.read(resp.Body)
	if err != nil {
		return nil, err
	}
	return &reply{status: resp.StatusCode, header: resp.Header, body: data}, nil
}

func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// loopbackHost reports whether a host of a URL is this computer, by its name or address.
func loopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && (a.Is4() && a.IsLoopback() || a == netip.IPv6Loopback())
}

func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	}
	return "80"
}

func origin(u *url.URL) string {
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Host)
}

// clip shortens a text of a server for an error.
func clip(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
