package mcpauth

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
)

// A Registration is what makes a client known to one authorization server.
type Registration struct {
	// Issuer is the authorization server, as its metadata spells it. The registration is used with no other.
	Issuer string `json:"issuer"`
	// ClientID names the client there.
	ClientID string `json:"client_id"`
	// ClientSecret is empty for public clients.
	ClientSecret string `json:"client_secret,omitzero"`
	// AuthMethod is one of the constants; empty: chosen by what the client has and the authorization server supports.
	AuthMethod string `json:"auth_method,omitzero"`
	// PrivateKey signs client assertions (private_key_jwt). It is not stored.
	PrivateKey crypto.Signer `json:"-"`
	// KeyID and Algorithm go with PrivateKey. The default algorithm is ES256.
	KeyID     string `json:"-"`
	Algorithm string `json:"-"`

	RedirectURI   string    `json:"redirect_uri,omitzero"`   // of a dynamic registration
	TokenEndpoint string    `json:"token_endpoint,omitzero"` // where a secret issued by dynamic registration may be sent
	Expiry        time.Time `json:"expiry,omitzero"`         // of the secret

	dynamic bool // made by this client, which therefore keeps its secret
}

// maxRegistrations bounds how many dynamic registrations at one issuer are kept for new logins: one for each redirect URI.
const maxRegistrations = 8

// A registrationList is the record of the dynamic registrations at an issuer, the last one first.
type registrationList struct {
	All []*Registration `json:"registrations"`
}

// usable reports whether a stored registration can serve for a new login.
func (r *Registration) usable(m *Metadata, now time.Time) bool {
	return r != nil && r.ClientID != "" && r.Issuer == m.Issuer && r.TokenEndpoint == m.TokenEndpoint && (r.Expiry.IsZero() || now.Before(r.Expiry))
}

// registered returns the dynamic registrations at an issuer that can serve for a new login.
func (t *Transport) registered(ctx context.Context, m *Metadata) ([]*Registration, error) {
	list, err := load[registrationList](ctx, t.opts.Store, clientKey(m.Issuer))
	if err != nil || list == nil {
		return nil, err
	}
	return slices.DeleteFunc(list.All, func(r *Registration) bool { return !r.usable(m, t.now()) }), nil
}

// loginStart says how the client will be known.
func (t *Transport) loginStart(ctx context.Context, m *Metadata) (*LoginStart, error) {
	s := &LoginStart{Issuer: m.Issuer}
	known, err := t.preregistered(ctx, m.Issuer)
	if err != nil || known != nil || m.ClientIDDocuments && t.opts.ClientMetadataURL != "" {
		return s, err
	}
	all, err := t.registered(ctx, m)
	for _, r := range all {
		s.Registered = append(s.Registered, r.RedirectURI)
	}
	s.Registers = true
	return s, err
}

// changeList changes the record of the dynamic registrations at an issuer.
func (t *Transport) changeList(ctx context.Context, issuer string, change func(all []*Registration) []*Registration) error {
	key := clientKey(issuer)
	err := t.opts.Store.Update(ctx, key, func(data []byte) ([]byte, error) {
		list, err := decodeRecord[registrationList](key, data)
		if err != nil {
			return nil, err
		}
		if list == nil {
			list = &registrationList{}
		}
		if list.All = change(list.All); len(list.All) == 0 {
			return nil, nil
		}
		return json.Marshal(list)
	})
	if err != nil {
		return fmt.Errorf("mcpauth: writing the store: %w", err)
	}
	return nil
}

// remember adds a dynamic registration in the place of others with its redirect URI.
func (t *Transport) remember(ctx context.Context, r *Registration) error {
	return t.changeList(ctx, r.Issuer, func(all []*Registration) []*Registration {
		all = slices.DeleteFunc(all, func(o *Registration) bool { return o == nil || o.RedirectURI == r.RedirectURI })
		return append([]*Registration{r}, all[:min(len(all), maxRegistrations-1)]...)
	})
}

// unregister forgets a dynamic registration, so that the next login makes a new one.
func (t *Transport) unregister(ctx context.Context, r *Registration) error {
	return t.changeList(ctx, r.Issuer, func(all []*Registration) []*Registration {
		return slices.DeleteFunc(all, func(o *Registration) bool { return o == nil || o.ClientID == r.ClientID })
	})
}

// preregistered returns the registration that the host has for an issuer, or nil.
func (t *Transport) preregistered(ctx context.Context, issuer string) (*Registration, error) {
	for _, r := range t.opts.Registrations {
		if r.Issuer == issuer {
			return r, nil
		}
	}
	if t.opts.Registered == nil {
		return nil, nil
	}
	r, err := t.opts.Registered(ctx, issuer)
	if err != nil {
		return nil, fmt.Errorf("mcpauth: ClientOptions.Registered: %w", err)
	}
	if r != nil && (r.Issuer != issuer || r.ClientID == "") {
		return nil, fmt.Errorf("mcpauth: ClientOptions.Registered: expected a registration for %q with a ClientID, got one for %q", issuer, r.Issuer)
	}
	return r, nil
}

