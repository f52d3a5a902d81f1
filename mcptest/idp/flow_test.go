package idp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/seed38e7925c/parley/mcptest"
	"github.com/seed38e7925c/parley/mcptest/idp"
	"golang.org/x/oauth2"
)

const (
	callback = "http://127.0.0.1:7777/callback"
	resource = "http://127.0.0.1:8888/mcp"
)

func TestMain(m *testing.M) { mcptest.Main(m) }

var auto = idp.Auto{SignIn: "alice", Consent: idp.Approve}

// A party is an application that uses a provider, written with independent libraries.
type party struct {
	t    *testing.T
	p    *idp.Server
	conf *oauth2.Config
	oidc *oidc.Provider
	http *http.Client // does not follow redirects
	jar  *cookiejar.Jar
}

func newParty(t *testing.T, o *idp.Options) *party {
	t.Helper()
	opts := idp.Options{}
	if o != nil {
		opts = *o
	}
	opts.Clients = append(opts.Clients, idp.Client{ID: "app", Name: "The App", Secret: "app-secret", RedirectURIs: []string{callback}, LogoutURIs: []string{"http://127.0.0.1:7777/bye"}})
	p := idp.Start(t, &opts)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c := &http.Client{Transport: transport, Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a := &party{t: t, p: p, http: c, jar: jar}
	a.oidc, err = oidc.NewProvider(a.ctx(), p.Issuer())
	if err != nil {
		t.Fatal(err)
	}
	a.conf = &oauth2.Config{ClientID: "app", ClientSecret: "app-secret", Endpoint: a.oidc.Endpoint(), RedirectURL: callback, Scopes: []string{"openid", "profile", "email"}}
	return a
}

func (a *party) ctx() context.Context {
	return oidc.ClientContext(context.WithValue(a.t.Context(), oauth2.HTTPClient, a.http), a.http)
}

// visit gets a URL as the browser.
func (a *party) visit(u string) (*http.Response, string) {
	a.t.Helper()
	resp, err := a.http.Get(u)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return resp, string(body)
}

// authorize begins a login and returns the query of the callback.
func (a *party) authorize(verifier string, more ...oauth2.AuthCodeOption) url.Values {
	a.t.Helper()
	resp, body := a.visit(a.conf.AuthCodeURL("the-state", append(more, oauth2.S256ChallengeOption(verifier))...))
	to := resp.Header.Get("Location")
	if resp.StatusCode != http.StatusFound || !strings.HasPrefix(to, callback+"?") {
		a.t.Fatalf("status %d, location %q\n%s", resp.StatusCode, to, body)
	}
	u, err := url.Parse(to)
	if err != nil {
		a.t.Fatal(err)
	}
	return u.Query()
}

func (a *party) login(more ...oauth2.AuthCodeOption) *oauth2.Token {
	a.t.Helper()
	verifier := oauth2.GenerateVerifier()
	q := a.authorize(verifier, more...)
	if q.Get("state") != "the-state" || q.Get("iss") != a.p.Issuer() {
		a.t.Fatalf("callback %v", q)
	}
	tok, err := a.conf.Exchange(a.ctx(), q.Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		a.t.Fatal(err)
	}
	return tok
}

func asResource(uri string) oauth2.AuthCodeOption { return oauth2.SetAuthURLParam("resource", uri) }

// An independent relying party finds the provider, signs a person in, and believes the ID token and the user info.
func TestOpenIDConnect(t *testing.T) {
	for _, alg := range []string{"ES256", "RS256", "EdDSA"} {
		for _, path := range []string{"", "/tenant1"} {
			t.Run(alg+path, func(t *testing.T) {
				a := newParty(t, &idp.Options{Auto: auto, Algorithm: alg, Path: path})
				tok := a.login(oidc.Nonce("n-1"))
				raw, _ := tok.Extra("id_token").(string)
				id, err := a.oidc.Verifier(&oidc.Config{ClientID: "app"}).Verify(a.ctx(), raw)
				if err != nil {
					t.Fatal(err)
				}
				if id.Subject != "alice" || id.Nonce != "n-1" || id.Issuer != a.p.Issuer() {
					t.Errorf("ID token %+v", id)
				}
				if err := id.VerifyAccessToken(tok.AccessToken); err != nil {
					t.Error(err)
				}
				info, err := a.oidc.UserInfo(a.ctx(), oauth2.StaticTokenSource(tok))
				if err != nil {
					t.Fatal(err)
				}
				if info.Subject != "alice" || info.Email != "alice@example.com" || !info.EmailVerified {
					t.Errorf("user info %+v", info)
				}
				if _, err := a.oidc.Verifier(&oidc.Config{ClientID: "other"}).Verify(a.ctx(), raw); err == nil {
					t.Error("the ID token is for everybody")
				}
				a.p.DropKeys()
				fresh := a.oidc.VerifierContext(a.ctx(), &oidc.Config{ClientID: "app"})
				if _, err := fresh.Verify(a.ctx(), a.login().Extra("id_token").(string)); err != nil {
					t.Errorf("after the rotation: %v", err)
				}
			})
		}
	}
}

// A fault may befall renewals alone; a refusal is what the test says, and logging in again works.
func TestRefusedRenewals(t *testing.T) {
	a := newParty(t, &idp.Options{Auto: auto})
	a.p.Break(idp.Token, idp.ForGrant(idp.GrantRefresh, idp.Times(1, idp.Fail(400, "invalid_grant"))))
	tok := a.login()
	tok.Expiry = time.Now().Add(-time.Hour)
	if _, err := a.conf.TokenSource(a.ctx(), tok).Token(); err == nil || !strings.Contains(err.Error(), "a test wanted this") {
		t.Errorf("renewal: %v", err)
	}
	a.login()
	if _, err := a.conf.TokenSource(a.ctx(), tok).Token(); err != nil {
		t.Errorf("the second renewal: %v", err)
	}
}

// Tokens are renewed, and each renewal replaces the refresh token.
func TestRefresh(t *testing.T) {
	a := newParty(t, &idp.Options{Auto: auto})
	tok := a.login(asResource(resource))
	if until := time.Until(tok.Expiry); until < 4*time.Minute || until > 6*time.Minute {
		t.Errorf("expires in %v", until)
	}
	tok.Expiry = time.Now().Add(-time.Hour)
	again, err := a.conf.TokenSource(a.ctx(), tok).Token()
	if err != nil {
		t.Fatal(err)
	}
	if again.RefreshToken == tok.RefreshToken || again.AccessToken == tok.AccessToken {
		t.Error("the same tokens again")
	}
	if n := a.p.Count(idp.GrantRefresh); n != 1 {
		t.Errorf("%d refreshes", n)
	}
	// The first one was stolen: nobody has access any more.
	if _, err := a.conf.TokenSource(a.ctx(), tok).Token(); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
		t.Errorf("reuse: %v", err)
	}
	again.Expiry = tok.Expiry
	if _, err := a.conf.TokenSource(a.ctx(), again).Token(); err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("after the reuse: %v", err)
	}
}

