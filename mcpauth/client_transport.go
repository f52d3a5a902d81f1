package mcpauth

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxAttempts bounds how often one request leads to a new token.
const maxAttempts = 3

// maxSteps bounds how many sets of scopes one server can have a person asked for.
const maxSteps = 16

// ClientOptions tune a [Transport]. Nil and zero values mean the defaults.
type ClientOptions struct {
	// Store keeps tokens and registrations. Default: memory of this Transport alone.
	Store Store
	// Login asks the person. Default: Loopback(nil), a browser and a callback on 127.0.0.1.
	Login LoginFunc
	// Grant gets tokens without a person, and takes the place of Login.
	Grant Grant
	// Registrations are those made beforehand, at most one an issuer. They come before all other ways to become known.
	Registrations []*Registration
	// Registered looks a registration up that Registrations does not have, for instance in a vault; nil means that there is none. The
	// issuer is one that the MCP server named: return a secret only for issuers that it is meant for.
	Registered func(ctx context.Context, issuer string) (*Registration, error)
	// ClientMetadataURL is the https URL of the host's Client ID Metadata Document, which serves as its client id where that is
	// supported. Default: none, clients register dynamically.
	ClientMetadataURL string
	// ClientName is shown to the person by authorization servers. Default "Parley".
	ClientName string
	// Scopes are asked for when the challenge names none. Default: all that the resource metadata names, or none.
	Scopes []string
	// NoOfflineAccess leaves out the scope offline_access, which is otherwise asked for where the authorization server has it.
	NoOfflineAccess bool
	// DPoP binds tokens to a key of this client (RFC 9449), where the authorization server does so.
	DPoP bool

	// AllowIssuerSlash takes metadata whose issuer differs from the expected one by the slash after the host alone ("https://as.example"
	// and "https://as.example/"), against the specification, for servers that are known to be published so. What the metadata
	// says is then the issuer, and the iss of callbacks must equal that.
	AllowIssuerSlash bool

	// AllowLoopback lets servers name places on this computer. It is always so if the MCP server is itself on this computer.
	AllowLoopback bool
	// AllowNetworks are private networks that servers may name places in. Default: none.
	AllowNetworks []netip.Prefix
	// Proxy is the http or https URL of a proxy that requests to places that servers name must go through; a user in it is sent
	// to it. Names are resolved here, the address is checked here, and the proxy is told to connect to that address and not to the name,
	// so that it cannot be led elsewhere; TLS is with the name, end to end. Permitted addresses of this computer are dialled
	// without it. Default: none; HTTP_PROXY and the like are not looked at. What base does with requests to the MCP server is base's.
	Proxy *url.URL
	// TLS configures connections to authorization servers. Default: as of crypto/tls.
	TLS *tls.Config
	// MaxDocumentBytes bounds what is read of one document or token answer. Default 1 MiB.
	MaxDocumentBytes int64
	// FetchTimeout bounds one exchange with an authorization server. Default 15 s.
	FetchTimeout time.Duration
	// LoginTimeout bounds a login from its first step to its last, whoever waits for it. Default 10 minutes.
	LoginTimeout time.Duration
	// Logger is told of the steps of discovery, without secrets. Default: nobody.
	Logger *slog.Logger
}

// A Transport is an [http.RoundTripper] that authorizes requests to one MCP server. It sends the token in force with every request to the
// server's origin, and no token anywhere else. A 401, and a 403 for lack of scope, lead to a new token and the request is sent again, if
// its body can be; what the server then answers is the answer. At most three tokens are asked for because of one request.
//
// It is safe for concurrent use: of many requests that need a token one begins to get it, and all wait for it, each within its own context.
// The login belongs to the Transport: it goes on when the request that began it is given up, and the next request joins it; it ends
// with LoginTimeout or [Transport.Close]. While a person is asked the timeouts of an mcp.Client stand still. Requests with a good
// token take no lock. Credentials are kept by issuer and resource and used with nothing else.
type Transport struct {
	base   http.RoundTripper
	server *url.URL
	opts   ClientOptions
	log    *slog.Logger
	fetch  *fetcher

	cred       atomic.Pointer[credential]
	dpop       atomic.Pointer[dpopKey]
	nonces     sync.Map // origin → nonce
	nonceCount atomic.Int32
	loaded     atomic.Bool

	renewing atomic.Pointer[credential] // which somebody renews while it is still good
	flights  sync.WaitGroup

	mu      sync.Mutex
	flight  *flight
	closed  bool
	refused map[bool]error // what the person declined: a login (false), more scope (true)
	steps   map[string]int // by scopes: how often they were asked for
}

