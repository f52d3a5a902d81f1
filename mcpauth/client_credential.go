package mcpauth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
)

// refreshEarly is how long before its end a token is renewed, if it lives four times as long.
const refreshEarly = 10 * time.Second

// A credential is a token with what is needed to use it, renew it and ask for more. It is immutable.
type credential struct {
	ID            string    `json:"id"` // names the login, across renewals
	Issuer        string    `json:"issuer"`
	Resource      string    `json:"resource"`
	ClientID      string    `json:"client_id"`
	TokenEndpoint string    `json:"token_endpoint"` // the only place where it is renewed
	AccessToken   string    `json:"access_token"`
	DPoP          bool      `json:"dpop,omitzero"`
	RefreshToken  string    `json:"refresh_token,omitzero"`
	Expiry        time.Time `json:"expiry,omitzero"`
	Renew         time.Time `json:"renew,omitzero"`     // when it is time to
	Requested     []string  `json:"requested,omitzero"` // scopes that were asked for
	Granted       []string  `json:"granted,omitzero"`   // scopes of the token, as the authorization server said
	Subject       string    `json:"subject,omitzero"`   // who logged in, if an ID token said so
	Key           []byte    `json:"dpop_key,omitzero"`  // PKCS #8

	// Client is the registration that the token was issued to, if the host does not keep it: others may have been made since.
	Client *Registration `json:"client,omitzero"`

	fresh bool // from a login, not renewed or read
}

func (c *credential) expired(now time.Time) bool {
	return !c.Renew.IsZero() && now.After(c.Renew)
}

// scopes are those to keep when more are asked for.
func (c *credential) scopes() []string {
	if c == nil {
		return nil
	}
	return scopeSet(c.Requested, c.Granted)
}

// A pointer record says which credential was last used with a server.
type lastUse struct {
	Issuer   string `json:"issuer"`
	Resource string `json:"resource"`
}

func serverKey(server string) string { return "server " + server }
func clientKey(issuer string) string { return "client " + url.QueryEscape(issuer) }
func tokenKey(issuer, resource string) string {
	return "token " + url.QueryEscape(issuer) + " " + url.QueryEscape(resource)
}

// load reads a record of the store; nil if there is none.
func load[T any](ctx context.Context, s Store, key string) (*T, error) {
	data, err := s.Load(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("mcpauth: reading the store: %w", err)
	}
	return decodeRecord[T](key, data)
}

func decodeRecord[T any](key string, data []byte) (*T, error) {
	if data == nil {
		return nil, nil
	}
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("mcpauth: the store's record %q cannot be read; remove it to log in anew: %w", key, err)
	}
	return v, nil
}

// save writes a record whatever was there.
func save(ctx context.Context, s Store, key string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	err = s.Update(ctx, key, func([]byte) ([]byte, error) { return data, nil })
	if err != nil {
		return fmt.Errorf("mcpauth: writing the store: %w", err)
	}
	return nil
}

// stored returns the credential that was last used with the server, or nil.
func (t *Transport) stored(ctx context.Context) (*credential, error) {
	last, err := load[lastUse](ctx, t.opts.Store, serverKey(t.resourceURL()))
	if err != nil || last == nil {
		return nil, err
	}
	return t.storedFor(ctx, last.Issuer, last.Resource)
}

// storedFor returns the credential under an issuer and a resource, or nil. One that says otherwise itself is not used.
func (t *Transport) storedFor(ctx context.Context, issuer, resource string) (*credential, error) {
	c, err := load[credential](ctx, t.opts.Store, tokenKey(issuer, resource))
	if err != nil || c == nil || c.Issuer != issuer || c.Resource != resource || c.AccessToken == "" {
		return nil, err
	}
	return c, t.checkResource(c.Resource, "the stored credential")
}

// keep makes a new credential the one in force, here and in the store.
func (t *Transport) keep(ctx context.Context, c *credential) error {
	t.cred.Store(c)
	ctx = context.WithoutCancel(ctx) // what was got is not lost
	if err := save(ctx, t.opts.Store, tokenKey(c.Issuer, c.Resource), c); err != nil {
		return err
	}
	return save(ctx, t.opts.Store, serverKey(t.resourceURL()), &lastUse{Issuer: c.Issuer, Resource: c.Resource})
}

