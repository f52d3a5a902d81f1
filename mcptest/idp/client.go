package idp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-json-experiment/json"
)

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// complete fills in what a client did not say.
func (c *Client) complete() {
	if c.Name == "" {
		c.Name = c.ID
	}
	if c.AuthMethod == "" {
		switch {
		case len(c.Keys) > 0:
			c.AuthMethod = AuthPrivateKeyJWT
		case c.Secret != "":
			c.AuthMethod = AuthBasic
		default:
			c.AuthMethod = AuthNone
		}
	}
	if c.Grants == nil {
		if len(c.RedirectURIs) > 0 {
			c.Grants = []string{GrantCode, GrantRefresh}
		}
		if !c.public() {
			c.Grants = append(c.Grants, GrantClientCredentials, GrantJWTBearer, GrantTokenExchange)
		}
	}
}

func (c *Client) public() bool { return c.AuthMethod == AuthNone }

// redirects reports whether the client may have answers sent to a URI: one that it registered, as a string; the port of a loopback
// address is free (RFC 8252 section 7.3), and that of localhost where none is registered.
func (c *Client) redirects(uri string) bool {
	return slices.ContainsFunc(c.RedirectURIs, func(registered string) bool { return uri == registered || samePlace(registered, uri) })
}

// samePlace compares as strings what is before and after the port of a loopback address.
func samePlace(registered, uri string) bool {
	u, err := url.Parse(registered)
	if err != nil || !onThisComputer(u) || (u.Hostname() == "localhost" && u.Port() != "") {
		return false
	}
	host := strings.TrimSuffix(u.Host, ":"+u.Port())
	_, tail, ok := strings.Cut(registered, "://"+u.Host)
	rest, found := strings.CutPrefix(uri, "http://"+host)
	if !ok || !found {
		return false
	}
	if port, more := strings.CutPrefix(rest, ":"); more {
		digits := port[:len(port)-len(strings.TrimLeft(port, "0123456789"))]
		if n, err := strconv.ParseUint(digits, 10, 16); err != nil || n == 0 {
			return false
		}
		rest = port[len(digits):]
	}
	return rest == tail && (tail == "" || tail[0] == '/')
}

func onThisComputer(u *url.URL) bool {
	if u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
}

// knownClient finds a client that need not be fetched. Callers hold the lock.
func (p *Provider) knownClient(id string) *Client {
	if c := p.clients[id]; c != nil {
		return c
	}
	c, _ := p.others.get(p.opts.Now(), id)
	return c
}

// client finds a client by its id; for an https URL the document there says who it is.
func (p *Provider) client(ctx context.Context, id string) (*Client, *oauthError) {
	p.mu.Lock()
	c := p.knownClient(id)
	p.mu.Unlock()
	if c != nil {
		return c, nil
	}
	if p.opts.ClientDocuments != nil && strings.HasPrefix(id, "https://") {
		return p.clientDocument(ctx, id)
	}
	return nil, &oauthError{http.StatusUnauthorized, "invalid_client", printable("there is no client " + id)}
}

const (
	maxDocument     = 5 << 10         // RFC draft client-id-metadata-document section 6.6
	documentTimeout = 5 * time.Second // for fetching it
	documentAge     = time.Minute     // it is kept so long
)

