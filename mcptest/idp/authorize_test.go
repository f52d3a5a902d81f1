package idp_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcptest/idp"
)

var app = idp.Client{ID: "app", Name: "The App", RedirectURIs: []string{callback, "http://localhost/cb", "https://app.example/cb?x=1", "http://localhost:3000/fixed", "com.example.app:/cb"}}

// What the client did wrong is told to the client, with state and iss; nobody is sent to a place that was not registered.
func TestAuthorizationRequests(t *testing.T) {
	p := idp.Start(t, &idp.Options{Auto: auto, Clients: []idp.Client{app, {ID: "service", Secret: "s", RedirectURIs: []string{callback}, Grants: []string{idp.GrantClientCredentials}}},
		Resources: []idp.Resource{{URI: resource, Scopes: []string{"tools"}}}})
	for name, c := range map[string]struct {
		changes []string
		want    string // the error; "page": shown instead; empty: a code
	}{
		"right":                  {nil, ""},
		"with resource":          {[]string{"resource", resource, "scope", "tools openid"}, ""},
		"resource unknown":       {[]string{"resource", resource + "/"}, "invalid_target"},
		"resource with fragment": {[]string{"resource", resource + "#x"}, "invalid_target"},
		"scope unknown":          {[]string{"scope", "admin"}, "invalid_scope"},
		"no challenge":           {[]string{"code_challenge", ""}, "invalid_request"},
		"plain":                  {[]string{"code_challenge_method", "plain"}, "invalid_request"},
		"method left out":        {[]string{"code_challenge_method", ""}, "invalid_request"},
		"short challenge":        {[]string{"code_challenge", "abc"}, "invalid_request"},
		"implicit":               {[]string{"response_type", "token"}, "unsupported_response_type"},
		"hybrid":                 {[]string{"response_type", "code id_token"}, "unsupported_response_type"},
		"fragment":               {[]string{"response_mode", "fragment"}, "invalid_request"},
		"request object":         {[]string{"request", "e30.e30."}, "request_not_supported"},
		"request_uri":            {[]string{"request_uri", "https://evil.test/"}, "request_uri_not_supported"},
		"bad max_age":            {[]string{"max_age", "-1"}, "invalid_request"},
		"none and login":         {[]string{"prompt", "none login"}, "invalid_request"},
		"nobody signed in":       {[]string{"prompt", "none"}, "login_required"},
		"bad dpop_jkt":           {[]string{"dpop_jkt", "x"}, "invalid_request"},
		"grant not registered":   {[]string{"client_id", "service"}, "unauthorized_client"},
		"unknown client":         {[]string{"client_id", "ghost"}, "page"},
		"no client":              {[]string{"client_id", ""}, "page"},
		"no redirect":            {[]string{"redirect_uri", ""}, "page"},
		"evil redirect":          {[]string{"redirect_uri", "https://evil.test/cb"}, "page"},
		"javascript":             {[]string{"redirect_uri", "javascript:alert(1)"}, "page"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBrowser(t)
			q := b.open(asking(p, "app", callback, c.changes...))
			if c.want == "page" {
				if q != nil || b.resp.StatusCode != 400 || b.resp.Header.Get("Location") != "" {
					t.Errorf("status %d, callback %v", b.resp.StatusCode, q)
				}
				return
			}
			if q.Get("error") != c.want || q.Get("state") != "st" || q.Get("iss") != p.Issuer() || (c.want == "") != (q.Get("code") != "") {
				t.Errorf("callback %v", q)
			}
		})
	}
	b := newBrowser(t)
	if q := b.open(asking(p, "app", callback) + "&state=twice"); q != nil || b.resp.StatusCode != 400 {
		t.Errorf("a parameter that came twice: %v", q)
	}
}

