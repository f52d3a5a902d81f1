package mcpauth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Status is what is known about the login at a server. Nothing in it is a secret.
type Status struct {
	Server    string // the MCP server
	Issuer    string // the authorization server
	Resource  string // what the token is for
	ClientID  string
	Subject   string    // who logged in, as the ID token of the login or the access token says, for display only; empty if neither does
	Scopes    []string  // of the token; those asked for where the authorization server did not say
	Expiry    time.Time // of the access token; zero if not said
	Renewable bool      // there is a refresh token
	DPoP      bool
}

// Status tells about the login in force at the server, or in the store; nil if there is none. It asks nobody.
func (t *Transport) Status(ctx context.Context) (*Status, error) {
	c, err := t.current(ctx)
	if c == nil || err != nil {
		return nil, err
	}
	return c.status(t.resourceURL()), nil
}

// current is the credential in force, or else the stored one.
func (t *Transport) current(ctx context.Context) (*credential, error) {
	if c := t.cred.Load(); c != nil {
		return c, nil
	}
	return t.stored(ctx)
}

func (c *credential) status(server string) *Status {
	s := &Status{Server: server, Issuer: c.Issuer, Resource: c.Resource, ClientID: c.ClientID, Subject: c.Subject, Scopes: c.Granted, Expiry: c.Expiry,
		Renewable: c.RefreshToken != "", DPoP: c.DPoP}
	if s.Scopes == nil {
		s.Scopes = c.Requested
	}
	if s.Subject == "" {
		s.Subject = claimsOf(c.AccessToken).Subject
	}
	s.Scopes = slices.Clone(s.Scopes)
	return s
}

// Logins tells about all logins in a store, by server. The store must be able to list its keys, as those of this module are.
func Logins(ctx context.Context, s Store) ([]*Status, error) {
	l, ok := s.(Lister)
	if !ok {
		return nil, errors.New("mcpauth: the store cannot list what it has (it is no mcpauth.Lister)")
	}
	keys, err := l.Keys(ctx)
	if err != nil {
		return nil, fmt.Errorf("mcpauth: reading the store: %w", err)
	}
	slices.Sort(keys)
	var all []*Status
	for _, key := range keys {
		server, ok := strings.CutPrefix(key, serverKey(""))
		if !ok {
			continue
		}
		last, err := load[lastUse](ctx, s, key)
		if err != nil {
			return all, err
		}
		if last == nil {
			continue
		}
		c, err := load[credential](ctx, s, tokenKey(last.Issuer, last.Resource))
		if err != nil {
			return all, err
		}
		if c != nil {
			all = append(all, c.status(server))
		}
	}
	return all, nil
}

// Logout ends the login: the authorization server is asked to revoke the tokens where it can (RFC 7009), and the credential and the
// client's own registration there are dropped, here and in the store. An error of the authorization server is returned when all else is done:
// the tokens may then be good until they expire.
func (t *Transport) Logout(ctx context.Context) error {
	c, err := t.current(ctx)
	if err != nil {
		return err
	}
	var revoked error
	if c != nil {
		revoked = t.revoke(ctx, c)
		if c.Client != nil {
			revoked = errors.Join(revoked, t.unregister(ctx, c.Client))
		}
	}
	if err := t.Forget(ctx); err != nil {
		return errors.Join(err, revoked)
	}
	return revoked
}

// revoke asks for the revocation of a credential's tokens, the refresh token first: that ends the whole grant at most servers.
func (t *Transport) revoke(ctx context.Context, c *credential) error {
	m, err := t.metadata(ctx, c.Issuer)
	if err != nil {
		return fmt.Errorf("mcpauth: revoking the token: %w", err)
	}
	if m == nil || m.RevocationEndpoint == "" || m.TokenEndpoint != c.TokenEndpoint {
		return nil // it has no such thing, or is not the one that issued the token
	}
	reg, err := t.registrationOf(ctx, c)
	if err != nil {
		return fmt.Errorf("mcpauth: revoking the token: %w", err)
	}
	for _, tok := range []struct{ kind, value string }{{"refresh_token", c.RefreshToken}, {"access_token", c.AccessToken}} {
		if tok.value == "" {
			continue
		}
		form := url.Values{"token": {tok.value}, "token_type_hint": {tok.kind}}
		resp, err := t.tokenOnce(ctx, &tokenCall{what: "revocation_endpoint", endpoint: m.RevocationEndpoint, issuer: c.Issuer, reg: reg, form: form})
		if err != nil {
			return fmt.Errorf("mcpauth: revoking the token at %s: %w", m.RevocationEndpoint, err)
		}
		if e := oauthError(resp, "revocation endpoint"); resp.status != http.StatusOK && e.Code != "unsupported_token_type" {
			return e
		}
	}
	return nil
}

// tokenClaims are what is shown of a token that is a JWT.
type tokenClaims struct {
	Issuer   string         `json:"iss"`
	Subject  string         `json:"sub"`
	Audience jsontext.Value `json:"aud"`
}

// claimsOf reads a JWT without verifying it; empty if it is none.
func claimsOf(token string) (c tokenClaims) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(raw, &c) != nil {
		return tokenClaims{}
	}
	return c
}

// idSubject returns the subject of an ID token that came from the token endpoint of its issuer for this client, which makes up for its
// signature (OpenID Connect Core section 3.1.3.7, number 6); empty if there is none.
func idSubject(idToken, issuer, clientID string) string {
	c := claimsOf(idToken)
	var one string
	var many []string
	if json.Unmarshal(c.Audience, &one) == nil {
		many = []string{one}
	} else if json.Unmarshal(c.Audience, &many) != nil {
		return ""
	}
	if c.Issuer != issuer || !slices.Contains(many, clientID) {
		return ""
	}
	return c.Subject
}
