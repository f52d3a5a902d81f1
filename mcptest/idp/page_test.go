package idp_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// A person signs in, reads who wants what, and agrees or declines.
func TestPages(t *testing.T) {
	p := idp.Start(t, &idp.Options{Clients: []idp.Client{app}, Resources: []idp.Resource{{URI: resource, Name: "Trains", Scopes: []string{"tools"}}},
		Users: []idp.User{{Subject: "alice", Name: "Alice"}, {Subject: "carol", Name: "Carol", Password: "s3cret"}}})
	b := newBrowser(t)
	b.open(asking(p, "app", callback, "resource", resource, "scope", "openid tools"))
	b.shows("Sign in", "The App", "Continue as Alice", "Password of Carol")
	b.press("Continue as Carol", url.Values{"password": {"wrong"}})
	b.shows("not the right password")
	b.press("Continue as Carol", url.Values{"password": {"s3cret"}})
	b.shows("Allow access?", "The App", "Carol", "127.0.0.1:7777", "a program on this computer", "Trains ("+resource+")", "tools", "know who you are")
	q := b.press("Decline", nil)
	if q.Get("error") != "access_denied" || q.Get("iss") != p.Issuer() || q.Get("state") != "st" {
		t.Errorf("declined: %v", q)
	}
	b.open(asking(p, "app", callback))
	b.shows("Allow access?")
	if q = b.press("Allow", nil); q.Get("code") == "" || q.Get("iss") != p.Issuer() {
		t.Errorf("allowed: %v", q)
	}
	// Any program on this computer could be it: the person is asked each time.
	if q = b.open(asking(p, "app", callback)); q != nil {
		t.Errorf("not asked: %v", q)
	}
	if q = b.open(asking(p, "app", callback, "prompt", "none")); q.Get("error") != "consent_required" {
		t.Errorf("in silence: %v", q)
	}
	b.open(asking(p, "app", "https://app.example/cb?x=1"))
	b.press("Allow", nil)
	if q = b.open(asking(p, "app", "https://app.example/cb?x=1")); q.Get("code") == "" {
		t.Errorf("asked again for what was allowed: %v", q)
	}
	b.open(asking(p, "app", callback, "prompt", "select_account"))
	if q = b.press("Cancel", nil); q.Get("error") != "access_denied" {
		t.Errorf("canceled: %v", q)
	}
}

// Consent is for one client, one way back and one resource: a stranger who registered rides on nobody else's.
func TestCaseW07ConsentPerClient(t *testing.T)  { testConsentPerClient(t) }
func TestThreat11ConsentPerClient(t *testing.T) { testConsentPerClient(t) }

func testConsentPerClient(t *testing.T) {
	p := idp.Start(t, &idp.Options{Clients: []idp.Client{app, {ID: "secretive", Secret: "s", RedirectURIs: app.RedirectURIs}, {ID: "own", RedirectURIs: []string{callback}, Trusted: true}}})
	b := newBrowser(t)
	b.open(asking(p, "secretive", callback, "resource", resource))
	b.press("Continue as Alice", nil)
	if q := b.press("Allow", nil); q.Get("code") == "" {
		t.Fatal(q)
	}
	if q := b.open(asking(p, "secretive", callback, "resource", resource)); q.Get("code") == "" {
		t.Errorf("asked twice: %v", q)
	}
	_, reg := post(t, p.Issuer()+idp.Register, nil)
	if reg["error"] == nil {
		t.Fatal("a form is no registration")
	}
	evil := register(t, p, doc{"client_name": "The App", "redirect_uris": []string{"https://evil.test/cb"}, "token_endpoint_auth_method": "none"})
	if q := b.open(asking(p, evil["client_id"].(string), "https://evil.test/cb")); q != nil {
		t.Fatalf("a stranger got %v", q)
	}
	b.shows("Allow access?", "evil.test")
	if b.open(asking(p, "secretive", "http://localhost:1/cb", "resource", resource)) != nil || b.open(asking(p, "secretive", callback, "resource", resource+"2")) != nil {
		t.Error("another way back, or another resource, was agreed to by itself")
	}
	if q := b.open(asking(p, "own", callback)); q.Get("code") == "" {
		t.Errorf("the provider's own application had to ask: %v", q)
	}
}