// adopt makes a credential that the store has the one in force. It is not written: somebody may have renewed it meanwhile.
func (t *Transport) adopt(ctx context.Context, c *credential) error {
	t.cred.Store(c)
	return save(context.WithoutCancel(ctx), t.opts.Store, serverKey(t.resourceURL()), &lastUse{Issuer: c.Issuer, Resource: c.Resource})
}

// A renewal is what came of exchanging a refresh token.
type renewal struct {
	fresh   *credential
	refusal error
}

// renew exchanges the refresh token of a credential, once for all processes that share the store, and makes the new one the one in
// force. A definite refusal is an *[OAuthError] with Definite and deletes the credential, unless somebody has renewed it meanwhile.
func (t *Transport) renew(ctx context.Context, old *credential) error {
	var r renewal
	key := tokenKey(old.Issuer, old.Resource)
	err := t.opts.Store.Update(ctx, key, func(data []byte) ([]byte, error) {
		now, err := decodeRecord[credential](key, data)
		switch {
		case err != nil:
			return nil, err
		case now == nil: // which is what logging out does
			r.refusal = &OAuthError{Endpoint: "store", Code: "invalid_grant", Description: "the login was removed from the store"}
			return nil, nil
		case now.AccessToken != old.AccessToken && !now.expired(t.now()):
			r.fresh = now // somebody else was faster
			return data, nil
		}
		// Once it is presented a refresh token may be used up: the answer is waited for whatever becomes of the request that needs it.
		r.fresh, r.refusal = t.refresh(context.WithoutCancel(ctx), now)
		switch {
		case definite(r.refusal):
			return nil, nil
		case r.refusal != nil:
			return data, nil
		}
		return json.Marshal(r.fresh)
	})
	switch {
	case r.refusal != nil:
		return r.refusal
	case err != nil && r.fresh != nil: // the token was renewed and could not be written: it is in force all the same
		t.cred.Store(r.fresh)
		return fmt.Errorf("mcpauth: writing the renewed token: %w", err)
	case err != nil:
		return fmt.Errorf("mcpauth: renewing the token: %w", err)
	}
	t.cred.Store(r.fresh)
	return nil
}

// refresh is the refresh_token grant (OAuth 2.1 section 4.3), with the same resource.
func (t *Transport) refresh(ctx context.Context, old *credential) (*credential, error) {
	if old.RefreshToken == "" {
		return nil, &OAuthError{Endpoint: "store", Code: "invalid_grant", Description: "there is no refresh token"}
	}
	reg, err := t.registrationOf(ctx, old)
	if err != nil {
		return nil, err
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.RefreshToken}, "resource": {old.Resource}}
	key, err := t.keyOf(old)
	if err != nil {
		return nil, err
	}
	r, err := t.token(ctx, &tokenCall{endpoint: old.TokenEndpoint, issuer: old.Issuer, reg: reg, form: form, key: key})
	if unknownClient(err) && old.Client != nil {
		err = errors.Join(err, t.unregister(ctx, old.Client)) // the next login makes a new one
	}
	if err != nil {
		return nil, err
	}
	c := *old
	c.fresh = false
	c.take(r, t.now())
	return &c, nil
}

// take fills in what a token response says; what it does not say stays.
func (c *credential) take(r *tokenResponse, now time.Time) {
	c.AccessToken, c.Expiry, c.Renew = r.AccessToken, time.Time{}, time.Time{}
	c.DPoP = r.dpop()
	if r.RefreshToken != "" {
		c.RefreshToken = r.RefreshToken
	}
	if d := r.lifetime(); d > 0 {
		c.Expiry = now.Add(d)
		c.Renew = c.Expiry.Add(-min(refreshEarly, d/4))
	}
	if s := r.scopes(); s != nil {
		c.Granted = s
	}
	if sub := idSubject(r.IDToken, c.Issuer, c.ClientID); sub != "" {
		c.Subject = sub
	}
}

func newID() string { return rand.Text() }
