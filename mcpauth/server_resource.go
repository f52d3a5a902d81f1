package mcpauth

import (
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
	"github.com/seed38e7925c/parley/mcphttp"
)

// Defaults of [ResourceOptions].
const (
	DefaultMaxTokenBytes = 16 << 10
	DefaultMaxTokens     = 10_000
)

// ResourceOptions tune a [Resource]. Nil and zero values mean the defaults.
type ResourceOptions struct {
	// Scopes are needed for every request. They are named in the challenge to who has no token, so that a client asks for them first;
	// what single tools, prompts and resources need besides stands in their Scopes, and is asked for when they are used.
	Scopes []string
	// ScopesSupported are published in the metadata. Clients that are not told in a challenge what to ask for ask for all of them, so
	// keep to what most people need; offline_access does not belong here. The default is Scopes.
	ScopesSupported []string
	// Implies says which scopes come with another one: {"mail": {"mail.read", "mail.send"}}. What is implied implies further ones. A
	// principal has all that its token's scopes imply.
	Implies map[string][]string
	// Hide leaves out of lists what the caller's scopes do not suffice for. It cannot be used either, and is answered as if it did not
	// exist; so nobody is told which scope would help. The default is to list everything, and to refuse its use with a challenge.
	Hide bool
	// Anonymous lets requests without a token through, with no principal. What needs scopes still needs a token.
	Anonymous bool

	// Audiences are further names by which an authorization server may know this resource, for those that cannot issue tokens for a
	// URL. Each must stand for this resource alone.
	Audiences []string
	// AuthorizationServers are the issuers to publish. The default is those of the verifier; one of your own needs them here.
	AuthorizationServers []string
	// Name and Documentation are published for people: what the resource is called, and the URL of a page about it.
	Name, Documentation string

	// DPoP tunes tokens that are bound to a key of the client (RFC 9449). They are always taken, and only with a proof.
	DPoP *DPoPOptions

	// MaxTokenBytes bounds a token; longer ones are not looked at. The default is 16 KiB.
	MaxTokenBytes int
	// MaxTokens bounds the verified tokens that are remembered. The default is 10,000.
	MaxTokens int
	// AllowHTTP permits an http URL with a host that is not this computer.
	AllowHTTP bool
	// Logger gets what must not cross the wire. The default is slog.Default().
	Logger *slog.Logger
}

// A Resource protects one MCP endpoint: it is the resource server of RFC 6750 and RFC 9728. It is safe for concurrent use.
//
//	auth, err := mcpauth.NewResource("https://travel.example/mcp", mcpauth.JWT("https://login.example", nil), nil)
//	srv := mcp.NewServer("travel", "1.4.0", auth.Protect(nil))
//	err = mcphttp.ListenAndServe("0.0.0.0:8080", srv, auth.HTTP(nil))
//
// A token counts if the verifier vouches for it, it has not expired, and this resource is among its audiences. It is verified once and
// remembered by its hash. It is nowhere to be found in the call that a handler gets, so that it cannot be passed on.
type Resource struct {
	url      *url.URL
	id       string // canonical
	verifier Verifier
	opts     ResourceOptions
	implied  map[string][]string // Implies, with what that implies
	document []byte              // metadata
	tokens   *tokenCache
	dpop     *dpopVerifier
	noToken  *mcphttp.AuthError
}

// NewResource returns the protection of the MCP endpoint at a URL, as clients write it: https, without query and fragment. It is what
// tokens must have been issued for (RFC 8707), and what is published. A token for the URL with a slash at the end, or with a scheme or
// host in upper case, counts as well; nothing else does.
func NewResource(rawURL string, verifier Verifier, o *ResourceOptions) (*Resource, error) {
	r := &Resource{verifier: verifier}
	if o != nil {
		r.opts = *o
	}
	if err := r.prepare(rawURL); err != nil {
		return nil, err
	}
	if err := r.publish(); err != nil {
		return nil, err
	}
	var err error
	if r.dpop, err = newDPoPVerifier(r.id, r.opts.DPoP); err != nil {
		return nil, err
	}
	if r.document, err = r.describe(); err != nil {
		return nil, err
	}
	r.tokens = newTokenCache(r.opts.MaxTokens)
	r.noToken = r.refuse(http.StatusUnauthorized, challenge{}, "an access token is needed")
	return r, nil
}

