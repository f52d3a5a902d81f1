package connect_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/storetest"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// issuer starts an issuer that asks nobody for consent.
func issuer(t *testing.T, o *idp.Options) *idp.Server {
	t.Helper()
	if o == nil {
		o = &idp.Options{}
	}
	o.Auto.Consent = idp.Approve
	return idp.Start(t, o)
}

// mint returns a token of somebody for the server of a world.
func (w *world) mint(p *idp.Server, subject string) string {
	w.t.Helper()
	token, err := p.Mint(&idp.Ticket{Subject: subject, ClientID: "desktop", Resource: w.url + "/mcp"})
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// signedIn makes a browser that somebody has a session at the issuer in.
func (w *world) signedIn(p *idp.Server, subject string) *browser {
	w.t.Helper()
	b := w.browser("")
	if err := p.SignIn(b.http.Jar, subject); err != nil {
		w.t.Fatal(err)
	}
	return b
}

// signIn goes through the desk's sign-in page, and returns the page where it ends.
func (b *browser) signIn(link string) *page {
	b.t.Helper()
	p := b.open(link)
	if p.status != http.StatusUnauthorized || !strings.Contains(p.body, "Sign in to continue") {
		b.t.Fatalf("no sign-in page, but status %d: %s", p.status, p.body)
	}
	return b.post(b.desk("signin"), url.Values{"back": {p.url.Path}})
}

// desk returns the address of something below the desk.
func (b *browser) desk(path string) string { return b.base.String() + "/connect/" + path }

// TestOIDC: the person signs in where the callers do and finishes what they started; somebody else who follows the link, signed in as
// themselves, gets nowhere.
func TestOIDC(t *testing.T) {
	eras(t, func(t *testing.T, rev mcp.Revision) {
		p := issuer(t, nil)
		w := newWorld(t, &worldOptions{issuer: p})
		person, pages := links()
		c := w.client(w.mint(p, "alice"), rev, person)
		done := call(t, c, "geocode", where{"Bern"})
		link := get(t, pages)

		intruder := w.signedIn(p, "bob")
		if got := intruder.signIn(link); got.status != http.StatusForbidden || !strings.Contains(got.body, "not yours") {
			t.Fatalf("the intruder: status %d: %s", got.status, got.body)
		}
		alice := w.signedIn(p, "alice")
		if got := alice.signIn(link); got.status != http.StatusOK || !strings.Contains(got.body, "Maps API key") {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
		if got := alice.fill(link, "submit", "f-value", "mk_12345"); !strings.Contains(got.body, "Saved") {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
		if o := get(t, done); o.err != nil {
			t.Fatal(o.err)
		}

		got := alice.open(alice.desk(""))
		if !strings.Contains(got.body, "Maps API key") {
			t.Errorf("her connections: %s", got.body)
		}
		if got := intruder.open(intruder.desk("")); strings.Contains(got.body, "Maps API key") {
			t.Error("somebody else sees her connections")
		}
		if got := alice.post(alice.desk("signout"), url.Values{"csrf": {got.csrf()}}); !strings.Contains(got.body, "Signed out") {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
		if got := alice.open(alice.desk("")); got.status != http.StatusUnauthorized {
			t.Errorf("signed out, and status %d", got.status)
		}
	})
}

// root is the URL of the desk.
func (b *browser) root() *url.URL {
	return &url.URL{Scheme: b.base.Scheme, Host: b.base.Host, Path: "/connect/"}
}

// atCallback stops a browser before it follows the issuer's answer, and returns the address that it would follow.
func (b *browser) atCallback(link string) string {
	b.t.Helper()
	var callback string
	b.http.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if strings.HasSuffix(r.URL.Path, "/signin/callback") {
			callback = r.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}
	b.signIn(link)
	b.http.CheckRedirect = nil
	if callback == "" {
		b.t.Fatal("the issuer did not answer")
	}
	return callback
}

// TestThreat14 plants what an attacker has into the browser of somebody else: a session of theirs, and the end of a sign-in of theirs.
// Neither makes the victim's browser act for the attacker, and no cookie from before the sign-in is one after it.
func TestThreat14SessionFixation(t *testing.T) {
	p := issuer(t, nil)
	w := newWorld(t, &worldOptions{issuer: p})
	attacker, victim := w.signedIn(p, "bob"), w.signedIn(p, "alice")
	callback := attacker.atCallback(attacker.desk(""))
	if got := victim.open(callback); got.status != http.StatusForbidden {
		t.Errorf("the attacker's callback in the victim's browser: status %d", got.status)
	}
	if got := victim.open(victim.desk("")); got.status != http.StatusUnauthorized {
		t.Errorf("the victim's browser is signed in: status %d: %s", got.status, got.body)
	}

	planted := &http.Cookie{Name: "parley-session-" + victim.base.Port(), Value: strings.Repeat("A", 43), Path: "/connect/"}
	victim.http.Jar.SetCookies(victim.root(), []*http.Cookie{planted})
	if got := victim.signIn(victim.desk("")); got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	for _, c := range victim.http.Jar.Cookies(victim.root()) {
		if c.Value == planted.Value {
			t.Error("the planted session became the victim's")
		}
	}
	before := sessionCookie(victim)
	if got := victim.signInAgain(); got.status != http.StatusOK {
		t.Fatalf("status %d", got.status)
	}
	if after := sessionCookie(victim); before == after {
		t.Error("a second sign-in kept the session's name")
	}
	old := w.browser("")
	old.http.Jar.SetCookies(old.root(), []*http.Cookie{{Name: planted.Name, Value: before, Path: "/connect/"}})
	if got := old.open(old.desk("")); got.status != http.StatusUnauthorized {
		t.Errorf("the session from before the second sign-in still opens: status %d", got.status)
	}
}

// sessionCookie returns the value of the session cookie, as somebody who copied it would have it.
func sessionCookie(b *browser) string {
	for _, c := range b.http.Jar.Cookies(b.root()) {
		if strings.HasPrefix(c.Name, "parley-session") {
			return c.Value
		}
	}
	return ""
}

// signInAgain signs in once more, although somebody has.
func (b *browser) signInAgain() *page {
	return b.post(b.desk("signin"), url.Values{"back": {"/connect/"}})
}

// TestOIDCAnswers: only the issuer's answer to this sign-in, once, signs anybody in.
func TestOIDCAnswers(t *testing.T) {
	tests := map[string]struct {
		lie    idp.Lies
		edit   func(q url.Values)
		status int
	}{
		"another issuer":    {lie: idp.Lies{Callback: func(q url.Values) { q.Set("iss", "https://evil.example") }}, status: http.StatusServiceUnavailable},
		"no issuer":         {edit: func(q url.Values) { q.Del("iss") }, status: http.StatusServiceUnavailable},
		"two issuers":       {edit: func(q url.Values) { q.Add("iss", "https://evil.example") }, status: http.StatusServiceUnavailable},
		"another state":     {edit: func(q url.Values) { q.Set("state", strings.Repeat("A", 43)) }, status: http.StatusForbidden},
		"no state":          {edit: func(q url.Values) { q.Del("state") }, status: http.StatusForbidden},
		"another code":      {edit: func(q url.Values) { q.Set("code", "stolen") }, status: http.StatusServiceUnavailable},
		"two codes":         {edit: func(q url.Values) { q.Add("code", "stolen") }, status: http.StatusServiceUnavailable},
		"an error":          {edit: func(q url.Values) { q.Set("error", "access_denied") }, status: http.StatusServiceUnavailable},
		"another nonce":     {lie: idp.Lies{IDToken: func(c map[string]any) { c["nonce"] = "x" }}, status: http.StatusServiceUnavailable},
		"another client":    {lie: idp.Lies{IDToken: func(c map[string]any) { c["aud"] = "x" }}, status: http.StatusServiceUnavailable},
		"another audience":  {lie: idp.Lies{AccessToken: func(c map[string]any) { c["aud"] = "https://other.example/mcp" }}, status: http.StatusServiceUnavailable},
		"a client's own":    {lie: idp.Lies{AccessToken: func(c map[string]any) { delete(c, "auth_time"); delete(c, "acr"); delete(c, "amr") }}, status: http.StatusServiceUnavailable},
		"no ID token":       {lie: idp.Lies{TokenAnswer: func(d map[string]any) { delete(d, "id_token") }}, status: http.StatusServiceUnavailable},
		"all as it must be": {status: http.StatusOK},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := issuer(t, nil)
			w := newWorld(t, &worldOptions{issuer: p})
			p.Lie(test.lie)
			b := w.signedIn(p, "alice")
			callback := b.atCallback(b.desk(""))
			if test.edit != nil {
				u, err := url.Parse(callback)
				if err != nil {
					t.Fatal(err)
				}
				q := u.Query()
				test.edit(q)
				u.RawQuery = q.Encode()
				callback = u.String()
			}
			if got := b.open(callback); got.status != test.status {
				t.Errorf("status %d, want %d: %s", got.status, test.status, got.body)
			}
			want := http.StatusUnauthorized
			if test.status == http.StatusOK {
				want = http.StatusOK
			}
			if got := b.open(b.desk("")); got.status != want {
				t.Errorf("afterwards status %d, want %d", got.status, want)
			}
			if got := b.open(callback); got.status != http.StatusForbidden && test.status != http.StatusForbidden {
				t.Errorf("the same answer once more: status %d", got.status)
			}
			if q, err := url.Parse(callback); err == nil && strings.Contains(w.logs.String(), q.Query().Get("code")+" ") && q.Query().Get("code") != "" {
				t.Error("the code is in the log")
			}
		})
	}
}

// TestThreat07 signs in with addresses to come back to that are not the desk's: the browser stays on the desk.
func TestThreat07SignInRedirect(t *testing.T) {
	p := issuer(t, nil)
	w := newWorld(t, &worldOptions{issuer: p})
	for _, back := range []string{
		"https://evil.example/", "//evil.example/", `/\evil.example`, "/connect/../mcp", "/connect//evil.example", "/connect/%2e%2e/mcp",
		"javascript:alert(1)", "/mcp", "", "/connect/?next=https://evil.example", "\x00", "/connect/\n",
	} {
		b := w.signedIn(p, "alice")
		got := b.post(b.desk("signin"), url.Values{"back": {back}})
		if got.url.Host != b.base.Host || got.url.Path != "/connect/" || got.url.RawQuery != "" {
			t.Errorf("back %q led to %s", back, got.url)
		}
	}
}

// TestThreat34 opens desks at issuers that give each client another subject for the same person.
func TestThreat34PairwiseSubjects(t *testing.T) {
	open := func(p *idp.Server, o *connect.OIDCOptions) error {
		d, err := connect.Open(t.Context(), &connect.Options{
			ServerName: "Travel desk", BaseURL: "https://travel.example/connect/", Store: storetest.NewMemory(), Keys: testKeys(t),
			Identity: connect.OIDC(p.Issuer(), "desk", "", o),
		})
		if err == nil {
			t.Cleanup(func() { _ = d.Close() })
		}
		return err
	}
	pairwise := issuer(t, &idp.Options{Pairwise: true})
	if err := open(pairwise, nil); err == nil || !strings.Contains(err.Error(), "pairwise") || !strings.Contains(err.Error(), "OIDCOptions.Resource") {
		t.Errorf("pairwise, without a way to tell people: %v", err)
	}
	both := issuer(t, nil)
	both.Lie(idp.Lies{Metadata: func(doc map[string]any) { doc["subject_types_supported"] = []string{"public", "pairwise"} }})
	if err := open(both, nil); err == nil || !strings.Contains(err.Error(), "pairwise") {
		t.Errorf("either, without a way to tell people: %v", err)
	}
	claim := &connect.OIDCOptions{Subject: func(json.RawMessage) (string, error) { return "x", nil }}
	if err := open(pairwise, claim); err != nil {
		t.Errorf("pairwise, with a claim: %v", err)
	}
	if err := open(issuer(t, nil), nil); err != nil {
		t.Errorf("public: %v", err)
	}
}

// TestOIDCClaim: a claim that never changes tells people of an issuer with pairwise subjects; a name or a missing claim does not.
func TestOIDCClaim(t *testing.T) {
	p := issuer(t, &idp.Options{Users: []idp.User{{Subject: "alice", Claims: map[string]any{"oid": "alice"}}, {Subject: "bob"}}})
	claim := func(claims json.RawMessage) (string, error) {
		var c struct {
			OID string `json:"oid"`
		}
		return c.OID, json.Unmarshal(claims, &c)
	}
	w := newWorld(t, &worldOptions{issuer: p, noReading: true, oidc: connect.OIDCOptions{Subject: claim}})
	person, pages := links()
	c := w.client(w.mint(p, "alice"), mcp.Revision20260728, person)
	done := call(t, c, "geocode", where{"Bern"})
	link := get(t, pages)
	if got := w.signedIn(p, "bob").signIn(link); got.status != http.StatusServiceUnavailable {
		t.Errorf("somebody without the claim: status %d", got.status)
	}
	alice := w.signedIn(p, "alice")
	alice.signIn(link)
	if got := alice.fill(link, "submit", "f-value", "mk_1"); !strings.Contains(got.body, "Saved") {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	if o := get(t, done); o.err != nil {
		t.Fatal(o.err)
	}
}

// TestOIDCMaxAge: a sign-in that is too old does not count, and the issuer must say that the new one is new.
func TestOIDCMaxAge(t *testing.T) {
	p := issuer(t, nil)
	w := newWorld(t, &worldOptions{issuer: p, oidc: connect.OIDCOptions{MaxAge: time.Minute}})
	b := w.signedIn(p, "alice")
	p.Lie(idp.Lies{IDToken: func(c map[string]any) { c["auth_time"] = time.Now().Add(-time.Hour).Unix() }})
	if got := b.signIn(b.desk("")); got.status != http.StatusServiceUnavailable {
		t.Errorf("an old sign-in: status %d", got.status)
	}
	p.Lie(idp.Lies{IDToken: func(c map[string]any) { delete(c, "auth_time") }})
	if got := b.signIn(b.desk("")); got.status != http.StatusServiceUnavailable {
		t.Errorf("a sign-in of unknown age: status %d", got.status)
	}
	p.Repair()
	if got := b.signIn(b.desk("")); got.status != http.StatusOK {
		t.Errorf("a new sign-in: status %d", got.status)
	}
}
