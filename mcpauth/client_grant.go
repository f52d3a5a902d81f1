package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// A Grant gets tokens without a person. It returns the form of the token request, but for the resource, which is added, and the client,
// which is that of ClientOptions.Registrations for the issuer, if there is one.
type Grant func(ctx context.Context, r *GrantRequest) (url.Values, error)

// A GrantRequest is what a token is asked for.
type GrantRequest struct {
	Issuer   string   // of the authorization server of the MCP server
	Resource string   // the MCP server, as its metadata spells it
	Scopes   []string // empty: none are named
	Metadata *Metadata

	// Exchange asks another token endpoint, such as the one of an enterprise's identity provider, as a client that is registered there,
	// with the safeguards of ClientOptions, and returns the access_token of the answer with its issued_token_type.
	Exchange func(ctx context.Context, endpoint string, client *Registration, form url.Values) (token, issuedType string, err error)
}

const (
	grantJWTBearer     = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	grantTokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeIDJAG          = "urn:ietf:params:oauth:token-type:id-jag"
)

// Kinds of subject token of [Enterprise].
const (
	TokenTypeID   = "urn:ietf:params:oauth:token-type:id_token"
	TokenTypeSAML = "urn:ietf:params:oauth:token-type:saml2"
)

// ClientCredentials returns the client credentials grant (extension io.modelcontextprotocol/oauth-client-credentials): the registration
// for the issuer must have a secret or a private key.
func ClientCredentials() Grant {
	return func(_ context.Context, r *GrantRequest) (url.Values, error) {
		return withScopes(url.Values{"grant_type": {"client_credentials"}}, r.Scopes), nil
	}
}

// JWTBearer returns the grant by an assertion of somebody whom the authorization server trusts (RFC 7523 section 2.1), such as a workload's
// identity. assertion is called for each token, and gives a JWT whose audience is the issuer.
func JWTBearer(assertion func(ctx context.Context, r *GrantRequest) (string, error)) Grant {
	return func(ctx context.Context, r *GrantRequest) (url.Values, error) {
		a, err := assertion(ctx, r)
		if err != nil {
			return nil, err
		}
		return withScopes(url.Values{"grant_type": {grantJWTBearer}, "assertion": {a}}, r.Scopes), nil
	}
}

func withScopes(form url.Values, scopes []string) url.Values {
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	return form
}

// Enterprise is how an enterprise's identity provider vouches for a person who has signed in to the host (extension
// io.modelcontextprotocol/enterprise-managed-authorization).
type Enterprise struct {
	// TokenEndpoint of the identity provider.
	TokenEndpoint string
	// Client is the host's registration at the identity provider.
	Client *Registration
	// SubjectToken returns what the sign-in gave, an ID token or a SAML assertion, and its type (TokenTypeID by default).
	SubjectToken func(ctx context.Context) (token, tokenType string, err error)
}

// EnterpriseManaged returns the grant by an identity assertion (ID-JAG): the identity provider is asked for one, for the authorization
// server and the MCP server at hand, and the authorization server takes it for a token. No assertion is kept or logged.
func EnterpriseManaged(e *Enterprise) Grant {
	return func(ctx context.Context, r *GrantRequest) (url.Values, error) {
		if e == nil || e.SubjectToken == nil || e.TokenEndpoint == "" || e.Client == nil {
			return nil, errors.New("mcpauth: Enterprise: TokenEndpoint, Client and SubjectToken are needed")
		}
		subject, kind, err := e.SubjectToken(ctx)
		if err != nil {
			return nil, err
		}
		if kind == "" {
			kind = TokenTypeID
		}
		form := withScopes(url.Values{"grant_type": {grantTokenExchange}, "requested_token_type": {typeIDJAG}, "audience": {r.Issuer},
			"resource": {r.Resource}, "subject_token": {subject}, "subject_token_type": {kind}}, r.Scopes)
		assertion, issued, err := r.Exchange(ctx, e.TokenEndpoint, e.Client, form)
		if err != nil {
			return nil, fmt.Errorf("mcpauth: the identity provider: %w", err)
		}
		if issued != typeIDJAG {
			return nil, fmt.Errorf("mcpauth: the identity provider issued %q instead of an identity assertion (%s)", clip(issued), typeIDJAG)
		}
		return withScopes(url.Values{"grant_type": {grantJWTBearer}, "assertion": {assertion}}, r.Scopes), nil
	}
}

// granted gets a token by the grant of the options.
func (t *Transport) granted(ctx context.Context, d *Discovery, w *want) (*credential, error) {
	scopes := w.scopes
	form, err := t.opts.Grant(ctx, &GrantRequest{Issuer: d.Metadata.Issuer, Resource: d.Resource, Scopes: scopes, Metadata: d.Metadata, Exchange: t.exchange})
	if err != nil {
		return nil, err
	}
	form.Set("resource", d.Resource)
	reg, err := t.preregistered(ctx, d.Metadata.Issuer)
	if err != nil {
		return nil, err
	}
	if r := reg; r != nil {
		if reg, err = fitting(r, d.Metadata); err != nil {
			return nil, err
		}
	} else if form.Get("grant_type") == "client_credentials" {
		return nil, fmt.Errorf("mcpauth: ClientOptions.Registrations names no client for the authorization server %q", d.Metadata.Issuer)
	}
	key, err := t.loginKey()
	if err != nil {
		return nil, err
	}
	return t.issue(ctx, d, &issuance{reg: reg, form: form, key: key, scopes: scopes})
}

func (t *Transport) exchange(ctx context.Context, endpoint string, client *Registration, form url.Values) (token, issuedType string, err error) {
	reg, err := fitting(client, &Metadata{})
	if err != nil {
		return "", "", err
	}
	r, err := t.token(ctx, &tokenCall{endpoint: endpoint, issuer: client.Issuer, reg: reg, form: form})
	if err != nil {
		return "", "", err
	}
	return r.AccessToken, r.IssuedTokenType, nil
}
