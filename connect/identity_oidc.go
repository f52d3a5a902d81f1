package connect

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"
	jsonv2 "github.com/go-json-experiment/json"
	"golang.org/x/oauth2"

	"github.com/seed38e7925c/parley/connect/internal/pages"
	"github.com/seed38e7925c/parley/mcp"
)

// OIDCOptions say how the people at a browser are recognised as the callers of the server.
type OIDCOptions struct {
	// Resource is the server as a protected resource, such as a [mcpauth.Resource]: the browser's sign-in asks for an access token for
	// it, and the token says who the person is, read by the very verifier that reads the callers' tokens. Recommended.
	//
	// [mcpauth.Resource]: https://pkg.go.dev/github.com/seed38e7925c/parley/mcpauth#Resource
	Resource ProtectedResource
	// Subject makes of an ID token's claims, a JSON object, the subject that the callers' tokens have for the same person, for servers
	// whose verifier takes it from claims that never change and are not reassigned, such as tid and oid together. Never use an e-mail
	// address or a name.
	Subject func(claims json.RawMessage) (string, error)

	// Scopes are asked for beside "openid". The default is "profile", for a name to show.
	Scopes []string
	// MaxAge is how long ago the person may have proved to the issuer who they are; they are asked to do so again otherwise. The default
	// is 0: as long as the session lasts.
	MaxAge time.Duration
	// SessionLifetime is how long a browser stays signed in at the desk. The default is 8 hours.
	SessionLifetime time.Duration
	// Client sends the requests to the issuer. The default is one with a limit of 30 seconds, that uses no proxy. Redirects are never
	// followed.
	Client *http.Client
}

// A ProtectedResource is a server that reads access tokens for itself.
type ProtectedResource interface {
	// URL is the resource as tokens name it.
	URL() string
	// Verify returns who stands behind an access token for the resource.
	Verify(ctx context.Context, token string) (*mcp.Principal, error)
}

// OIDC is the identity of people who sign in at an OpenID provider: the same issuer whose tokens the callers of the server have. The
// desk is a client of it (confidential, or public with an empty secret), with the redirect URI BaseURL + "signin/callback".
//
// A person at a browser is the caller of a call when tenant, issuer and subject are the same. An ID token's sub is comparable only where
// the issuer gives all clients the same one: an issuer that can have pairwise subjects needs OIDCOptions.Resource or Subject, and opening
// the desk fails without.
func OIDC(issuer, clientID, clientSecret string, o *OIDCOptions) Identity {
	c := oidcConfig{issuer: issuer, clientID: clientID, clientSecret: clientSecret}
	if o != nil {
		c.OIDCOptions = *o
	}
	return c
}

type oidcConfig struct {
	OIDCOptions
	issuer, clientID, clientSecret string
}

const (
	defaultSessionLifetime = 8 * time.Hour
	oidcTimeout            = 30 * time.Second
	signInLifetime         = 10 * time.Minute
)

// oidcMetadata is what of the issuer's metadata go-oidc does not read.
type oidcMetadata struct {
	JWKS         string   `json:"jwks_uri"`
	SubjectTypes []string `json:"subject_types_supported"`
	SendsIssuer  bool     `json:"authorization_response_iss_parameter_supported"`
	Challenges   []string `json:"code_challenge_methods_supported"`
}

func (c oidcConfig) open(ctx context.Context, d *Desk) (identity, error) {
	if c.issuer == "" || c.clientID == "" {
		return nil, errors.New("OIDC needs an issuer and a client id")
	}
	if c.Resource != nil && c.Subject != nil {
		return nil, errors.New("OIDCOptions.Resource and OIDCOptions.Subject are two ways to the same: choose one")
	}
	if err := overTLS("issuer", c.issuer); err != nil {
		return nil, err
	}
	if c.MaxAge < 0 || c.SessionLifetime < 0 {
		return nil, errors.New("OIDCOptions.MaxAge and SessionLifetime must not be negative")
	}
	if c.SessionLifetime == 0 {
		c.SessionLifetime = defaultSessionLifetime
	}
	if c.Scopes == nil {
		c.Scopes = []string{"profile"}
	}
	id := &oidcIdentity{oidcConfig: c, d: d, client: issuerClient(c.Client)}
	ctx, cancel := context.WithTimeout(ctx, oidcTimeout)
	defer cancel()
	return id, id.discover(ctx)
}

