package idp

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
)

// Token types of RFC 8693 and of the identity assertion (ID-JAG).
const (
	typeIDToken  = "urn:ietf:params:oauth:token-type:id_token"
	typeRefresh  = "urn:ietf:params:oauth:token-type:refresh_token"
	typeIDJAG    = "urn:ietf:params:oauth:token-type:id-jag"
	headerIDJAG  = "oauth-id-jag+jwt"
	maxIDJAG     = 10 * time.Minute // lifetime of identity assertions at most
	idjagTTL     = 5 * time.Minute
	errorGrant   = "invalid_grant"
	errorRequest = "invalid_request"
)

// assertionClaims are those of an identity assertion and of a workload's.
type assertionClaims struct {
	jwt.Claims
	ClientID string   `json:"client_id"`
	Resource audience `json:"resource"`
	Scope    string   `json:"scope"`

	AuthTime *jwt.NumericDate `json:"auth_time"` // when the person signed in at the issuer
	ACR      string           `json:"acr"`
}

// audience is one string or several.
type audience = jwt.Audience

// assertion is the JWT bearer grant (RFC 7523 section 2.1).
func (p *Provider) assertion(r *tokenRequest) (map[string]any, *oauthError) {
	t, err := jwt.ParseSigned(r.form.Get("assertion"), algorithms)
	if err != nil || len(t.Headers) != 1 {
		return nil, refuse(errorGrant, "the assertion is not a JWT with a signature that is taken here")
	}
	var said assertionClaims
	if err := t.UnsafeClaimsWithoutVerification(&said); err != nil {
		return nil, refuse(errorGrant, "the claims of the assertion cannot be read")
	}
	trust, problem := p.trusted(r, t, &said)
	if problem != nil {
		return nil, problem
	}
	typ, _ := t.Headers[0].ExtraHeaders["typ"].(string)
	if len(trust.Workloads) > 0 && typ != headerIDJAG {
		return p.workload(r, trust, &said)
	}
	if typ != headerIDJAG {
		return nil, refuse(errorGrant, "expected an assertion of type %s, got %q", headerIDJAG, typ)
	}
	return p.identity(r, trust, &said)
}

// trusted finds the issuer of an assertion, and checks signature and audience.
func (p *Provider) trusted(r *tokenRequest, t *jwt.JSONWebToken, said *assertionClaims) (*Trust, *oauthError) {
	trust := p.trustIn(said.Issuer)
	if trust == nil {
		return nil, refuse(errorGrant, "assertions of issuer %s are not taken here", said.Issuer)
	}
	set, err := trust.Keys(r.Context())
	if err != nil {
		p.opts.Logger.Error("idp: keys of a trusted issuer", "issuer", trust.Issuer, "error", err)
		return nil, &oauthError{http.StatusServiceUnavailable, "temporarily_unavailable", "the keys of the assertion's issuer cannot be had"}
	}
	if err := verify(t, set.Keys); err != nil {
		return nil, refuse(errorGrant, "the assertion is not signed by its issuer")
	}
	if !slices.Equal(said.Audience, audience{p.opts.Issuer}) {
		return nil, refuse(errorGrant, "expected the audience %s, got %s", p.opts.Issuer, strings.Join(said.Audience, " "))
	}
	return trust, nil
}

func (p *Provider) trustIn(issuer string) *Trust {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.trust {
		if t.Issuer == issuer {
			return &t
		}
	}
	return nil
}

