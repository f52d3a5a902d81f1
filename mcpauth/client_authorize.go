package mcpauth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/oauth2"
)

// ErrLoginDeclined is returned for requests that need a login which the person, or the authorization server on the person's behalf,
// refused. The person is not asked again until [Transport.Forget].
var ErrLoginDeclined = errors.New("mcpauth: the login was declined")

// A MismatchError says that a server, or a person, said one thing where only another one will do. What they said is in quotation
// marks and not to be trusted.
type MismatchError struct {
	What     string // what does not match
	Expected string // quoted
	Got      string // quoted, and shortened
	Next     string // what to do, or what was not done
}

// Error names both values.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("mcpauth: %s: expected %s, got %s; %s", e.What, e.Expected, e.Got, e.Next)
}

func mismatch(what, expected, got, next string) error {
	return &MismatchError{What: what, Expected: strconv.QuoteToASCII(expected), Got: strconv.QuoteToASCII(clip(got)), Next: next}
}

// A mix-up is an answer of an authorization server that is not the one asked. What else it says is not shown.
func mixUp(expected, got string) error {
	return mismatch("the callback is from another authorization server: its iss is not that of the one asked", expected, got,
		"its code is not used; if this happens again, somebody may be passing off one server's login page as another's")
}

// authorize has the person log in, and exchanges the code for a token.
func (t *Transport) authorize(ctx context.Context, d *Discovery, w *want) (*credential, error) {
	if !slices.Contains(d.Metadata.ChallengeMethods, "S256") {
		return nil, fmt.Errorf("mcpauth: the authorization server %q does not say that it supports PKCE with S256 (code_challenge_methods_supported is %q); it is not safe to log in there", d.Metadata.Issuer, d.Metadata.ChallengeMethods)
	}
	if d.Metadata.AuthorizationEndpoint == "" {
		return nil, fmt.Errorf("mcpauth: the authorization server %q has no authorization_endpoint", d.Metadata.Issuer)
	}
	start, err := t.loginStart(ctx, d.Metadata)
	if err != nil {
		return nil, err
	}
	login, err := t.opts.Login(ctx, start)
	if err != nil {
		return nil, fmt.Errorf("mcpauth: preparing the login: %w", err)
	}
	defer login.Close()
	reg, err := t.client(ctx, d.Metadata, login.RedirectURI())
	if err != nil {
		return nil, err
	}
	c, err := t.exchangeCode(ctx, d, &request{login: login, reg: reg, want: *w})
	if unknownClient(err) {
		return nil, errors.Join(err, t.unregister(ctx, reg))
	}
	return c, err
}

// exchangeCode has the person agree and exchanges the code.
func (t *Transport) exchangeCode(ctx context.Context, d *Discovery, q *request) (*credential, error) {
	code, verifier, err := t.askPerson(ctx, d, q)
	if err != nil {
		return nil, err
	}
	key, err := t.loginKey()
	if err != nil {
		return nil, err
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {verifier}, "redirect_uri": {q.login.RedirectURI()}, "resource": {d.Resource}}
	return t.issue(ctx, d, &issuance{reg: q.reg, form: form, key: key, scopes: q.scopes})
}

// A request is one authorization request.
type request struct {
	want
	login Login
	reg   *Registration
}

// askPerson sends the person to the authorization server and returns the code and what proves that this client asked for it.
func (t *Transport) askPerson(ctx context.Context, d *Discovery, q *request) (code, verifier string, err error) {
	state, verifier := newID(), oauth2.GenerateVerifier()
	conf := oauth2.Config{ClientID: q.reg.ClientID, RedirectURL: q.login.RedirectURI(), Scopes: q.scopes, Endpoint: oauth2.Endpoint{AuthURL: d.Metadata.AuthorizationEndpoint}}
	extra := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", d.Resource)}
	if slices.Contains(q.scopes, "offline_access") {
		extra = append(extra, oauth2.SetAuthURLParam("prompt", "consent"))
	}
	t.personAsked()
	answer, err := q.login.Authorize(ctx, &LoginRequest{
		Server: t.resourceURL(), Issuer: d.Metadata.Issuer, Scopes: slices.Clone(q.scopes), Had: slices.Clone(q.had), State: state, URL: conf.AuthCodeURL(state, extra...),
		RedirectURI: q.login.RedirectURI(),
	})
	if err != nil {
		return "", "", fmt.Errorf("mcpauth: logging in at %s: %w", d.Metadata.Issuer, err)
	}
	code, err = checkCallback(answer, state, d.Metadata)
	return code, verifier, err
}