// The pages are not framed, run no script and are kept by nobody; forms may lead to the client's host only.
func TestThreat13Pages(t *testing.T) {
	p := idp.Start(t, &idp.Options{Clients: []idp.Client{app}})
	b := newBrowser(t)
	b.open(asking(p, "app", callback))
	h := b.resp.Header
	csp := h.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self' http://127.0.0.1:7777"} {
		if !strings.Contains(csp, want) {
			t.Errorf("no %s in %q", want, csp)
		}
	}
	if strings.Contains(csp, "unsafe") || strings.Contains(b.text, "<script") || strings.Contains(b.text, "style=") {
		t.Error("something inline")
	}
	if h.Get("X-Frame-Options") != "DENY" || h.Get("Cache-Control") != "no-store" || h.Get("Referrer-Policy") != "same-origin" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("header %v", h)
	}
	if b.open(p.Issuer() + "/style.css"); !strings.HasPrefix(b.resp.Header.Get("Content-Type"), "text/css") {
		t.Errorf("style: %v", b.resp.Header)
	}
}

// A form of another origin, of another browser, or without the token of this one, changes nothing.
func TestThreat03ForgedForms(t *testing.T) {
	p := idp.Start(t, &idp.Options{Clients: []idp.Client{app}})
	b, intruder := newBrowser(t), newBrowser(t)
	b.open(asking(p, "app", callback))
	action, form := b.form("Continue as Alice")
	own := p.Issuer()
	with := func(name, value string) url.Values {
		f := url.Values{}
		for k, v := range form {
			f[k] = v
		}
		f.Set(name, value)
		return f
	}
	for name, c := range map[string]struct {
		b      *browser
		form   url.Values
		origin string
		status int
	}{
		"another origin":  {b, form, "https://evil.test", 403},
		"no token":        {b, with("csrf", ""), own, 403},
		"wrong token":     {b, with("csrf", "guess"), own, 403},
		"another browser": {intruder, form, own, 404},
		"another request": {b, with("request", "guess"), own, 404},
	} {
		if q := c.b.submit(action, c.form, c.origin); q != nil || c.b.resp.StatusCode != c.status {
			t.Errorf("%s: status %d, callback %v", name, c.b.resp.StatusCode, q)
		}
	}
	intruder.open(asking(p, "app", callback)) // a session of its own does not help
	if q := intruder.submit(action, form, own); q != nil || intruder.resp.StatusCode != 404 {
		t.Errorf("with a session: status %d, %v", intruder.resp.StatusCode, q)
	}
	if q := b.open(action + "?" + form.Encode()); q != nil {
		t.Errorf("a GET signed in: %v", q)
	}
	b.shows("Sign in")
	b.press("Continue as Alice", nil)
	action, form = b.form("Allow")
	if q := b.press("Allow", nil); q.Get("code") == "" {
		t.Fatalf("callback %v", q)
	}
	if q := b.submit(action, form, own); q != nil || b.resp.StatusCode != 404 {
		t.Errorf("the same form a second time: status %d, %v", b.resp.StatusCode, q)
	}
}

// The cookie that a browser had before signing in is worth nothing after it.
func TestThreat14SessionFixation(t *testing.T) {
	p := idp.Start(t, &idp.Options{Clients: []idp.Client{app}, Auto: idp.Auto{Consent: idp.Approve}})
	victim, attacker := newBrowser(t), newBrowser(t)
	attacker.open(asking(p, "app", callback))
	at, err := url.Parse(p.Issuer())
	if err != nil {
		t.Fatal(err)
	}
	planted := attacker.jar.Cookies(at)
	victim.jar.SetCookies(at, planted)
	victim.open(asking(p, "app", callback))
	if q := victim.press("Continue as Alice", nil); q.Get("code") == "" {
		t.Fatal(q)
	}
	if victim.jar.Cookies(at)[0].Value == planted[0].Value {
		t.Error("the cookie stayed the same")
	}
	if q := attacker.open(asking(p, "app", callback)); q != nil {
		t.Errorf("the attacker is signed in: %v", q)
	}
	attacker.shows("Sign in")
}