// A client that lost the answer to a renewal may try again within the grace.
func TestCaseA03SecondTry(t *testing.T) {
	now := time.Now()
	a := newParty(t, &idp.Options{Auto: auto, RefreshGrace: time.Minute, Now: func() time.Time { return now }})
	tok := a.login()
	tok.Expiry = time.Now().Add(-time.Hour)
	a.p.Break(idp.Token, idp.Times(1, idp.Lost()))
	if _, err := a.conf.TokenSource(a.ctx(), tok).Token(); err == nil {
		t.Fatal("the answer was not lost")
	}
	if _, err := a.conf.TokenSource(a.ctx(), tok).Token(); err != nil {
		t.Errorf("the second try: %v", err)
	}
	now = now.Add(5 * time.Minute)
	if _, err := a.conf.TokenSource(a.ctx(), tok).Token(); err == nil {
		t.Error("the token serves for ever")
	}
}

// Many people at once do not disturb each other, while keys rotate.
func TestConcurrentLogins(t *testing.T) {
	p := idp.Start(t, &idp.Options{Auto: idp.Auto{Consent: idp.Approve}, Clients: []idp.Client{app}})
	var all sync.WaitGroup
	for i := range 20 {
		subject := []string{"alice", "bob"}[i%2]
		b := newBrowser(t)
		if err := p.SignIn(b.jar, subject); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			q := b.open(asking(p, "app", callback, "scope", "openid", "resource", resource))
			_, d := post(t, p.Issuer()+idp.Token, url.Values{"grant_type": {idp.GrantCode}, "code": q["code"], "redirect_uri": {callback}, "client_id": {"app"}, "code_verifier": {verifier}})
			if got := claims(t, d["access_token"])["sub"]; got != subject {
				t.Errorf("%s became %v", subject, got)
			}
			p.Rotate()
			p.Events()
		})
	}
	all.Wait()
	if set, err := p.Keys(t.Context()); err != nil || len(set.Keys) != 3 || p.Count(idp.GrantCode) != 20 {
		t.Errorf("%d keys, events %v", len(set.Keys), p.Events())
	}
}