// fitting is a copy of a registration with the method of authentication decided.
func fitting(r *Registration, m *Metadata) (*Registration, error) {
	c := *r
	if c.AuthMethod != "" {
		return &c, nil
	}
	var err error
	c.AuthMethod, err = c.authMethod(m.AuthMethods)
	return &c, err
}

// client finds out who the client is at an authorization server: registered beforehand, by a metadata document, or dynamically.
func (t *Transport) client(ctx context.Context, m *Metadata, redirectURI string) (*Registration, error) {
	if r, err := t.preregistered(ctx, m.Issuer); err != nil {
		return nil, err
	} else if r != nil {
		return fitting(r, m)
	}
	if m.ClientIDDocuments && t.opts.ClientMetadataURL != "" {
		return &Registration{Issuer: m.Issuer, ClientID: t.opts.ClientMetadataURL, AuthMethod: AuthNone}, nil
	}
	all, err := t.registered(ctx, m)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.RedirectURI == redirectURI {
			r.dynamic = true
			return r, nil
		}
	}
	if m.RegistrationEndpoint == "" {
		return nil, fmt.Errorf("mcpauth: the authorization server %q does not register clients by itself; register there and put the client id into ClientOptions.Registrations", m.Issuer)
	}
	r, err := t.register(ctx, m, redirectURI)
	if err != nil {
		return nil, err
	}
	return r, t.remember(ctx, r)
}

// registrationOf returns the registration that a credential was issued to.
func (t *Transport) registrationOf(ctx context.Context, c *credential) (*Registration, error) {
	r, err := t.preregistered(ctx, c.Issuer)
	if err != nil {
		return nil, err
	}
	if r != nil && r.ClientID == c.ClientID {
		if r.AuthMethod != "" {
			return r, nil
		}
		m, err := t.metadata(ctx, c.Issuer)
		if err != nil {
			return nil, err
		}
		if m == nil {
			m = &Metadata{}
		}
		return fitting(r, m)
	}
	r = c.Client
	if r == nil || r.Issuer != c.Issuer || r.ClientID != c.ClientID || !r.Expiry.IsZero() && t.now().After(r.Expiry) {
		return nil, &OAuthError{Endpoint: "store", Code: "invalid_client", Description: "the client that the token was issued to is not known any more"}
	}
	return r, nil
}

// unknownClient reports whether an authorization server does not know the client, or not any more.
func unknownClient(err error) bool {
	var e *OAuthError
	return errors.As(err, &e) && (e.Code == "invalid_client" || e.Code == "unauthorized_client")
}

// applicationType is "native" where the answer comes back to this computer, or to a scheme of the application's own.
func applicationType(redirectURI string) string {
	u, err := url.Parse(redirectURI)
	if err == nil && u.Scheme == "https" && !loopbackHost(u.Hostname()) {
		return "web"
	}
	return "native"
}

// register registers the client dynamically (RFC 7591).
func (t *Transport) register(ctx context.Context, m *Metadata, redirectURI string) (*Registration, error) {
	method, err := registrationMethod(m.AuthMethods)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(t.opts.clientMetadata([]string{redirectURI}, method), json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	resp, err := t.fetch.post(ctx, m.RegistrationEndpoint, h, string(body))
	if err != nil {
		return nil, fmt.Errorf("mcpauth: registering at %s: %w", m.RegistrationEndpoint, err)
	}
	if resp.status != http.StatusCreated && resp.status != http.StatusOK {
		return nil, oauthError(resp, "registration endpoint")
	}
	var said struct {
		ClientID   string `json:"client_id"`
		Secret     string `json:"client_secret"`
		AuthMethod string `json:"token_endpoint_auth_method"`
		Expires    int64  `json:"client_secret_expires_at"`
	}
	if err := json.Unmarshal(resp.body, &said); err != nil {
		return nil, fmt.Errorf("mcpauth: the answer of the registration endpoint cannot be read: %w", err)
	}
	if said.ClientID == "" {
		return nil, errors.New("mcpauth: the answer of the registration endpoint holds no client_id")
	}
	r := &Registration{dynamic: true, Issuer: m.Issuer, ClientID: said.ClientID, ClientSecret: said.Secret, AuthMethod: said.AuthMethod, RedirectURI: redirectURI, TokenEndpoint: m.TokenEndpoint}
	if said.Expires > 0 {
		r.Expiry = time.Unix(said.Expires, 0)
	}
	switch {
	case r.AuthMethod == "" && r.ClientSecret == "":
		r.AuthMethod = AuthNone
	case r.AuthMethod == "":
		r.AuthMethod = method
	case !slices.Contains([]string{AuthNone, AuthBasic, AuthPost}, r.AuthMethod):
		return nil, fmt.Errorf("mcpauth: the registration demands %q at the token endpoint, which a registered client cannot do", clip(r.AuthMethod))
	}
	return r, nil
}

// registrationMethod is how a client that registers itself will authenticate: as a public one where that is possible.
func registrationMethod(supported []string) (string, error) {
	if len(supported) == 0 {
		return AuthNone, nil
	}
	for _, m := range []string{AuthNone, AuthBasic, AuthPost} {
		if slices.Contains(supported, m) {
			return m, nil
		}
	}
	return "", fmt.Errorf("mcpauth: the authorization server takes none of the methods that a registered client has: none, client_secret_basic, client_secret_post; it takes %q", supported)
}