// What a stranger chose as its name is shown as text, and cannot turn or hide what stands beside it.
func TestThreat25NamesOfStrangers(t *testing.T) {
	p := idp.Start(t, &idp.Options{Auto: idp.Auto{SignIn: "alice"}})
	name := "<script>alert(1)</script>\u202egnp.exe\u200b\x1b[31m" + strings.Repeat("x", 300)
	c := register(t, p, doc{"client_name": name, "redirect_uris": []string{"https://x.example/cb"}, "token_endpoint_auth_method": "none"})
	b := newBrowser(t)
	b.open(asking(p, c["client_id"].(string), "https://x.example/cb", "scope", "a<b>\u202e"))
	b.shows("Allow access?", "<script>alert(1)</script>")
	if strings.Contains(b.text, "<script") || strings.ContainsAny(b.text, "\u202e\u200b\x1b") || strings.Contains(b.text, strings.Repeat("x", 100)) || strings.Contains(b.text, "a<b>") {
		t.Errorf("the page says\n%s", b.text)
	}
	b.open(asking(p, "\"><script>\u202e", "https://x.example/cb"))
	if strings.Contains(b.text, "<script") || strings.Contains(b.text, "\u202e") {
		t.Errorf("the page says\n%s", b.text)
	}
}

// Signing out asks first, unless the client shows an ID token of this session; the way back is registered or there is none.
func TestSigningOut(t *testing.T) {
	a := newParty(t, &idp.Options{Auto: idp.Auto{Consent: idp.Approve}})
	if err := a.p.SignIn(a.jar, "alice"); err != nil {
		t.Fatal(err)
	}
	id := a.login().Extra("id_token").(string)
	b := newBrowser(t)
	b.jar, b.client.Jar = a.jar, a.jar
	end := func(q url.Values) url.Values { return b.open(a.p.Issuer() + idp.EndSession + "?" + q.Encode()) }
	signedIn := func() bool {
		return b.open(asking(a.p, "app", callback, "prompt", "none")).Get("code") != ""
	}
	end(url.Values{"post_logout_redirect_uri": {"https://evil.test/"}, "client_id": {"app"}})
	if b.resp.StatusCode != 400 || !signedIn() {
		t.Error("an address that is not registered")
	}
	end(nil)
	b.shows("Sign out?", "Alice")
	if !signedIn() {
		t.Error("a link signed out")
	}
	end(url.Values{"client_id": {"app"}, "state": {"x"}, "post_logout_redirect_uri": {"http://127.0.0.1:7777/bye"}})
	if q := b.press("Sign out", nil); q.Get("state") != "x" || signedIn() {
		t.Errorf("callback %v", q)
	}
	if err := a.p.SignIn(a.jar, "alice"); err != nil {
		t.Fatal(err)
	}
	if end(url.Values{"id_token_hint": {id}}); !signedIn() {
		t.Error("the ID token of another session signed out")
	}
	id = a.login().Extra("id_token").(string)
	if end(url.Values{"id_token_hint": {id}}); signedIn() {
		t.Error("the ID token did not sign out")
	}
	b.open(a.p.Issuer() + idp.EndSession)
	b.shows("Signed out")
}

// A request that nobody answered is forgotten.
func TestRequestsExpire(t *testing.T) {
	now := time.Now()
	p := idp.Start(t, &idp.Options{Clients: []idp.Client{app}, Now: func() time.Time { return now }})
	b := newBrowser(t)
	b.open(asking(p, "app", callback))
	now = now.Add(16 * time.Minute)
	b.press("Continue as Alice", nil)
	if b.resp.StatusCode != 404 {
		t.Errorf("status %d", b.resp.StatusCode)
	}
	b.shows("expired")
}

func register(t *testing.T, p *idp.Server, metadata doc) doc {
	t.Helper()
	status, d := tryRegister(t, p, metadata)
	if status != 201 {
		t.Fatalf("registration: status %d, %v", status, d)
	}
	return d
}

func tryRegister(t *testing.T, p *idp.Server, metadata any) (int, doc) {
	t.Helper()
	body, err := json.Marshal(metadata)
	if err != nil {
		t.Fatal(err)
	}
	return postJSON(t, p.Issuer()+idp.Register, string(body))
}