// issuerClient is the client for requests to the issuer: it follows no redirect, which could take a code or a secret elsewhere.
func issuerClient(base *http.Client) *http.Client {
	if base == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one unless a program replaces it
		transport.Proxy = nil
		base = &http.Client{Transport: transport, Timeout: oidcTimeout}
	}
	client := *base
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

type oidcIdentity struct {
	oidcConfig
	d        *Desk
	client   *http.Client
	oauth    oauth2.Config
	verifier *oidc.IDTokenVerifier
	host     string // of the sign-in page, to show
	sendsIss bool
}

// context brings the client to the libraries, which look for it there.
func (o *oidcIdentity) context(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, o.client)
}

// discover reads the issuer's metadata and refuses what cannot work.
func (o *oidcIdentity) discover(ctx context.Context) error {
	provider, err := oidc.NewProvider(o.context(ctx), o.issuer)
	if err != nil {
		return fmt.Errorf("the metadata of the issuer: %w", err)
	}
	var m oidcMetadata
	if err := provider.Claims(&m); err != nil {
		return fmt.Errorf("the metadata of issuer %s: %w", o.issuer, err)
	}
	if o.Resource == nil && o.Subject == nil && !onlyPublic(m.SubjectTypes) {
		return fmt.Errorf("issuer %s can have pairwise subjects (subject_types_supported: %q), so that the same person has another sub "+
			"at this desk than at the client that calls; set OIDCOptions.Resource, or OIDCOptions.Subject to a claim that never changes",
			o.issuer, m.SubjectTypes)
	}
	if len(m.Challenges) > 0 && !slices.Contains(m.Challenges, "S256") {
		return fmt.Errorf("issuer %s does not support PKCE with S256 (code_challenge_methods_supported: %q)", o.issuer, m.Challenges)
	}
	o.sendsIss = m.SendsIssuer
	o.oauth = oauth2.Config{
		ClientID: o.clientID, ClientSecret: o.clientSecret, Endpoint: provider.Endpoint(),
		RedirectURL: o.d.url(o.d.base.Path + signInCallback), Scopes: append([]string{oidc.ScopeOpenID}, o.Scopes...),
	}
	err = errors.Join(overTLS("authorization endpoint", o.oauth.Endpoint.AuthURL), overTLS("token endpoint", o.oauth.Endpoint.TokenURL), overTLS("jwks_uri", m.JWKS))
	if err != nil {
		return fmt.Errorf("the metadata of issuer %s: %w", o.issuer, err)
	}
	if at, err := url.Parse(o.oauth.Endpoint.AuthURL); err == nil { // it is one
		o.host = at.Host
	}
	o.verifier = provider.Verifier(&oidc.Config{ClientID: o.clientID})
	return nil
}

// overTLS refuses an address to which things would travel in the clear.
func overTLS(what, raw string) error {
	u, err := url.Parse(raw)
	if err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname())) {
		return nil
	}
	return fmt.Errorf("the %s %q is no https address", what, clip(raw))
}

func onlyPublic(types []string) bool { return len(types) == 1 && types[0] == "public" }

func (o *oidcIdentity) caller(call *mcp.Call) (Person, string, error) { return o.d.verified(call) }
func (*oidcIdentity) prepare(*interaction) error                      { return nil }
func (*oidcIdentity) message(_ *interaction, text string) string      { return text }
func (*oidcIdentity) hosted() bool                                    { return true }

