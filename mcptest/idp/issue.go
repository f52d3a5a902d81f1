package idp

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// An issuance is what tokens are made from. scopes and resources are within the grant.
type issuance struct {
	grant     *grant
	scopes    []string
	resources []string
	person    bool // ID token and refresh token go with it
}

// issue makes the answer of the token endpoint. Callers hold the lock.
func (p *Provider) issue(r *tokenRequest, i *issuance) (map[string]any, *oauthError) {
	if i.grant.revoked {
		return nil, refuse("invalid_grant", "the grant was revoked")
	}
	if p.opts.RequireDPoP && r.jkt == "" {
		return nil, refuse("invalid_dpop_proof", "a DPoP proof is needed")
	}
	now := p.opts.Now()
	a := &access{grant: i.grant, scopes: i.scopes, audience: p.audience(i), jkt: r.jkt, issued: now, expires: now.Add(p.opts.AccessTokenTTL)}
	token, err := p.accessToken(a, nil)
	if err != nil {
		return nil, p.internal(err)
	}
	doc := map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": int(p.opts.AccessTokenTTL / time.Second)}
	if r.jkt != "" {
		doc["token_type"] = "DPoP"
	}
	if len(i.scopes) > 0 {
		doc["scope"] = strings.Join(i.scopes, " ")
	}
	if !i.person {
		return doc, nil
	}
	if slices.Contains(i.scopes, scopeOpenID) {
		if doc["id_token"], err = p.idToken(i.grant, i.scopes, token); err != nil {
			return nil, p.internal(err)
		}
	}
	if p.renewable(r.client, i.grant) {
		id := newID()
		t := &refresh{grant: i.grant, expires: now.Add(p.opts.RefreshTokenTTL)}
		if r.client.public() {
			t.jkt = r.jkt
		}
		p.refreshes.put(id, t, t.expires)
		doc["refresh_token"] = id
	}
	return doc, nil
}

func (p *Provider) internal(err error) *oauthError {
	p.opts.Logger.Error("idp: internal error", "error", err)
	return &oauthError{500, "server_error", "internal error"}
}

func (p *Provider) renewable(c *Client, g *grant) bool {
	if p.opts.NoRefreshTokens || !slices.Contains(c.Grants, GrantRefresh) {
		return false
	}
	return !p.opts.OfflineAccess || slices.Contains(g.scopes, scopeOffline)
}

// audience is whom a token is for: the resources that were named. The provider itself is among them where it answers about the person.
func (p *Provider) audience(i *issuance) []string {
	out := slices.Clone(i.resources)
	if (len(out) == 0 || slices.Contains(i.scopes, scopeOpenID)) && !slices.Contains(out, p.opts.Issuer) {
		out = append(out, p.opts.Issuer)
	}
	return out
}

// accessToken makes an access token: a JWT (RFC 9068) or a random string. Callers hold the lock.
func (p *Provider) accessToken(a *access, edit func(map[string]any)) (string, error) {
	id := newID()
	p.accesses.put(id, a, a.expires)
	if p.opts.OpaqueTokens {
		return id, nil
	}
	claims := p.accessClaims(a, id)
	if edit != nil {
		edit(claims)
	}
	return p.sign("at+jwt", lied(p.lies.AccessToken, claims))
}

func (p *Provider) accessClaims(a *access, id string) map[string]any {
	claims := map[string]any{}
	if u := p.user(a.grant.subject); u != nil {
		maps.Copy(claims, u.Claims)
	}
	var aud any = a.audience
	if len(a.audience) == 1 {
		aud = a.audience[0]
	}
	maps.Copy(claims, map[string]any{"iss": p.opts.Issuer, "sub": a.grant.sub, "aud": aud, "client_id": a.grant.clientID, "jti": id,
		"iat": a.issued.Unix(), "exp": a.expires.Unix()})
	if len(a.scopes) > 0 {
		claims["scope"] = strings.Join(a.scopes, " ")
	}
	if !a.grant.authTime.IsZero() {
		claims["auth_time"], claims["acr"] = a.grant.authTime.Unix(), a.grant.acr
	}
	if a.jkt != "" {
		claims["cnf"] = map[string]any{"jkt": a.jkt}
	}
	return claims
}

// idToken makes an ID token (OpenID Connect Core section 2).
func (p *Provider) idToken(g *grant, scopes []string, accessToken string) (string, error) {
	now := p.opts.Now()
	claims := p.personClaims(g, scopes)
	amr := "user"
	if g.acr == acrPassword {
		amr = "pwd"
	}
	maps.Copy(claims, map[string]any{"iss": p.opts.Issuer, "aud": g.clientID, "iat": now.Unix(), "exp": now.Add(p.opts.IDTokenTTL).Unix(),
		"auth_time": g.authTime.Unix(), "acr": g.acr, "amr": []string{amr}, "sid": g.sid, "at_hash": p.halfHash(accessToken)})
	if g.nonce != "" {
		claims["nonce"] = g.nonce
	}
	return p.sign("JWT", lied(p.lies.IDToken, claims))
}

// halfHash is at_hash: the left half of the hash that goes with the signature.
func (p *Provider) halfHash(token string) string {
	if p.opts.Algorithm == string(jose.EdDSA) {
		sum := sha512.Sum512([]byte(token))
		return base64.RawURLEncoding.EncodeToString(sum[:32])
	}
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// personClaims is what the scopes let a client know about a person.
func (p *Provider) personClaims(g *grant, scopes []string) map[string]any {
	claims := map[string]any{}
	if u := p.user(g.subject); u != nil {
		maps.Copy(claims, u.Claims)
		if slices.Contains(scopes, "profile") {
			claims["name"] = u.name()
		}
		if slices.Contains(scopes, "email") && u.Email != "" {
			claims["email"], claims["email_verified"] = u.Email, true
		}
	}
	claims["sub"] = g.sub
	return claims
}

// A Ticket says what [Provider.Mint] puts into a token.
type Ticket struct {
	Subject  string // of a User; empty: a token of the client itself
	ClientID string
	Resource string // the audience; empty: the provider itself
	Scopes   []string
	// TTL is the lifetime. The default is Options.AccessTokenTTL.
	TTL time.Duration
	// JKT is the thumbprint of the key that the token is bound to (DPoP).
	JKT string
	// Edit changes the claims before they are signed, for tokens that must be refused.
	Edit func(claims map[string]any)
}

// Mint issues an access token without any of the protocol, for tests of resource servers.
func (p *Provider) Mint(t *Ticket) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.opts.Now()
	g := &grant{clientID: t.ClientID, subject: t.Subject, sub: t.ClientID, scopes: t.Scopes}
	if t.Subject != "" {
		g.sub, g.authTime, g.acr = p.subjectFor(t.Subject, &Client{ID: t.ClientID}, ""), now, acrClick
	}
	i := &issuance{grant: g, scopes: t.Scopes}
	if t.Resource != "" {
		i.resources = []string{t.Resource}
	}
	ttl := t.TTL
	if ttl == 0 {
		ttl = p.opts.AccessTokenTTL
	}
	return p.accessToken(&access{grant: g, scopes: t.Scopes, audience: p.audience(i), jkt: t.JKT, issued: now, expires: now.Add(ttl)}, t.Edit)
}
