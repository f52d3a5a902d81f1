package idp

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A grant is what a person, or a client for itself, was granted: the root of a family of tokens.
type grant struct {
	clientID  string
	subject   string // of the User; empty: the client itself
	sub       string // what the client sees
	scopes    []string
	resources []string
	nonce     string
	authTime  time.Time
	acr       string
	sid       string
	revoked   bool
}

func (g *grant) owner() string {
	if g.subject == "" {
		return g.clientID
	}
	return g.subject
}

type code struct {
	grant       *grant
	redirectURI string
	challenge   string
	jkt         string
	expires     time.Time
	used        bool
}

type refresh struct {
	grant   *grant
	jkt     string // the key of a public client
	usedAt  time.Time
	expires time.Time
}

// An access token that was issued.
type access struct {
	grant    *grant
	scopes   []string
	audience []string
	jkt      string
	issued   time.Time
	expires  time.Time
}

// A tokenRequest is a request to the token endpoint whose client is known.
type tokenRequest struct {
	*http.Request
	form   url.Values
	client *Client
	jkt    string // the key that was proved
}

// serveToken is the token endpoint.
func (p *Provider) serveToken(w http.ResponseWriter, r *http.Request) {
	doc, problem := p.token(w, r)
	if problem != nil {
		p.opts.Logger.Info("idp: token refused", "grant_type", r.PostForm.Get("grant_type"), "error", problem.code, "why", problem.text)
		if problem.status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="token"`)
		}
		writeError(w, problem)
		return
	}
	p.mu.Lock()
	doc = lied(p.lies.TokenAnswer, doc)
	p.mu.Unlock()
	noStore(w)
	writeJSON(w, http.StatusOK, doc)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) (map[string]any, *oauthError) {
	if problem := readForm(w, r); problem != nil {
		return nil, problem
	}
	form := r.PostForm
	if problem := single(form, "resource", "audience"); problem != nil {
		return nil, problem
	}
	kind := form.Get("grant_type")
	handle, ok := map[string]func(*tokenRequest) (map[string]any, *oauthError){GrantCode: p.redeem, GrantRefresh: p.renewToken,
		GrantClientCredentials: p.clientCredentials, GrantJWTBearer: p.assertion, GrantTokenExchange: p.exchange}[kind]
	if !ok {
		return nil, refuse("unsupported_grant_type", "grant type %q is not supported", kind)
	}
	p.mu.Lock()
	p.counts[kind]++
	p.mu.Unlock()
	req := &tokenRequest{Request: r, form: form}
	var problem *oauthError
	if req.jkt, problem = p.proof(w, r); problem != nil {
		return nil, problem
	}
	if kind == GrantJWTBearer && !form.Has("client_id") && !form.Has("client_assertion") && r.Header.Get("Authorization") == "" {
		return handle(req) // a workload's assertion may say who the client is
	}
	if req.client, problem = p.authenticate(r); problem != nil {
		return nil, problem
	}
	if !slices.Contains(req.client.Grants, kind) {
		return nil, refuse("unauthorized_client", "client %s is not registered for %s", req.client.ID, kind)
	}
	return handle(req)
}

// readForm reads the body of an endpoint that takes forms; parameters in the URL do not count.
func readForm(w http.ResponseWriter, r *http.Request) *oauthError {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		return &oauthError{http.StatusMethodNotAllowed, "invalid_request", "POST only"}
	}
	if r.URL.RawQuery != "" {
		return refuse("invalid_request", "parameters belong in the body, where they are not logged")
	}
	if ct, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(ct), "application/x-www-form-urlencoded") {
		return refuse("invalid_request", "expected application/x-www-form-urlencoded")
	}
	if err := r.ParseForm(); err != nil {
		return refuse("invalid_request", "the form cannot be read")
	}
	return nil
}

var verifierForm = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

// redeem takes a code for tokens (RFC 6749 section 4.1.3).
func (p *Provider) redeem(r *tokenRequest) (map[string]any, *oauthError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.opts.Now()
	c, ok := p.codes.get(now, r.form.Get("code"))
	if !ok || c.grant.clientID != r.client.ID {
		return nil, refuse("invalid_grant", "the code is not known here, or is another client's")
	}
	if c.used {
		c.grant.revoked = true // RFC 6749 section 4.1.2
		p.counts["reuse"]++
		return nil, refuse("invalid_grant", "the code was used before; what was issued for it is revoked")
	}
	c.used = true
	verifier := r.form.Get("code_verifier")
	sum := sha256.Sum256([]byte(verifier))
	switch {
	case !now.Before(c.expires):
		return nil, refuse("invalid_grant", "the code has expired")
	case r.form.Get("redirect_uri") != c.redirectURI:
		return nil, refuse("invalid_grant", "redirect_uri differs from that of the authorization request")
	case !verifierForm.MatchString(verifier) || !same(base64.RawURLEncoding.EncodeToString(sum[:]), c.challenge):
		return nil, refuse("invalid_grant", "code_verifier does not fit the code_challenge")
	case c.jkt != "" && c.jkt != r.jkt:
		return nil, refuse("invalid_grant", "the code is for another key")
	}
	resources, problem := narrow("invalid_target", "resource", r.form["resource"], c.grant.resources)
	if problem != nil {
		return nil, problem
	}
	return p.issue(r, &issuance{grant: c.grant, scopes: c.grant.scopes, resources: resources, person: true})
}

// narrow checks that what is asked for is within what was granted; nothing asked for is everything.
func narrow(errorCode, what string, asked, granted []string) ([]string, *oauthError) {
	if len(asked) == 0 {
		return granted, nil
	}
	for _, a := range asked {
		if !slices.Contains(granted, a) {
			return nil, refuse(errorCode, "%s %s was not granted", what, a)
		}
	}
	return asked, nil
}

// renewToken is the refresh of a token: the refresh token is replaced, and one that comes a second time is taken for stolen.
func (p *Provider) renewToken(r *tokenRequest) (map[string]any, *oauthError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.opts.Now()
	t, ok := p.refreshes.get(now, r.form.Get("refresh_token"))
	switch {
	case !ok || t.grant.clientID != r.client.ID:
		return nil, refuse("invalid_grant", "the refresh token is not known here, or is another client's")
	case t.grant.revoked || !now.Before(t.expires):
		return nil, refuse("invalid_grant", "the refresh token was revoked or has expired")
	case t.jkt != "" && t.jkt != r.jkt:
		return nil, refuse("invalid_grant", "the refresh token is bound to another key")
	case !t.usedAt.IsZero() && now.Sub(t.usedAt) >= p.opts.RefreshGrace:
		t.grant.revoked = true
		p.counts["reuse"]++
		return nil, refuse("invalid_grant", "the refresh token was used before; its whole family is revoked")
	}
	scopes, problem := narrow("invalid_scope", "scope", fields(r.form.Get("scope")), t.grant.scopes)
	if problem != nil {
		return nil, problem
	}
	resources, problem := narrow("invalid_target", "resource", r.form["resource"], t.grant.resources)
	if problem != nil {
		return nil, problem
	}
	if t.usedAt.IsZero() {
		t.usedAt = now
	}
	return p.issue(r, &issuance{grant: t.grant, scopes: scopes, resources: resources, person: true})
}

// clientCredentials issues a token to a client for itself.
func (p *Provider) clientCredentials(r *tokenRequest) (map[string]any, *oauthError) {
	if r.client.public() {
		return nil, refuse("unauthorized_client", "a client that does not authenticate gets no token for itself")
	}
	scopes, resources := fields(r.form.Get("scope")), r.form["resource"]
	p.mu.Lock()
	defer p.mu.Unlock()
	if problem := p.checkResources(resources); problem != nil {
		return nil, problem
	}
	if problem := p.known(scopes); problem != nil {
		return nil, problem
	}
	if slices.Contains(scopes, scopeOpenID) {
		return nil, refuse("invalid_scope", "there is no person behind this grant")
	}
	g := &grant{clientID: r.client.ID, sub: r.client.ID, scopes: scopes, resources: resources}
	return p.issue(r, &issuance{grant: g, scopes: scopes, resources: resources})
}