func (o *oidcIdentity) who(r *http.Request, _ *interaction) (*visitor, error) {
	s, err := o.d.sessionOf(r)
	if err != nil || s == nil {
		return nil, err
	}
	if o.MaxAge > 0 && time.Since(s.data.SignedIn) > o.MaxAge {
		return nil, nil
	}
	return &visitor{Person: s.data.Person, name: s.data.Name, session: s.id}, nil
}

func (o *oidcIdentity) signOut(w http.ResponseWriter, r *http.Request) error {
	return o.d.endSession(w, r)
}

// Paths of the identity below the desk.
const (
	signInPath     = "signin"
	signInCallback = "signin/callback"
)

func (o *oidcIdentity) routes(mux *http.ServeMux, prefix string) {
	mux.HandleFunc("POST "+prefix+signInPath, o.begin)
	mux.HandleFunc("GET "+prefix+signInCallback, o.finish)
}

// signIn shows where the person would sign in. Going there takes a click: whoever follows links for somebody starts nothing.
func (o *oidcIdentity) signIn(w http.ResponseWriter, r *http.Request, in *interaction, back string) {
	o.d.render(w, r, &reply{
		status: http.StatusUnauthorized, targets: []string{origin(o.oauth.Endpoint.AuthURL)},
		page: &pages.SignIn{Host: o.host, Action: o.d.base.Path + signInPath, Back: back, Own: in == nil},
	})
}

// origin is the origin of a URL that was checked before.
func origin(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "'none'"
	}
	return u.Scheme + "://" + u.Host
}

// rowSignIn is the kind of the rows of sign-ins that are done, by the digest of their state parameter: each counts once.
const rowSignIn = "signin"

// A signingIn is a sign-in that is under way. It is in a cookie of the browser that began it, sealed and bound to the state parameter: the
// store is not there for people of whom nothing is known yet.
type signingIn struct {
	Verifier string    `json:"verifier"` // PKCE
	Nonce    string    `json:"nonce"`
	Back     string    `json:"back"`
	Began    time.Time `json:"began"`
	id       string    // digest of the state
}

// begin sends a browser to the issuer.
func (o *oidcIdentity) begin(w http.ResponseWriter, r *http.Request) {
	if err := readForm(w, r); err != nil {
		o.d.refused(w, r, nil)
		return
	}
	state, id := randomCookie()
	nonce, _ := randomCookie()
	in := &signingIn{Verifier: oauth2.GenerateVerifier(), Nonce: nonce, Back: o.within(r.PostFormValue("back")), Began: time.Now(), id: id}
	cookie, err := o.sealed(in)
	if err != nil {
		o.d.failed(w, r, nil, err)
		return
	}
	o.d.setCookie(w, o.d.cookieName("signin"), cookie, in.Began.Add(signInLifetime))
	http.Redirect(w, r, o.oauth.AuthCodeURL(state, o.parameters(in)...), http.StatusSeeOther)
}

// maxBack bounds the path that a sign-in ends at: it is in a cookie.
const maxBack = 1000

// within makes sure that a sign-in ends on a page of the desk. It goes to the first page otherwise.
func (o *oidcIdentity) within(back string) string {
	u, err := url.Parse(back)
	if err != nil || len(back) > maxBack || !utf8.ValidString(back) || u.Scheme != "" || u.Host != "" || u.Opaque != "" || u.RawQuery != "" || !strings.HasPrefix(u.Path, o.d.base.Path) ||
		strings.Contains(u.Path, "//") || strings.ContainsAny(back, "\\%") || strings.Contains(u.Path, "/.") {
		return o.d.base.Path
	}
	return u.Path
}

// parameters are those of the authorization request beside the usual.
func (o *oidcIdentity) parameters(in *signingIn) []oauth2.AuthCodeOption {
	list := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(in.Verifier), oidc.Nonce(in.Nonce)}
	if o.Resource != nil {
		list = append(list, oauth2.SetAuthURLParam("resource", o.Resource.URL()))
	}
	if o.MaxAge > 0 {
		list = append(list, oauth2.SetAuthURLParam("max_age", fmt.Sprint(int(o.MaxAge.Seconds()))))
	}
	return list
}