// identity issues a token for the person whom an enterprise's identity provider vouches for.
func (p *Provider) identity(r *tokenRequest, trust *Trust, said *assertionClaims) (map[string]any, *oauthError) {
	switch {
	case r.client == nil || r.client.public():
		return nil, &oauthError{http.StatusUnauthorized, "invalid_client", "the client of an identity assertion has to authenticate"}
	case said.ClientID != r.client.ID:
		return nil, refuse(errorGrant, "the assertion is for client %s, not for %s", said.ClientID, r.client.ID)
	case said.Subject == "" || said.IssuedAt == nil:
		return nil, refuse(errorGrant, "sub and iat are needed")
	}
	scopes, problem := narrow("invalid_scope", "scope", fields(r.form.Get("scope")), fields(said.Scope))
	if problem != nil {
		return nil, problem
	}
	resources, problem := narrow("invalid_target", "resource", r.form["resource"], said.Resource)
	if problem != nil {
		return nil, problem
	}
	subject := said.Subject
	if trust.Subject != nil {
		subject = trust.Subject(said.Subject)
	}
	p.mu.Lock()
	problem = p.checkResources(resources)
	if problem == nil {
		problem = p.known(scopes)
	}
	known := p.user(subject) != nil
	p.mu.Unlock()
	switch {
	case problem != nil:
		return nil, refuse(errorGrant, "the assertion names what does not exist here: %s", problem.text)
	case !known:
		return nil, refuse(errorGrant, "nobody here is %s of %s", said.Subject, said.Issuer)
	}
	if why := p.fresh("id-jag", &said.Claims, maxIDJAG); why != "" {
		return nil, refuse(errorGrant, "the assertion: %s", why)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g := &grant{clientID: r.client.ID, subject: subject, sub: p.subjectFor(subject, r.client, ""), scopes: scopes, resources: resources, acr: said.ACR}
	if said.AuthTime != nil {
		g.authTime = said.AuthTime.Time()
	}
	return p.issue(r, &issuance{grant: g, scopes: scopes, resources: resources})
}

// workload issues a token to the client that a workload is.
func (p *Provider) workload(r *tokenRequest, trust *Trust, said *assertionClaims) (map[string]any, *oauthError) {
	id, ok := trust.Workloads[said.Subject]
	if !ok || (r.client != nil && r.client.ID != id) {
		return nil, refuse(errorGrant, "the workload %s is no client here, or another one", said.Subject)
	}
	if r.client == nil {
		c, problem := p.client(r.Context(), id)
		if problem != nil {
			return nil, problem
		}
		r.client = c
	}
	scopes, resources := fields(r.form.Get("scope")), r.form["resource"]
	p.mu.Lock()
	problem := p.checkResources(resources)
	if problem == nil {
		problem = p.known(scopes)
	}
	p.mu.Unlock()
	if problem != nil {
		return nil, problem
	}
	if why := p.fresh("workload", &said.Claims, maxAssertion); why != "" {
		return nil, refuse(errorGrant, "the assertion: %s", why)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g := &grant{clientID: id, sub: id, scopes: scopes, resources: resources}
	return p.issue(r, &issuance{grant: g, scopes: scopes, resources: resources})
}

// exchange is token exchange (RFC 8693) for identity assertions: the provider vouches for a person at a peer.
func (p *Provider) exchange(r *tokenRequest) (map[string]any, *oauthError) {
	if r.client.public() {
		return nil, &oauthError{http.StatusUnauthorized, "invalid_client", "the client of a token exchange has to authenticate"}
	}
	if want := r.form.Get("requested_token_type"); want != typeIDJAG {
		return nil, refuse(errorRequest, "expected requested_token_type %s, got %q", typeIDJAG, want)
	}
	peer, problem := p.peer(r)
	if problem != nil {
		return nil, problem
	}
	person, problem := p.subjectToken(r)
	if problem != nil {
		return nil, problem
	}
	claims := map[string]any{"aud": peer.Issuer, "client_id": peer.Clients[r.client.ID], "sub": person.subject, "jti": newID()}
	if !person.authTime.IsZero() {
		claims["auth_time"], claims["acr"] = person.authTime.Unix(), person.acr
	}
	if resources := r.form["resource"]; len(resources) == 1 {
		claims["resource"] = resources[0]
	} else if len(resources) > 1 {
		claims["resource"] = resources
	}
	if s := r.form.Get("scope"); s != "" {
		claims["scope"] = s
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.opts.Now()
	claims["iss"], claims["iat"], claims["exp"] = p.opts.Issuer, now.Unix(), now.Add(idjagTTL).Unix()
	token, err := p.sign(headerIDJAG, claims)
	if err != nil {
		return nil, p.internal(err)
	}
	doc := map[string]any{"issued_token_type": typeIDJAG, "access_token": token, "token_type": "N_A", "expires_in": int(idjagTTL / time.Second)}
	if s := r.form.Get("scope"); s != "" {
		doc["scope"] = s
	}
	return doc, nil
}

// peer finds where the client wants to be vouched for, and checks that it may.
func (p *Provider) peer(r *tokenRequest) (*Peer, *oauthError) {
	want := r.form["audience"]
	p.mu.Lock()
	i := slices.IndexFunc(p.peers, func(x Peer) bool { return len(want) == 1 && x.Issuer == want[0] })
	var peer *Peer
	if i >= 0 {
		found := p.peers[i]
		peer = &found
	}
	p.mu.Unlock()
	if peer == nil {
		return nil, refuse("invalid_target", "nobody is vouched for at %s", strings.Join(want, " "))
	}
	if peer.Clients[r.client.ID] == "" {
		return nil, refuse("invalid_target", "client %s is not known at %s", r.client.ID, peer.Issuer)
	}
	if _, problem := narrow("invalid_target", "resource", r.form["resource"], peer.Resources); problem != nil {
		return nil, problem
	}
	if peer.Scopes != nil {
		if _, problem := narrow("invalid_scope", "scope", fields(r.form.Get("scope")), peer.Scopes); problem != nil {
			return nil, problem
		}
	}
	return peer, nil
}

// subjectToken finds out who a subject token is about, and when they signed in.
func (p *Provider) subjectToken(r *tokenRequest) (*grant, *oauthError) {
	token, kind := r.form.Get("subject_token"), r.form.Get("subject_token_type")
	switch kind {
	case typeIDToken, typeRefresh:
	default:
		if p.opts.SubjectToken == nil {
			return nil, refuse(errorRequest, "subject tokens of type %q are not taken", kind)
		}
		subject, err := p.opts.SubjectToken(r.Context(), kind, token)
		if err != nil {
			p.opts.Logger.Info("idp: subject token refused", "type", kind, "error", err)
			return nil, refuse(errorGrant, "the subject token is not valid")
		}
		return &grant{subject: subject}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if kind == typeRefresh {
		t, ok := p.refreshes.get(p.opts.Now(), token)
		if !ok || t.grant.clientID != r.client.ID || t.grant.revoked || !t.usedAt.IsZero() || (t.jkt != "" && t.jkt != r.jkt) {
			return nil, refuse(errorGrant, "the subject token is not valid, or is another client's")
		}
		return t.grant, nil
	}
	return p.subjectOf(token, r.client)
}

// subjectOf is who an ID token of a client is about. Callers hold the lock.
func (p *Provider) subjectOf(token string, c *Client) (*grant, *oauthError) {
	claims, ok := p.ownClaims(token, "JWT")
	exp, _ := claims["exp"].(float64)
	sub, _ := claims["sub"].(string)
	if !ok || claims["aud"] != c.ID || p.opts.Now().Unix() >= int64(exp) {
		return nil, refuse(errorGrant, "the subject token is not an ID token of client %s that is valid now", c.ID)
	}
	for i := range p.users {
		u := &p.users[i]
		if u.Subject == sub || slices.ContainsFunc(c.RedirectURIs, func(uri string) bool { return p.subjectFor(u.Subject, c, uri) == sub }) {
			at, _ := claims["auth_time"].(float64)
			acr, _ := claims["acr"].(string)
			return &grant{subject: u.Subject, authTime: time.Unix(int64(at), 0), acr: acr}, nil
		}
	}
	return nil, refuse(errorGrant, "the subject token is about nobody here")
}