// NewTransport returns a Transport for the MCP server at a URL. A nil base means a clone of [http.DefaultTransport].
func NewTransport(serverURL string, base http.RoundTripper, o *ClientOptions) (*Transport, error) {
	u, err := url.Parse(serverURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil {
		return nil, errors.New("mcpauth: NewTransport: the server's URL must begin with http:// or https://, name a host and no user")
	}
	t := &Transport{base: base, server: u, refused: map[bool]error{}, steps: map[string]int{}}
	if o != nil {
		t.opts = *o
	}
	if err := t.opts.check(); err != nil {
		return nil, err
	}
	if t.base == nil {
		t.base = http.DefaultTransport.(*http.Transport).Clone()
	}
	t.log = t.opts.Logger
	t.fetch = newFetcher(u, &t.opts)
	return t, nil
}

// check finds mistakes and fills in the defaults.
func (o *ClientOptions) check() error {
	if o.MaxDocumentBytes < 0 || o.FetchTimeout < 0 || o.LoginTimeout < 0 {
		return errors.New("mcpauth: ClientOptions: MaxDocumentBytes, FetchTimeout and LoginTimeout must not be negative")
	}
	if err := checkProxy(o.Proxy); err != nil {
		return err
	}
	if u := o.ClientMetadataURL; u != "" && !documentURL(u) {
		return errors.New("mcpauth: ClientOptions.ClientMetadataURL: must be an https URL with a path, without fragment and user")
	}
	issuers := map[string]bool{}
	for _, r := range o.Registrations {
		if r == nil || r.Issuer == "" || r.ClientID == "" || issuers[r.Issuer] {
			return errors.New("mcpauth: ClientOptions.Registrations: each needs an Issuer of its own and a ClientID")
		}
		issuers[r.Issuer] = true
	}
	o.Registrations = slices.Clone(o.Registrations)
	o.MaxDocumentBytes = cmp.Or(o.MaxDocumentBytes, DefaultMaxDocumentBytes)
	o.FetchTimeout = cmp.Or(o.FetchTimeout, DefaultFetchTimeout)
	o.LoginTimeout = cmp.Or(o.LoginTimeout, DefaultLoginTimeout)
	o.ClientName = cmp.Or(o.ClientName, "Parley")
	if o.Store == nil {
		o.Store = NewMemoryStore()
	}
	if o.Login == nil {
		o.Login = Loopback(nil)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

func documentURL(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Scheme == "https" && u.Host != "" && strings.Trim(u.Path, "/") != "" && u.Fragment == "" && u.User == nil
}

func (t *Transport) now() time.Time { return time.Now() }

// AuthContext names the login in force, for [github.com/seed38e7925c/parley/mcp.AuthLink]. It stays the same when a token is renewed,
// and is empty before the first login.
func (t *Transport) AuthContext() string {
	if c := t.cred.Load(); c != nil {
		return c.ID
	}
	return ""
}

// Forget drops the credential for the server, here and in the store, and lets a person who declined be asked again. Registrations stay. It
// waits for a renewal or a login that is under way, so that this does not bring back what is dropped.
func (t *Transport) Forget(ctx context.Context) error {
	_, err := t.alone(ctx, &credential{}, t.forget)
	return err
}

func (t *Transport) forget(ctx context.Context) error {
	c, err := t.current(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	clear(t.refused)
	clear(t.steps)
	t.mu.Unlock()
	t.cred.Store(nil)
	if c == nil {
		return nil
	}
	drop := func([]byte) ([]byte, error) { return nil, nil }
	return errors.Join(t.opts.Store.Update(ctx, tokenKey(c.Issuer, c.Resource), drop), t.opts.Store.Update(ctx, serverKey(t.resourceURL()), drop))
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !sameOrigin(req.URL, t.server) {
		return t.base.RoundTrip(req)
	}
	x := &trip{req: req, body: req.Body}
	for {
		resp, err := t.send(x)
		if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			return resp, err
		}
		if x.body, err = again(req); err != nil {
			return resp, nil // it cannot be sent again: the refusal is the answer
		}
		if wantsNonce(resp, x.cred) && !x.nonced {
			x.nonced = true
			discard(resp)
			continue
		}
		ch := ParseChallenge(resp.Header)
		x.attempts++
		if x.attempts > maxAttempts || x.inVain(resp) || !t.helps(resp.StatusCode, ch, x.cred) {
			closeBody(x.body)
			return resp, nil
		}
		discard(resp)
		step := resp.StatusCode == http.StatusForbidden
		x.got, err = t.obtain(req.Context(), &need{challenge: ch, refused: x.cred, step: step && x.cred != nil, anew: step || x.attempts > 1})
		if err != nil {
			closeBody(x.body)
			return nil, err
		}
	}
}

// A trip is one request on its way, as often as it is sent.
type trip struct {
	req      *http.Request
	body     io.ReadCloser // for the next attempt
	cred     *credential   // of the last attempt
	got      *credential   // because of this request
	attempts int
	nonced   bool
}

// inVain reports whether a token that a login has just given is refused.
func (x *trip) inVain(resp *http.Response) bool {
	return resp.StatusCode == http.StatusUnauthorized && x.cred != nil && x.cred == x.got && x.cred.fresh
}

// send sends a request with the token in force, or with the one that was got for it.
func (t *Transport) send(x *trip) (*http.Response, error) {
	var err error
	if x.cred = x.got; x.cred == nil {
		x.cred, err = t.credential(x.req.Context())
	}
	if err != nil {
		closeBody(x.body)
		return nil, err
	}
	out, err := t.authorized(x.req, x.body, x.cred)
	if err != nil {
		closeBody(x.body)
		return nil, err
	}
	resp, err := t.base.RoundTrip(out)
	if err == nil && t.opts.DPoP {
		t.noteNonce(t.server.String(), resp.Header)
	}
	return resp, err
}

// wantsNonce reports whether the same request with the nonce that came along will do.
func wantsNonce(resp *http.Response, cred *credential) bool {
	ch := ParseChallenge(resp.Header)
	return cred != nil && cred.DPoP && resp.StatusCode == http.StatusUnauthorized && resp.Header.Get("DPoP-Nonce") != "" && (ch == nil || ch.Error == "use_dpop_nonce" || dpopNonce(resp.Header))
}

func dpopNonce(h http.Header) bool {
	for _, c := range parseChallenges(h.Values("WWW-Authenticate")) {
		if c.scheme == "dpop" && c.params["error"] == "use_dpop_nonce" {
			return true
		}
	}
	return false
}

// helps reports whether a new token may change the answer.
func (t *Transport) helps(status int, ch *Challenge, cred *credential) bool {
	if status == http.StatusUnauthorized {
		return true
	}
	if ch == nil {
		return false
	}
	if cred == nil {
		return ch.ResourceMetadata != ""
	}
	return ch.Error == "insufficient_scope" && len(ch.Scopes) > 0 && t.mayStep(scopeSet(cred.scopes(), ch.Scopes))
}

// mayStep reports whether a set of scopes may be asked for once more, and counts it. With the first login that makes three at most.
func (t *Transport) mayStep(scopes []string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := strings.Join(scopes, " ")
	if t.steps[key] >= maxAttempts-1 || len(t.steps) > maxSteps {
		return false
	}
	t.steps[key]++
	return true
}

// authorized is the request with the token.
func (t *Transport) authorized(req *http.Request, body io.ReadCloser, c *credential) (*http.Request, error) {
	out := req.WithContext(req.Context())
	out.Body = body
	out.Header = req.Header.Clone()
	if out.Header == nil {
		out.Header = http.Header{}
	}
	switch {
	case c == nil:
	case c.DPoP:
		key, err := t.keyOf(c)
		if err != nil {
			return nil, err
		}
		if key == nil {
			return nil, errors.New("mcpauth: the credential is bound to a key that is lost; log in anew (Transport.Forget)")
		}
		proof, err := t.proof(key, req.Method, req.URL.String(), c.AccessToken)
		if err != nil {
			return nil, err
		}
		out.Header.Set("Authorization", "DPoP "+c.AccessToken)
		out.Header.Set("DPoP", proof)
	default:
		out.Header.Set("Authorization", "Bearer "+c.AccessToken)
	}
	return out, nil
}

// again returns the body for another attempt.
func again(req *http.Request) (io.ReadCloser, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req.Body, nil
	}
	if req.GetBody == nil {
		return nil, errors.New("mcpauth: the body cannot be sent again")
	}
	return req.GetBody()
}

func closeBody(b io.ReadCloser) {
	if b != nil {
		_ = b.Close()
	}
}

// discard frees the connection of a refusal.
func discard(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	_ = resp.Body.Close()
}

// credential returns what to send now, nil for nothing. A token at its end is renewed first; if that fails for the moment and the token
// is still good, it is used.
func (t *Transport) credential(ctx context.Context) (*credential, error) {
	if !t.loaded.Load() {
		if _, err := t.alone(ctx, nil, t.loadOnce); err != nil {
			return nil, err
		}
	}
	c := t.cred.Load()
	if c == nil || c.RefreshToken == "" || !c.expired(t.now()) {
		return c, nil
	}
	if t.now().Before(c.Expiry) {
		if !t.renewing.CompareAndSwap(nil, c) {
			return c, nil // somebody renews it, and it is good until then
		}
		defer t.renewing.Store(nil)
	}
	_, err := t.alone(ctx, c, func(ctx context.Context) error { return t.renew(ctx, c) })
	switch now := t.cred.Load(); {
	case err == nil || now != c:
		return now, nil
	case definite(err):
		t.cred.CompareAndSwap(c, nil)
		return nil, nil // without a token the server says what it wants
	case t.now().Before(c.Expiry):
		t.log.Warn("mcpauth: the token could not be renewed yet", "err", err)
		return c, nil
	default:
		return nil, err
	}
}

func (t *Transport) loadOnce(ctx context.Context) error {
	if t.loaded.Load() {
		return nil
	}
	c, err := t.stored(ctx)
	if err != nil {
		return err
	}
	t.cred.CompareAndSwap(nil, c)
	t.loaded.Store(true)
	return nil
}