// sealed is a sign-in as the cookie holds it.
func (o *oidcIdentity) sealed(in *signingIn) (string, error) {
	row := &Row{Kind: rowSignIn, ID: in.id}
	err := o.d.keys.sealJSON(row, in)
	return encodeText(row.Data), err
}

// errForeign means that a callback does not belong to a sign-in of this browser.
var errForeign = errors.New("connect: the callback belongs to no sign-in that this browser began")

// begun returns the sign-in that a callback belongs to.
func (o *oidcIdentity) begun(r *http.Request) (*signingIn, error) {
	cookie, err := r.Cookie(o.d.cookieName("signin"))
	if err != nil {
		return nil, errForeign
	}
	data, err := decodeText(cookie.Value)
	if err != nil || len(data) == 0 {
		return nil, errForeign
	}
	in := &signingIn{id: cookieID(r.URL.Query().Get("state"))}
	plain, err := o.d.keys.open(&Row{Kind: rowSignIn, ID: in.id, Data: data})
	if err != nil {
		return nil, errForeign // of another state, or nobody's
	}
	if err := jsonv2.Unmarshal(plain, in); err != nil {
		return nil, fmt.Errorf("connect: a sign-in cannot be read: %w", err)
	}
	if time.Since(in.Began) > signInLifetime {
		return nil, errForeign
	}
	return in, nil
}

// count makes a sign-in count, once.
func (o *oidcIdentity) count(ctx context.Context, in *signingIn) error {
	existing, err := o.d.store.Insert(ctx, &Row{Kind: rowSignIn, ID: in.id, Expires: in.Began.Add(signInLifetime)})
	if err == nil && existing != nil {
		return errForeign // somebody was faster
	}
	return err
}

// finish takes the issuer's answer.
func (o *oidcIdentity) finish(w http.ResponseWriter, r *http.Request) {
	in, err := o.begun(r)
	if errors.Is(err, errForeign) {
		o.d.refused(w, r, nil)
		return
	}
	if err != nil {
		o.d.failed(w, r, nil, err)
		return
	}
	o.d.setCookie(w, o.d.cookieName("signin"), "", time.Time{})
	session, err := o.recognise(r, in)
	if err != nil {
		o.d.failed(w, r, nil, err)
		return
	}
	if err := o.count(r.Context(), in); errors.Is(err, errForeign) {
		o.d.refused(w, r, nil)
		return
	} else if err != nil {
		o.d.failed(w, r, nil, err)
		return
	}
	if err := o.d.startSession(w, r, session, o.SessionLifetime); err != nil {
		o.d.failed(w, r, nil, err)
		return
	}
	http.Redirect(w, r, in.Back, http.StatusSeeOther)
}

// recognise finds out who has signed in.
func (o *oidcIdentity) recognise(r *http.Request, in *signingIn) (*sessionData, error) {
	if err := o.checkAnswer(r.URL.Query()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(o.context(r.Context()), oidcTimeout)
	defer cancel()
	options := []oauth2.AuthCodeOption{oauth2.VerifierOption(in.Verifier)}
	if o.Resource != nil {
		options = append(options, oauth2.SetAuthURLParam("resource", o.Resource.URL()))
	}
	token, err := o.oauth.Exchange(ctx, r.URL.Query().Get("code"), options...)
	if err != nil {
		return nil, fmt.Errorf("connect: redeeming the code at %s: %w", o.issuer, withoutBody(err))
	}
	claims, err := o.idToken(ctx, token, in)
	if err != nil {
		return nil, err
	}
	p, err := o.principal(ctx, token, claims)
	if err != nil {
		return nil, err
	}
	return &sessionData{
		Person: Person{Tenant: o.d.tenant(p), Issuer: p.Issuer, Subject: p.Subject}, Name: claims.shown(), SignedIn: claims.signedIn(in),
	}, nil
}

// withoutBody keeps what the issuer's error answer says out of the log but for its code: bodies may have tokens in them.
func withoutBody(err error) error {
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) && answer.Response != nil {
		return fmt.Errorf("the token endpoint answered with status %d, error %q", answer.Response.StatusCode, answer.ErrorCode)
	}
	return err
}