// Redirect URIs match as strings, but for the port of a loopback address.
func TestCaseA12LoopbackPorts(t *testing.T) {
	p := idp.Start(t, &idp.Options{Auto: auto, Clients: []idp.Client{app}})
	for uri, ok := range map[string]bool{
		callback:                                true,
		"http://127.0.0.1:53111/callback":       true,
		"http://127.0.0.1/callback":             true,
		"http://localhost:53111/cb":             true,
		"http://localhost/cb":                   true,
		"com.example.app:/cb":                   true,
		"https://app.example/cb?x=1":            true,
		"http://localhost:3000/fixed":           true,
		"http://localhost:3001/fixed":           false,
		"http://localhost:53111/callback":       false, // registered for 127.0.0.1
		"http://[::1]:53111/callback":           false,
		"http://127.0.0.1:53111/callback/":      false,
		"http://127.0.0.1:53111/callback?x":     false,
		"http://127.0.0.1:53111/callback#x":     false,
		"http://evil@127.0.0.1:53111/callback":  false,
		"https://127.0.0.1:53111/callback":      false,
		"http://localhost.evil.test:53111/cb":   false,
		"http://127.0.0.1.evil.test/callback":   false,
		"https://app.example:8443/cb?x=1":       false,
		"https://app.example/cb":                false,
		"https://app.example/cb?x=1&y":          false,
		"https://APP.example/cb?x=1":            false,
		"http://127.0.0.1:53111/%63allback":     false,
		"http://127.0.0.1:53111/x/../callback":  false,
		"http://127.0.0.1:53111\\@evil.test/cb": false,
	} {
		b := newBrowser(t)
		q := b.open(asking(p, "app", uri))
		if got := b.resp.Header.Get("Location") != ""; got != ok || (!ok && b.resp.StatusCode != 400) {
			t.Errorf("%s: taken %v (status %d), callback %v", uri, got, b.resp.StatusCode, q)
		}
		if ok && !strings.HasPrefix(b.resp.Header.Get("Location"), uri) {
			t.Errorf("%s: sent to %s", uri, b.resp.Header.Get("Location"))
		}
	}
}

// prompt and max_age decide whether the person signs in again; auth_time tells when they did.
func TestSigningInAgain(t *testing.T) {
	now := time.Now()
	web := idp.Client{ID: "web", Secret: "s", RedirectURIs: []string{callback}}
	p := idp.Start(t, &idp.Options{Auto: idp.Auto{Consent: idp.Approve}, Clients: []idp.Client{app, web}, Now: func() time.Time { return now }})
	b := newBrowser(t)
	if err := p.SignIn(b.jar, "bob"); err != nil {
		t.Fatal(err)
	}
	if err := p.SignIn(b.jar, "nobody"); err == nil {
		t.Error("nobody signed in")
	}
	began := now.Unix()
	at := func(more ...string) doc {
		t.Helper()
		q := b.open(asking(p, "web", callback, append([]string{"scope", "openid"}, more...)...))
		if q == nil {
			b.shows("Sign in")
			q = b.press("Continue as Alice", nil)
		}
		if q.Get("code") == "" {
			return doc{"error": q.Get("error")}
		}
		_, d := post(t, p.Issuer()+idp.Token, url.Values{"grant_type": {idp.GrantCode}, "code": {q.Get("code")}, "redirect_uri": {callback}, "client_id": {"web"}, "client_secret": {"s"}, "code_verifier": {verifier}})
		return claims(t, d["id_token"])
	}
	now = now.Add(time.Minute)
	if c := at(); c["sub"] != "bob" || c["auth_time"] != float64(began) || c["acr"] != "0" {
		t.Errorf("the session: %v", c)
	}
	if c := at("max_age", "3600", "prompt", "none"); c["sub"] != "bob" {
		t.Errorf("young enough: %v", c)
	}
	if c := at("max_age", "30", "prompt", "none"); c["error"] != "login_required" {
		t.Errorf("too old, in silence: %v", c)
	}
	if c := at("max_age", "30"); c["sub"] != "alice" || c["auth_time"] != float64(now.Unix()) {
		t.Errorf("too old: %v", c)
	}
	now = now.Add(time.Minute)
	if c := at("prompt", "login"); c["auth_time"] != float64(now.Unix()) {
		t.Errorf("prompt login: %v", c)
	}
	if c := at("max_age", "0"); c["sub"] != "alice" {
		t.Errorf("max_age 0: %v", c)
	}
	p.SetAuto(idp.Auto{})
	if c := at("prompt", "none"); c["sub"] != "alice" {
		t.Errorf("agreed before: %v", c)
	}
	if c := at("prompt", "none", "scope", "openid email"); c["error"] != "consent_required" {
		t.Errorf("never agreed: %v", c)
	}
	p.Revoke("alice")
	if c := at("prompt", "none"); c["error"] != "login_required" {
		t.Errorf("after the revocation: %v", c)
	}
}