// clientDocument finds out who a client is by its metadata document.
func (p *Provider) clientDocument(ctx context.Context, id string) (*Client, *oauthError) {
	bad := func(format string, args ...any) *oauthError {
		return refuse("invalid_client", "client document "+format, args...)
	}
	if !documentID(id) {
		return nil, bad("%s: the id must be an https URL with a plain path", id)
	}
	body, err := p.fetchDocument(ctx, id)
	if err != nil {
		p.opts.Logger.Info("idp: client document", "url", id, "error", err)
		return nil, bad("%s cannot be fetched", id)
	}
	var doc struct {
		registration
		ClientID string `json:"client_id"`
		Secret   string `json:"client_secret"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return nil, bad("%s is no JSON object of client metadata", id)
	}
	if doc.ClientID != id || doc.Secret != "" {
		return nil, bad("%s: expected the client_id to be its URL and no secret, got client_id %s", id, doc.ClientID)
	}
	if doc.AuthMethod == "" {
		doc.AuthMethod = AuthNone
	}
	if (doc.AuthMethod != AuthNone && doc.AuthMethod != AuthPrivateKeyJWT) || !slices.Contains(p.opts.AuthMethods, doc.AuthMethod) {
		return nil, bad("%s: the client cannot authenticate here by %s", id, doc.AuthMethod)
	}
	c, problem := doc.client()
	if problem != nil {
		return nil, problem
	}
	c.ID, c.document = id, true
	p.mu.Lock()
	defer p.mu.Unlock()
	p.others.put(id, c, p.opts.Now().Add(documentAge))
	return c, nil
}

func documentID(id string) bool {
	u, err := url.Parse(id)
	if err != nil || u.Host == "" || u.User != nil || strings.Contains(id, "#") {
		return false
	}
	plain := !strings.Contains(u.Path+"/", "/../") && !strings.Contains(u.Path+"/", "/./")
	return plain && strings.Trim(u.Path, "/") != ""
}

func (p *Provider) fetchDocument(ctx context.Context, id string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	fetcher := *p.opts.ClientDocuments
	fetcher.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := fetcher.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK || len(body) > maxDocument {
		return nil, fmt.Errorf("status %d, %d bytes of at most %d", resp.StatusCode, len(body), maxDocument)
	}
	return body, nil
}

// authenticate finds out who calls an endpoint with client authentication.
func (p *Provider) authenticate(r *http.Request) (*Client, *oauthError) {
	id, secret, basic := r.BasicAuth()
	form := r.PostForm
	if basic {
		var err1, err2 error
		id, err1 = url.QueryUnescape(id)
		secret, err2 = url.QueryUnescape(secret)
		if err1 != nil || err2 != nil {
			return nil, refuse("invalid_request", "id and secret must be form-encoded before they go into Basic")
		}
		if form.Has("client_secret") || form.Has("client_assertion") || (form.Has("client_id") && form.Get("client_id") != id) {
			return nil, refuse("invalid_request", "more than one way of client authentication")
		}
	} else {
		id, secret = form.Get("client_id"), form.Get("client_secret")
	}
	if form.Has("client_assertion") {
		if secret != "" {
			return nil, refuse("invalid_request", "more than one way of client authentication")
		}
		return p.assertedClient(r)
	}
	if id == "" {
		return nil, &oauthError{http.StatusUnauthorized, "invalid_client", "no client_id"}
	}
	c, problem := p.client(r.Context(), id)
	if problem != nil {
		return nil, problem
	}
	if !p.proves(c, secret, basic) {
		return nil, &oauthError{http.StatusUnauthorized, "invalid_client", printable("client " + id + " has to authenticate by " + c.AuthMethod + ", and rightly")}
	}
	return c, nil
}

// proves reports whether a secret is the client's, and came in a way that is taken here.
func (p *Provider) proves(c *Client, secret string, basic bool) bool {
	way := AuthPost
	if basic {
		way = AuthBasic
	}
	switch c.AuthMethod {
	case AuthNone:
		return secret == ""
	case AuthBasic, AuthPost:
		return slices.Contains(p.opts.AuthMethods, way) && same(secret, c.Secret)
	}
	return false
}

func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// assertedClient authenticates a client by private_key_jwt (RFC 7523 section 3, OpenID Connect Core section 9).
func (p *Provider) assertedClient(r *http.Request) (*Client, *oauthError) {
	bad := func(text string) *oauthError {
		return &oauthError{http.StatusUnauthorized, "invalid_client", printable("client assertion: " + text)}
	}
	if r.PostForm.Get("client_assertion_type") != assertionType {
		return nil, bad("expected client_assertion_type " + assertionType)
	}
	raw := r.PostForm.Get("client_assertion")
	t, err := jwt.ParseSigned(raw, algorithms)
	if err != nil || len(t.Headers) != 1 {
		return nil, bad("not a JWT with a signature that is taken here")
	}
	var claims jwt.Claims
	if err := t.UnsafeClaimsWithoutVerification(&claims); err != nil || claims.Subject == "" {
		return nil, bad("no sub")
	}
	if id := r.PostForm.Get("client_id"); id != "" && id != claims.Subject {
		return nil, bad("client_id and sub differ")
	}
	c, problem := p.client(r.Context(), claims.Subject)
	if problem != nil {
		return nil, problem
	}
	if c.AuthMethod != AuthPrivateKeyJWT {
		return nil, bad("client " + c.ID + " authenticates by " + c.AuthMethod)
	}
	// The issuer and nothing else is the audience: an assertion for another server's token endpoint must not serve here.
	if claims.Issuer != c.ID || !slices.Equal(claims.Audience, jwt.Audience{p.opts.Issuer}) {
		return nil, bad("expected iss " + c.ID + " and aud " + p.opts.Issuer + ", got iss " + claims.Issuer + " and aud " + strings.Join(claims.Audience, " "))
	}
	if err := verify(t, c.Keys); err != nil {
		return nil, bad("the signature is not by a key of the client")
	}
	if why := p.fresh("client", &claims, maxAssertion); why != "" {
		return nil, bad(why)
	}
	return c, nil
}

const (
	maxAssertion = time.Hour        // lifetime of assertions at most
	skew         = 30 * time.Second // between clocks
)

// verify checks a signature with the key that the header names, or with each key if it names none.
func verify(t *jwt.JSONWebToken, keys []jose.JSONWebKey) error {
	err := jose.ErrCryptoFailure
	for i := range keys {
		if id := t.Headers[0].KeyID; id != "" && keys[i].KeyID != "" && id != keys[i].KeyID {
			continue
		}
		if alg := keys[i].Algorithm; alg != "" && alg != t.Headers[0].Algorithm {
			continue
		}
		public := keys[i].Public()
		if err = t.Claims(public.Key); err == nil {
			return nil
		}
	}
	return err
}

// fresh checks the times of an assertion whose signature is right, and that it was not seen before; it says what is wrong.
func (p *Provider) fresh(kind string, c *jwt.Claims, longest time.Duration) string {
	now := p.opts.Now()
	switch {
	case c.Expiry == nil || c.ID == "":
		return "exp and jti are needed"
	case !now.Before(c.Expiry.Time().Add(skew)):
		return "expired"
	case c.Expiry.Time().After(now.Add(longest + skew)):
		return "it lasts longer than " + longest.String()
	case c.NotBefore != nil && now.Add(skew).Before(c.NotBefore.Time()), c.IssuedAt != nil && now.Add(skew).Before(c.IssuedAt.Time()):
		return "not yet valid"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.seen.first(now, kind+"\x00"+c.Issuer+"\x00"+c.ID, c.Expiry.Time().Add(skew)) {
		return "it was used before"
	}
	return ""
}