// prepare fills in defaults and checks the rest.
func (r *Resource) prepare(rawURL string) error {
	o := &r.opts
	if o.MaxTokenBytes == 0 {
		o.MaxTokenBytes = DefaultMaxTokenBytes
	}
	if o.MaxTokens == 0 {
		o.MaxTokens = DefaultMaxTokens
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MaxTokenBytes < 0 || o.MaxTokens < 0 {
		return errors.New("mcpauth: ResourceOptions.MaxTokenBytes and MaxTokens must not be negative")
	}
	u, err := url.Parse(rawURL)
	if err == nil {
		err = r.checkURL(u)
	}
	if err != nil {
		return fmt.Errorf("mcpauth: NewResource: %q: %w; want the URL of the MCP endpoint, as in https://travel.example/mcp", rawURL, err)
	}
	r.id = canonicalResource(u)
	if r.url, err = url.Parse(r.id); err != nil {
		return fmt.Errorf("mcpauth: NewResource: %w", err)
	}
	return r.checkScopes()
}

// checkURL says why a URL cannot be that of a resource.
func (r *Resource) checkURL(u *url.URL) error {
	switch {
	case u.Host == "":
		return errors.New("it names no host")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("it must have no user, query or fragment")
	case u.Scheme != "https" && (u.Scheme != "http" || !r.opts.AllowHTTP && !loopbackHost(u.Hostname())):
		return errors.New("it must begin with https:// (ResourceOptions.AllowHTTP permits http)")
	}
	return nil
}

// checkScopes holds scopes to the grammar of RFC 6749 section 3.3, and works out what each implies.
func (r *Resource) checkScopes() error {
	o := &r.opts
	if o.ScopesSupported == nil {
		o.ScopesSupported = o.Scopes
	}
	if o.Anonymous && len(o.Scopes) > 0 {
		return errors.New("mcpauth: ResourceOptions.Anonymous and Scopes exclude each other: who has no token has no scope")
	}
	all := slices.Concat(o.Scopes, o.ScopesSupported)
	for s, implied := range o.Implies {
		all = append(append(all, s), implied...)
	}
	for _, s := range all {
		if !scopeToken(s) {
			return fmt.Errorf("mcpauth: ResourceOptions: %q is no scope: visible ASCII characters but for quotes and backslashes are", s)
		}
	}
	r.implied = make(map[string][]string, len(o.Implies))
	for s := range o.Implies {
		r.implied[s] = closure(o.Implies, s)
	}
	return nil
}

// closure returns all that a scope implies, itself left out.
func closure(implies map[string][]string, scope string) []string {
	all := []string{scope}
	for i := 0; i < len(all); i++ {
		for _, s := range implies[all[i]] {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all[1:]
}

// scopeToken reports whether s is a scope.
func scopeToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return s != ""
}

// publish finds out which authorization servers issue tokens.
func (r *Resource) publish() error {
	if r.verifier == nil {
		return errors.New("mcpauth: NewResource: the verifier is nil")
	}
	known, ok := r.verifier.(knownVerifier)
	if ok {
		if err := known.check(); err != nil {
			return err
		}
	}
	if r.opts.AuthorizationServers == nil && ok {
		r.opts.AuthorizationServers = known.issuers()
	}
	if len(r.opts.AuthorizationServers) == 0 {
		return errors.New("mcpauth: ResourceOptions.AuthorizationServers is empty: clients would not know where to log in")
	}
	for _, issuer := range r.opts.AuthorizationServers {
		if u, err := url.Parse(issuer); err != nil || u.Host == "" {
			return fmt.Errorf("mcpauth: ResourceOptions.AuthorizationServers: %q is no URL", issuer)
		}
	}
	return nil
}

// canonicalResource writes a URL as RFC 8707 and the specification want resources to be written.
func canonicalResource(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if p := u.Port(); scheme == "https" && p == "443" || scheme == "http" && p == "80" {
		host = strings.TrimSuffix(host, ":"+p)
	}
	return scheme + "://" + host + strings.TrimSuffix(u.EscapedPath(), "/")
}

// URL returns the canonical URL of the resource: what tokens must be issued for.
func (r *Resource) URL() string { return r.id }

// A verified is what is remembered of a token. It is immutable.
type verified struct {
	principal *mcp.Principal
	until     time.Time // when it must be verified again
	key, cert string    // thumbprints that it is bound to
	lacks     bool      // a scope that every request needs is missing
	refused   error     // the token is good, but not here
}

// Verify returns who stands behind an access token that did not come in a request to the MCP endpoint: with a browser's login at a page
// of the same server, for instance. The token must be one for this resource, and not bound to a key. The errors are those of
// [Verifier.Verify].
func (r *Resource) Verify(ctx context.Context, token string) (*mcp.Principal, error) {
	v, err := r.verify(ctx, token)
	switch {
	case err != nil:
		return nil, err
	case v.key != "" || v.cert != "":
		return nil, invalid("the token is bound to a key, and there is no proof that its sender has it")
	}
	return v.principal, nil
}

// verify returns what a token stands for, from memory if it was seen before.
func (r *Resource) verify(ctx context.Context, token string) (*verified, error) {
	if len(token) > r.opts.MaxTokenBytes {
		return nil, invalid("the token is longer than %d bytes (ResourceOptions.MaxTokenBytes)", r.opts.MaxTokenBytes)
	}
	key := hashToken(token)
	now := time.Now()
	if v := r.tokens.get(key, now); v != nil {
		return v, v.refused
	}
	t, err := r.verifier.Verify(ctx, token)
	if err != nil {
		return nil, err
	}
	if t == nil || t.Issuer == "" {
		return nil, errors.New("mcpauth: the verifier returned no token, or one without an issuer")
	}
	if now = time.Now(); !t.Expiry.IsZero() && !now.Before(t.Expiry) {
		return nil, invalid("the token has expired")
	}
	v := r.remember(t, now)
	if !t.audienceImplied && !slices.ContainsFunc(t.Audience, r.means) {
		v.refused = invalid("the token is for another resource: expected %q, got %q", r.id, clipAll(t.Audience))
	}
	if t.KeepFor > 0 {
		r.tokens.put(key, v, now)
	}
	return v, v.refused
}

// remember makes of a token what is kept of it.
func (r *Resource) remember(t *Token, now time.Time) *verified {
	p := &mcp.Principal{Issuer: t.Issuer, Subject: t.Subject, ClientID: t.ClientID, Scopes: r.allScopes(t.Scopes), Expiry: t.Expiry, Person: t.Person}
	v := &verified{principal: p, key: t.KeyThumbprint, cert: t.CertificateThumbprint, until: now.Add(t.KeepFor)}
	if !t.Expiry.IsZero() && t.Expiry.Before(v.until) {
		v.until = t.Expiry
	}
	v.lacks = !holds(p, r.opts.Scopes)
	return v
}

// allScopes adds what scopes imply.
func (r *Resource) allScopes(scopes []string) []string {
	all := slices.Clone(scopes)
	for _, s := range scopes {
		for _, implied := range r.implied[s] {
			if !slices.Contains(all, implied) {
				all = append(all, implied)
			}
		}
	}
	return all
}

// holds reports whether a principal has all of some scopes.
func holds(p *mcp.Principal, scopes []string) bool {
	for _, s := range scopes {
		if !p.HasScope(s) {
			return false
		}
	}
	return true
}

// means reports whether an audience is this resource.
func (r *Resource) means(audience string) bool {
	if audience == r.id || slices.Contains(r.opts.Audiences, audience) {
		return true
	}
	u, err := url.Parse(audience)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return false
	}
	return canonicalResource(u) == r.id
}

// clipAll shortens a list from elsewhere for an error.
func clipAll(list []string) []string {
	const most = 5
	out := make([]string, 0, most)
	for _, s := range list[:min(len(list), most)] {
		out = append(out, clip(s))
	}
	return out
}
