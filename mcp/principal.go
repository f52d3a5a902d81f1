package mcp

import (
	"slices"
	"time"
)

// A Principal is the verified identity behind a message: who holds the access token, and through which client. Transports that
// authenticate (mcphttp.Options.Authenticate) put one into the [Exchange]; a nil *Principal is an anonymous caller, as on stdio.
//
// Identity is the triple of Issuer, Subject and ClientID; sessions, sealed request state, subscriptions and private caches are
// bound to it. Two principals with equal triples are the same person at the same client, whatever their scopes. A Principal is shared by
// all calls with one token and must not be modified.
type Principal struct {
	Issuer   string    // authorization server that vouches for the identity, exactly as in its metadata
	Subject  string    // the person (or service) within the issuer; empty when the token names none
	ClientID string    // OAuth client the token was issued to
	Scopes   []string  // scopes the token grants
	Expiry   time.Time // when the token stops being valid; zero when unknown
	// Person reports that a human stands behind the token. It is false for tokens issued to a client itself (client credentials).
	Person bool
}

// Same reports whether p and q are the same identity. Anonymous callers (nil) are the same as each other and as nobody else.
func (p *Principal) Same(q *Principal) bool {
	if p == nil || q == nil {
		return p == q
	}
	return p.Issuer == q.Issuer && p.Subject == q.Subject && p.ClientID == q.ClientID
}

// HasScope reports whether the principal was granted scope. It is false for a nil principal.
func (p *Principal) HasScope(scope string) bool {
	return p != nil && slices.Contains(p.Scopes, scope)
}