// checkCallback takes the code out of a callback that answers this request and comes from this authorization server (RFC 9207).
func checkCallback(answer url.Values, state string, m *Metadata) (string, error) {
	for _, name := range []string{"state", "code", "iss", "error"} {
		if len(answer[name]) > 1 {
			return "", fmt.Errorf("mcpauth: the callback has %s more than once; it is not used", name)
		}
	}
	if subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(state)) != 1 {
		return "", errors.New("mcpauth: the callback does not answer this login (its state is another one); its code is not used")
	}
	if iss, ok := answer["iss"]; ok && iss[0] != m.Issuer {
		return "", mixUp(m.Issuer, iss[0])
	} else if !ok && m.IssInResponses {
		return "", mixUp(m.Issuer, "")
	}
	if code := answer.Get("error"); code != "" {
		e := &OAuthError{Endpoint: "authorization endpoint", Code: code, Description: answer.Get("error_description")}
		if code == "access_denied" {
			return "", fmt.Errorf("%w: %w", ErrLoginDeclined, e)
		}
		return "", e
	}
	if answer.Get("code") == "" {
		return "", errors.New("mcpauth: the callback has neither a code nor an error")
	}
	return answer.Get("code"), nil
}

// An issuance is a request for a first token.
type issuance struct {
	reg    *Registration
	form   url.Values
	key    *dpopKey
	scopes []string
}

// issue asks for a first token.
func (t *Transport) issue(ctx context.Context, d *Discovery, i *issuance) (*credential, error) {
	r, err := t.token(ctx, &tokenCall{endpoint: d.Metadata.TokenEndpoint, issuer: d.Metadata.Issuer, reg: i.reg, form: i.form, key: i.key})
	if err != nil {
		return nil, err
	}
	c := &credential{ID: newID(), Issuer: d.Metadata.Issuer, Resource: d.Resource, TokenEndpoint: d.Metadata.TokenEndpoint, Requested: i.scopes, fresh: true}
	if i.reg != nil {
		c.ClientID = i.reg.ClientID
		if i.reg.dynamic || i.reg.ClientSecret == "" && i.reg.PrivateKey == nil {
			c.Client = i.reg
		}
	}
	if i.key != nil {
		c.Key = i.key.pkcs8
	}
	c.take(r, t.now())
	if t := strings.ToLower(r.TokenType); t != "bearer" && t != "dpop" && t != "" || c.DPoP && i.key == nil {
		return nil, fmt.Errorf("mcpauth: the authorization server issued a token of type %q, which this client cannot use", clip(r.TokenType))
	}
	return c, nil
}

// wanted chooses the scopes: those of the challenge, or else all of the resource metadata, or none; with those that were had before.
func (t *Transport) wanted(d *Discovery, ch *Challenge, before *credential) []string {
	var scopes []string
	switch {
	case ch != nil && ch.Scopes != nil:
		scopes = ch.Scopes
	case t.opts.Scopes != nil:
		scopes = t.opts.Scopes
	default:
		scopes = slices.DeleteFunc(slices.Clone(d.Scopes), func(s string) bool { return s == "offline_access" })
	}
	if before != nil && before.Issuer == d.Metadata.Issuer && before.Resource == d.Resource {
		scopes = scopeSet(scopes, before.scopes())
	}
	if t.opts.Grant == nil && !t.opts.NoOfflineAccess && slices.Contains(d.Metadata.Scopes, "offline_access") {
		scopes = scopeSet(scopes, []string{"offline_access"})
	}
	return scopeSet(scopes)
}
