package mcpauth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Ways in which a client says who it is at the token endpoint.
const (
	AuthNone          = "none"                // client_id alone
	AuthBasic         = "client_secret_basic" // RFC 6749 section 2.3.1
	AuthPost          = "client_secret_post"
	AuthPrivateKeyJWT = "private_key_jwt" // RFC 7523
)

// An OAuthError is the refusal of an authorization server. Its texts come from there.
type OAuthError struct {
	Endpoint    string // what refused: "token endpoint", "registration endpoint", "authorization endpoint"
	Status      int    // of HTTP; 0 if the refusal came with the callback
	Code        string // "invalid_grant" and so on; empty if the answer was no OAuth error
	Description string
}

// Error says what was refused.
func (e *OAuthError) Error() string {
	s := "mcpauth: the " + e.Endpoint + " refused"
	if e.Status != 0 {
		s += " with status " + strconv.Itoa(e.Status)
	}
	if e.Code != "" {
		s += ": " + clip(strconv.QuoteToASCII(e.Code))
	}
	if e.Description != "" {
		s += " (" + clip(strconv.QuoteToASCII(e.Description)) + ")"
	}
	if !e.Definite() {
		s += "; this may be temporary, credentials are kept"
	}
	return s
}

// Definite reports whether the refusal is about what was presented, so that trying again is of no use. All else may be temporary.
func (e *OAuthError) Definite() bool {
	switch e.Code {
	case "invalid_grant", "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope", "invalid_target", "access_denied",
		"invalid_request", "invalid_dpop_proof":
		return true
	}
	return e.Code == "" && (e.Status == http.StatusNotFound || e.Status == http.StatusGone)
}

func definite(err error) bool {
	var e *OAuthError
	return errors.As(err, &e) && e.Definite()
}

type tokenCall struct {
	what             string // of the endpoint; empty: token_endpoint
	endpoint, issuer string
	reg              *Registration
	form             url.Values
	key              *dpopKey // nil: no DPoP
}

type tokenResponse struct {
	AccessToken     string         `json:"access_token"`
	TokenType       string         `json:"token_type"`
	ExpiresIn       jsontext.Value `json:"expires_in"`
	RefreshToken    string         `json:"refresh_token"`
	Scope           string         `json:"scope"`
	IssuedTokenType string         `json:"issued_token_type"`
	IDToken         string         `json:"id_token"`
}

func (r *tokenResponse) dpop() bool { return strings.EqualFold(r.TokenType, "DPoP") }

// lifetime takes a number, and a number in a string as some servers send it; anything else is 0.
func (r *tokenResponse) lifetime() time.Duration {
	const most = 10 * 365 * 24 * 3600
	n, err := strconv.ParseFloat(strings.Trim(string(r.ExpiresIn), `"`), 64)
	if err != nil || !(n > 0) {
		return 0
	}
	return time.Duration(min(n, most) * float64(time.Second))
}

func (r *tokenResponse) scopes() []string {
	if r.Scope == "" {
		return nil
	}
	return scopeSet(strings.Fields(r.Scope))
}

// token asks a token endpoint. With DPoP a nonce that is demanded is used at once.
func (t *Transport) token(ctx context.Context, c *tokenCall) (*tokenResponse, error) {
	resp, err := t.tokenOnce(ctx, c)
	if err == nil && c.key != nil && resp.status == http.StatusBadRequest && oauthError(resp, "").Code == "use_dpop_nonce" && resp.header.Get("DPoP-Nonce") != "" {
		resp, err = t.tokenOnce(ctx, c)
	}
	if err != nil {
		return nil, fmt.Errorf("mcpauth: asking the token endpoint %s: %w", c.endpoint, err)
	}
	if resp.status != http.StatusOK {
		return nil, oauthError(resp, "token endpoint")
	}
	var r tokenResponse
	if err := json.Unmarshal(resp.body, &r); err != nil {
		return nil, fmt.Errorf("mcpauth: the answer of the token endpoint %s cannot be read: %w", c.endpoint, err)
	}
	if r.AccessToken == "" || strings.ContainsFunc(r.AccessToken, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return nil, fmt.Errorf("mcpauth: the answer of the token endpoint %s holds no usable access_token", c.endpoint)
	}
	return &r, nil
}

func (t *Transport) tokenOnce(ctx context.Context, c *tokenCall) (*reply, error) {
	if err := t.fetch.checkURL(cmp.Or(c.what, "token_endpoint"), c.endpoint); err != nil {
		return nil, err
	}
	form := url.Values{}
	for k, v := range c.form {
		form[k] = v
	}
	h := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	if c.reg != nil {
		if err := c.reg.identify(h, form, c, t.now()); err != nil {
			return nil, err
		}
	}
	if c.key != nil {
		proof, err := t.proof(c.key, http.MethodPost, c.endpoint, "")
		if err != nil {
			return nil, err
		}
		h.Set("DPoP", proof)
	}
	resp, err := t.fetch.post(ctx, c.endpoint, h, form.Encode())
	if err == nil {
		t.noteNonce(c.endpoint, resp.header)
	}
	return resp, err
}

// oauthError makes an error of an answer that is none of success.
func oauthError(resp *reply, endpoint string) *OAuthError {
	e := &OAuthError{Endpoint: endpoint, Status: resp.status}
	var said struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if resp.status < 500 && bytes.HasPrefix(bytes.TrimSpace(resp.body), []byte("{")) {
		if err := json.Unmarshal(resp.body, &said); err == nil {
			e.Code, e.Description = said.Error, said.Description
		}
	}
	return e
}

// identify adds to a token request who the client is.
func (r *Registration) identify(h http.Header, form url.Values, c *tokenCall, now time.Time) error {
	switch r.AuthMethod {
	case AuthBasic:
		pair := url.QueryEscape(r.ClientID) + ":" + url.QueryEscape(r.ClientSecret)
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
	case AuthPost:
		form.Set("client_id", r.ClientID)
		form.Set("client_secret", r.ClientSecret)
	case AuthPrivateKeyJWT:
		assertion, err := r.assertion(c.issuer, now)
		if err != nil {
			return err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	default:
		form.Set("client_id", r.ClientID)
	}
	return nil
}

// assertion is a client assertion (RFC 7523 section 2.2) for an issuer, good for a minute.
func (r *Registration) assertion(issuer string, now time.Time) (string, error) {
	alg := jose.SignatureAlgorithm(r.Algorithm)
	if alg == "" {
		alg = jose.ES256
	}
	key := jose.JSONWebKey{Key: r.PrivateKey, KeyID: r.KeyID}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("mcpauth: Registration.PrivateKey cannot sign with %s: %w", alg, err)
	}
	return jwt.Signed(signer).Claims(jwt.Claims{Issuer: r.ClientID, Subject: r.ClientID, Audience: jwt.Audience{issuer}, ID: newID(),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(time.Minute))}).Serialize()
}

// authMethod chooses how to authenticate with what the client has, among what the authorization server takes.
func (r *Registration) authMethod(supported []string) (string, error) {
	var can []string
	switch {
	case r.PrivateKey != nil:
		can = []string{AuthPrivateKeyJWT}
	case r.ClientSecret != "":
		can = []string{AuthBasic, AuthPost}
	default:
		return AuthNone, nil
	}
	if len(supported) == 0 {
		return can[0], nil
	}
	for _, m := range can {
		if slices.Contains(supported, m) {
			return m, nil
		}
	}
	return "", fmt.Errorf("mcpauth: the client %q can authenticate by %s, the authorization server takes %s", r.ClientID, strings.Join(can, ", "), strings.Join(supported, ", "))
}
