package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/internal/dialguard"
)

// Bounds of what is exchanged with a provider.
const (
	defaultProviderTimeout = 15 * time.Second
	maxProviderTimeout     = 2 * time.Minute
	maxDocument            = 1 << 20
	metadataAge            = time.Hour // how long metadata counts
)

// How a client says who it is at the token endpoint.
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
)

// endpoints are where a provider is talked to, and how.
type endpoints struct {
	Issuer      string   `json:"issuer"`
	Authorize   string   `json:"authorization_endpoint"`
	Token       string   `json:"token_endpoint"`
	Revoke      string   `json:"revocation_endpoint"`
	UserInfo    string   `json:"userinfo_endpoint"`
	JWKS        string   `json:"jwks_uri"`
	SendsIssuer bool     `json:"authorization_response_iss_parameter_supported"`
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	Challenges  []string `json:"code_challenge_methods_supported"`
	IDTokenAlgs []string `json:"id_token_signing_alg_values_supported"`
}

// origin names where tokens come from: they are sent nowhere else.
func (p *Provider) origin() string {
	if p.Issuer != "" {
		return p.Issuer
	}
	return p.TokenURL
}

// A party is the other company, as this process reaches it. Whatever address its metadata names, only what may be dialled is dialled;
// redirects are not followed, proxies of the environment not used.
type party struct {
	spec  *Provider
	hosts []string // that the author has named: they may be in a private network
	guard dialguard.Guard
	http  *http.Client
	log   *slog.Logger

	mu      sync.Mutex
	known   *endpoints
	fetched time.Time
	keys    oidc.KeySet // of known
}

func newParty(spec *Provider, log *slog.Logger) *party {
	p := &party{spec: spec, log: log, guard: dialguard.Guard{
		Package: "connect", Options: "Provider", Loopback: spec.AllowLoopback, Networks: spec.AllowNetworks,
	}}
	for _, named := range []string{spec.Issuer, spec.AuthURL, spec.TokenURL, spec.RevokeURL, spec.UserInfoURL} {
		if u, err := url.Parse(named); err == nil && u.Host != "" {
			p.hosts = append(p.hosts, strings.ToLower(u.Hostname()))
			p.guard.Loopback = p.guard.Loopback || loopback(u.Hostname())
		}
	}
	p.http = &http.Client{
		Transport: &http.Transport{
			DialContext: p.dial, TLSClientConfig: spec.TLS, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
			TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 30 * time.Second, MaxIdleConnsPerHost: 8,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p
}

func (p *party) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	guard := p.guard
	guard.Private = slices.Contains(p.hosts, strings.ToLower(host))
	return (&net.Dialer{Timeout: 10 * time.Second, Control: guard.Control}).DialContext(ctx, network, addr)
}

// checkURL refuses an address that no code, token or secret may be sent to.
func (p *party) checkURL(what, raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("the %s %q is no absolute URL without user and fragment", what, clip(raw))
	case u.Scheme == "https", u.Scheme == "http" && p.guard.Loopback && loopback(u.Hostname()):
		return nil
	}
	return fmt.Errorf("the %s %q must begin with https://", what, clip(raw))
}

// clip shortens a text of a provider.
func clip(s string) string {
	const most = 200
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// endpoints returns where the provider is talked to. Metadata is fetched anew after an hour; where that fails, the old ones count.
func (p *party) endpoints(ctx context.Context) (*endpoints, error) {
	p.mu.Lock()
	known, fresh := p.known, time.Since(p.fetched) < metadataAge
	p.mu.Unlock()
	if known != nil && fresh {
		return known, nil
	}
	e, err := p.discover(ctx)
	if err != nil && known != nil && ctx.Err() == nil {
		p.log.Warn("connect: the metadata of a provider could not be read again; the old ones count", "provider", p.spec.Name, "error", err)
		e, err = known, nil
	}
	if err != nil {
		return nil, fmt.Errorf("connect: provider %s: %w", p.spec.Name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys == nil || p.known.JWKS != e.JWKS {
		p.keys = oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), &http.Client{
			Transport: bounded{p.http}, CheckRedirect: p.http.CheckRedirect, Timeout: p.spec.Timeout,
		}), e.JWKS)
	}
	p.known, p.fetched = e, time.Now()
	return e, nil
}