// checkAnswer checks the parameters of the callback. An answer of another issuer must not be redeemed at this one (RFC 9207).
func (o *oidcIdentity) checkAnswer(q url.Values) error {
	if iss, named := q["iss"]; named && (len(iss) != 1 || iss[0] != o.issuer) || !named && o.sendsIss {
		return fmt.Errorf("connect: the answer to a sign-in is of issuer %q, expected %q", clip(strings.Join(iss, " ")), o.issuer)
	}
	if code := q.Get("error"); code != "" {
		return fmt.Errorf("connect: issuer %s refused the sign-in: %.100q", o.issuer, code)
	}
	if len(q["code"]) != 1 {
		return fmt.Errorf("connect: the answer of issuer %s has %d codes", o.issuer, len(q["code"]))
	}
	return nil
}

// idClaims is what is read of an ID token.
type idClaims struct {
	Subject  string `json:"sub"`
	Name     string `json:"name"`
	Username string `json:"preferred_username"`
	AuthTime int64  `json:"auth_time"`
	all      json.RawMessage
}

// shown is what the person is called on pages. It identifies nobody.
func (c *idClaims) shown() string {
	if c.Name != "" {
		return c.Name
	}
	return c.Username
}

func (c *idClaims) signedIn(in *signingIn) time.Time {
	if c.AuthTime > 0 {
		return time.Unix(c.AuthTime, 0)
	}
	return in.Began
}

// idToken verifies the ID token.
func (o *oidcIdentity) idToken(ctx context.Context, token *oauth2.Token, in *signingIn) (*idClaims, error) {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return nil, fmt.Errorf("connect: issuer %s sent no ID token", o.issuer)
	}
	verified, err := o.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("connect: the ID token: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(in.Nonce)) != 1 {
		return nil, errors.New("connect: the ID token was not made for this sign-in: it has another nonce")
	}
	var c idClaims
	if err := errors.Join(verified.Claims(&c), verified.Claims(&c.all)); err != nil {
		return nil, fmt.Errorf("connect: the claims of the ID token: %w", err)
	}
	if o.MaxAge > 0 && (c.AuthTime == 0 || time.Since(time.Unix(c.AuthTime, 0)) > o.MaxAge+oidcTimeout) {
		return nil, fmt.Errorf("connect: issuer %s was asked for a sign-in of the last %v, and the ID token does not say that it was one", o.issuer, o.MaxAge)
	}
	return &c, nil
}

// principal makes of the tokens who it is that has signed in, as the callers of the server are named.
func (o *oidcIdentity) principal(ctx context.Context, token *oauth2.Token, claims *idClaims) (*mcp.Principal, error) {
	if o.Resource != nil {
		p, err := o.Resource.Verify(ctx, token.AccessToken)
		if err != nil {
			return nil, fmt.Errorf("connect: the access token of a sign-in, for %s: %w", o.Resource.URL(), err)
		}
		if p == nil || p.Subject == "" || !p.Person {
			return nil, fmt.Errorf("connect: the access token of a sign-in, for %s, is no person's", o.Resource.URL())
		}
		return p, nil
	}
	subject := claims.Subject
	if o.Subject != nil {
		var err error
		if subject, err = o.Subject(claims.all); err != nil {
			return nil, fmt.Errorf("connect: OIDCOptions.Subject: %w", err)
		}
	}
	if subject == "" {
		return nil, errors.New("connect: the ID token names no subject")
	}
	return &mcp.Principal{Issuer: o.issuer, Subject: subject, ClientID: o.clientID, Person: true}, nil
}
