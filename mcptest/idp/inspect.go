package idp

import (
	"errors"
	"net/http"
	"slices"
	"strings"
)

// serveIntrospect tells a resource server about a token for it (RFC 7662).
func (p *Provider) serveIntrospect(w http.ResponseWriter, r *http.Request) {
	c, problem := p.called(w, r)
	if problem == nil && (c.public() || c.ResourceServer == "") {
		problem = &oauthError{http.StatusUnauthorized, "invalid_client", "introspection is for resource servers that authenticate"}
	}
	if problem != nil {
		writeError(w, problem)
		return
	}
	p.mu.Lock()
	doc := map[string]any{"active": false}
	if id, a := p.access(r.PostForm.Get("token")); a != nil && slices.Contains(a.audience, c.ResourceServer) {
		doc = p.accessClaims(a, id)
		doc["active"], doc["token_type"] = true, "Bearer"
		if a.jkt != "" {
			doc["token_type"] = "DPoP"
		}
		if u := p.user(a.grant.subject); u != nil {
			doc["username"] = u.name()
		}
	}
	p.mu.Unlock()
	noStore(w)
	writeJSON(w, http.StatusOK, doc)
}

// called reads the form of an endpoint and finds out which client calls it.
func (p *Provider) called(w http.ResponseWriter, r *http.Request) (*Client, *oauthError) {
	if problem := readForm(w, r); problem != nil {
		return nil, problem
	}
	if problem := single(r.PostForm); problem != nil {
		return nil, problem
	}
	return p.authenticate(r)
}

// access finds an access token that is valid now. Callers hold the lock.
func (p *Provider) access(token string) (string, *access) {
	id := token
	if !p.opts.OpaqueTokens {
		claims, ok := p.ownClaims(token, "at+jwt")
		if !ok {
			return "", nil
		}
		id, _ = claims["jti"].(string)
	}
	a, ok := p.accesses.get(p.opts.Now(), id)
	if !ok || a.grant.revoked {
		return "", nil
	}
	return id, a
}

// serveRevoke revokes a token of the client that asks (RFC 7009). A refresh token takes its family along.
func (p *Provider) serveRevoke(w http.ResponseWriter, r *http.Request) {
	c, problem := p.called(w, r)
	if problem != nil {
		writeError(w, problem)
		return
	}
	p.mu.Lock()
	token := r.PostForm.Get("token")
	if t, ok := p.refreshes.get(p.opts.Now(), token); ok && t.grant.clientID == c.ID {
		t.grant.revoked = true
	} else if id, a := p.access(token); a != nil && a.grant.clientID == c.ID {
		delete(p.accesses.rows, id)
	}
	p.mu.Unlock()
	noStore(w)
	w.WriteHeader(http.StatusOK)
}

// serveUserInfo tells about the person of an access token (OpenID Connect Core section 5.3).
func (p *Provider) serveUserInfo(w http.ResponseWriter, r *http.Request) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	p.mu.Lock()
	_, a := p.access(token)
	var claims map[string]any
	// A token that is bound to a key is not taken as a bearer token.
	ok := a != nil && strings.EqualFold(scheme, "Bearer") && a.jkt == "" && slices.Contains(a.audience, p.opts.Issuer)
	granted := ok && a.grant.subject != "" && slices.Contains(a.scopes, scopeOpenID)
	if granted {
		claims = p.personClaims(a.grant, a.scopes)
	}
	p.mu.Unlock()
	switch {
	case !ok:
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		writeError(w, &oauthError{http.StatusUnauthorized, "invalid_token", "the token is not valid here"})
	case !granted:
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="openid"`)
		writeError(w, &oauthError{http.StatusForbidden, "insufficient_scope", "scope openid is needed"})
	default:
		noStore(w)
		writeJSON(w, http.StatusOK, claims)
	}
}

// Check tells a resource server in the same process about a token for it, as introspection does: whose it is, the user's subject as the
// provider knows it or the id of the client itself, and its scopes. It fails for tokens that are not valid now, that are for somebody
// else, or that are bound to a key.
func (p *Provider) Check(token, resource string) (owner string, scopes []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, a := p.access(token)
	if a == nil || !slices.Contains(a.audience, resource) || a.jkt != "" {
		return "", nil, errors.New("idp: the token is not valid for " + resource)
	}
	return a.grant.owner(), slices.Clone(a.scopes), nil
}