// discover is what the author has named, completed by the issuer's metadata.
func (p *party) discover(ctx context.Context) (*endpoints, error) {
	e := &endpoints{}
	if p.spec.Issuer != "" {
		found, err := p.metadata(ctx)
		switch {
		case err == nil:
			e = found // for the keys of ID tokens, and what it says of itself, too
		case !errors.Is(err, errNone) || p.spec.AuthURL == "" || p.spec.TokenURL == "":
			return nil, err
		}
	}
	if e.Issuer == "" {
		e.Issuer = p.spec.Issuer // otherwise as the metadata spell it: with or without a slash at the end
	}
	for named, to := range map[string]*string{
		p.spec.AuthURL: &e.Authorize, p.spec.TokenURL: &e.Token, p.spec.RevokeURL: &e.Revoke, p.spec.UserInfoURL: &e.UserInfo,
	} {
		if named != "" {
			*to = named
		}
	}
	return e, p.check(e)
}

// check refuses endpoints that cannot be used. Optional ones that cannot are left out.
func (p *party) check(e *endpoints) error {
	if err := errors.Join(p.checkURL("authorization endpoint", e.Authorize), p.checkURL("token endpoint", e.Token)); err != nil {
		return err
	}
	for what, optional := range map[string]*string{"revocation endpoint": &e.Revoke, "userinfo endpoint": &e.UserInfo, "jwks_uri": &e.JWKS} {
		if *optional == "" {
			continue
		}
		if err := p.checkURL(what, *optional); err != nil {
			p.log.Warn("connect: an endpoint of a provider is not used", "provider", p.spec.Name, "error", err)
			*optional = ""
		}
	}
	if len(e.Challenges) > 0 && !slices.Contains(e.Challenges, "S256") {
		return fmt.Errorf("it does not support PKCE with S256 (code_challenge_methods_supported: %q)", e.Challenges)
	}
	return nil
}

// errNone says that a place has no metadata.
var errNone = errors.New("there is no metadata")

// metadata reads the issuer's metadata, of RFC 8414 or of OpenID Connect.
func (p *party) metadata(ctx context.Context) (*endpoints, error) {
	issuer, err := url.Parse(p.spec.Issuer)
	if err != nil {
		return nil, err
	}
	path := strings.TrimSuffix(issuer.Path, "/")
	const oauth, openid = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	for _, at := range slices.Compact([]string{path + openid, oauth + path, openid + path}) {
		where := *issuer
		where.Path, where.RawPath = at, ""
		e, err := p.document(ctx, where.String())
		if errors.Is(err, errNone) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("its metadata: %w", err)
		}
		if strings.TrimSuffix(e.Issuer, "/") != strings.TrimSuffix(p.spec.Issuer, "/") {
			return nil, fmt.Errorf("its metadata at %s are about %q, not about %q", where.String(), clip(e.Issuer), p.spec.Issuer)
		}
		return e, nil
	}
	return nil, fmt.Errorf("issuer %s: %w at the places of RFC 8414 and OpenID Connect", p.spec.Issuer, errNone)
}

// document reads one document.
func (p *party) document(ctx context.Context, at string) (*endpoints, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	a, err := p.send(ctx, req)
	if err != nil {
		return nil, err
	}
	switch {
	case a.status == http.StatusTooManyRequests || a.status >= 500:
		return nil, fmt.Errorf("%s answered with status %d", at, a.status)
	case a.status != http.StatusOK:
		return nil, errNone
	}
	e := &endpoints{}
	if err := jsonv2.Unmarshal(a.body, e); err != nil {
		return nil, fmt.Errorf("%s holds no metadata: %w", at, err)
	}
	return e, nil
}

// A reply of a provider, read.
type providerReply struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request and reads the answer, within the provider's time.
func (p *party) send(ctx context.Context, req *http.Request) (*providerReply, error) {
	ctx, cancel := context.WithTimeout(ctx, p.spec.Timeout)
	defer cancel()
	resp, err := p.http.Do(req.WithContext(ctx))
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err // the address may hold more than a log should
		}
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxDocument {
		return nil, fmt.Errorf("the answer is longer than %d bytes", maxDocument)
	}
	return &providerReply{resp.StatusCode, resp.Header, body}, nil
}

// bounded is the provider's transport for a library that reads whatever is sent.
type bounded struct{ client *http.Client }

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.client.Transport.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxDocument), resp.Body}
	}
	return resp, err
}

// verifier reads ID tokens of the provider; nil where it has none.
func (p *party) verifier(e *endpoints) *oidc.IDTokenVerifier {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Issuer == "" || e.JWKS == "" {
		return nil
	}
	return oidc.NewVerifier(e.Issuer, p.keys, &oidc.Config{ClientID: p.spec.ClientID, SupportedSigningAlgs: signing(e.IDTokenAlgs)})
}

// signing are the algorithms that a provider names, without those that prove nothing.
func signing(named []string) []string {
	return slices.DeleteFunc(slices.Clone(named), func(alg string) bool { return alg == "none" || strings.HasPrefix(alg, "HS") })
}
