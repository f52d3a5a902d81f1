package mcpauth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed38e7925c/parley/mcpauth"
)

func TestLogin(t *testing.T) {
	w := newWorld(t)
	tr := w.transport(nil)
	if got := tr.AuthContext(); got != "" {
		t.Errorf("context %q before the login", got)
	}
	w.mustPost(tr)
	who := tr.AuthContext()
	w.mustPost(tr)
	if who == "" || strings.Contains(who, "token") || tr.AuthContext() != who {
		t.Errorf("contexts %q, %q", who, tr.AuthContext())
	}
	if n := w.asked("AS /authorize"); n != 1 {
		t.Errorf("%d logins", n)
	}
	if w.authURL.Get("code_challenge_method") != "S256" || w.authURL.Get("resource") != w.url() || w.authURL.Has("scope") {
		t.Errorf("authorization request %v", w.authURL)
	}
	if f := w.forms[0]; f.Get("resource") != w.url() || f.Get("client_id") != "dcr-client" || f.Get("redirect_uri") != redirectURI {
		t.Errorf("token request %v", f)
	}
	if w.reg["application_type"] != "native" || fmt.Sprint(w.reg["grant_types"]) != "[authorization_code refresh_token]" {
		t.Errorf("registration %v", w.reg)
	}
}

// The order is challenge, path, root; a document that is none does not end the search, one that is about another server does.
func TestCaseA06A07WhereTheMetadataIs(t *testing.T) {
	for _, c := range []struct{ name, at, challenge string }{
		{"challenge", "/custom/prm", `Bearer resource_metadata="%s/custom/prm"`},
		{"unquoted", "/custom/prm", `Bearer resource_metadata=%s/custom/prm`},
		{"path", "/.well-known/oauth-protected-resource/mcp", `Bearer`},
		{"root", "/.well-known/oauth-protected-resource", `Basic realm="x"`},
		{"challenge that leads nowhere", "/.well-known/oauth-protected-resource", `Bearer resource_metadata="%s/gone"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.prmAt = c.at
			w.challenge = func() string { return strings.ReplaceAll(c.challenge, "%s", w.rs.URL) }
			w.mustPost(w.transport(nil))
		})
	}
}

func TestResourceIsSentVerbatim(t *testing.T) {
	w := newWorld(t)
	parent := strings.Replace(w.rs.URL, "127.0.0.1", "127.0.0.1", 1)
	w.prm = func() (int, any) {
		return 200, map[string]any{"resource": parent, "authorization_servers": []string{w.as.URL}, "scopes_supported": []string{"a", "b", "offline_access"}}
	}
	w.mustPost(w.transport(nil))
	if w.authURL.Get("resource") != parent || w.forms[0].Get("resource") != parent || w.authURL.Get("scope") != "a b" {
		t.Errorf("authorization %v, token %v", w.authURL, w.forms[0])
	}
}

// Servers of 2025-03-26 have no resource metadata: their origin has the endpoints.
func TestLegacyServer(t *testing.T) {
	for _, withMetadata := range []bool{false, true} {
		w := newWorld(t)
		mux := http.NewServeMux()
		mux.HandleFunc("/.well-known/oauth-protected-resource/", http.NotFound)
		mux.HandleFunc("/mcp", w.serveRS)
		mux.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
			if !withMetadata && strings.HasPrefix(r.URL.Path, "/.well-known") {
				http.NotFound(rw, r)
				return
			}
			w.serveAS(rw, r)
		})
		w.rs.Config.Handler = mux
		w.challenge = func() string { return "Bearer" }
		w.as.URL = w.rs.URL
		w.mustPost(w.transport(nil))
		if n := w.asked("AS /register"); n != 1 {
			t.Errorf("%d registrations", n)
		}
	}
}

func TestCaseA18Scopes(t *testing.T) {
	w := newWorld(t)
	w.challenge = func() string {
		return `Bearer scope="write read read", resource_metadata="` + w.rs.URL + w.prmAt + `"`
	}
	w.meta = func() map[string]any {
		m := w.usualMeta()
		m["scopes_supported"] = []string{"offline_access"}
		return m
	}
	w.mustPost(w.transport(nil))
	if got := w.authURL.Get("scope"); got != "offline_access read write" {
		t.Errorf("scope %q", got)
	}
}

// Stepping up asks for the union, anew and not by a refresh, and a few times only.
func TestCaseA10A11StepUp(t *testing.T) {
	w := newWorld(t)
	scope, step := "read", false
	w.challenge = func() string {
		c := `Bearer resource_metadata="` + w.rs.URL + w.prmAt + `", scope="` + scope + `"`
		if step {
			c += `, error="insufficient_scope"`
		}
		return c
	}
	tr := w.transport(nil)
	w.mustPost(tr)
	who := tr.AuthContext()
	w.change(func() {
		scope, step = "write", true
		w.accept = func(token string, _ *http.Request) int {
			if token == "Bearer token-2" {
				return 200
			}
			return 403
		}
	})
	w.mustPost(tr)
	if got := w.authURL.Get("scope"); got != "read write" || w.forms[1].Get("grant_type") != "authorization_code" || tr.AuthContext() == who {
		t.Errorf("scope %q, token request %v", got, w.forms[1])
	}
	w.change(func() { w.accept = func(string, *http.Request) int { return 403 } })
	for range 5 {
		if status, err := post(tr, w.url()); err != nil || status != 403 {
			t.Fatalf("status %d, error %v", status, err)
		}
	}
	if n := w.asked("AS /authorize"); n > 4 {
		t.Errorf("%d logins", n)
	}
}

func TestForbiddenWithoutReasonIsTheAnswer(t *testing.T) {
	w := newWorld(t)
	w.accept = func(string, *http.Request) int { return 403 }
	w.challenge = func() string { return "Bearer" }
	if status, err := post(w.transport(nil), w.url()); err != nil || status != 403 {
		t.Errorf("status %d, error %v", status, err)
	}
}

// Fifty requests at once need one login, and later one renewal, with the same resource.
func TestCaseA01A09OneRefresh(t *testing.T) {
	w := newWorld(t)
	tr := w.transport(nil)
	burst := func() {
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if status, err := post(tr, w.url()); err != nil || status != 200 {
					t.Errorf("status %d, error %v", status, err)
				}
			})
		}
		wg.Wait()
	}
	w.change(func() { w.expires = 1e-9 }) // at its end at once
	w.mustPost(tr)
	who := tr.AuthContext()
	w.change(func() { w.expires = 3600 })
	burst()
	if n := w.asked("AS /token"); n != 2 {
		t.Errorf("%d token requests", n)
	}
	if f := w.forms[1]; f.Get("grant_type") != "refresh_token" || f.Get("refresh_token") != "refresh-1" || f.Get("resource") != w.url() {
		t.Errorf("refresh %v", f)
	}
	if tr.AuthContext() != who {
		t.Error("a renewed token is of the same login")
	}
	w.change(func() { w.issued = 100 }) // the server has forgotten the token
	burst()
	if n := w.asked("AS /authorize"); n != 1 {
		t.Errorf("%d logins", n)
	}
}

func TestFirstLoginIsOne(t *testing.T) {
	w := newWorld(t)
	tr := w.transport(nil)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if status, err := post(tr, w.url()); err != nil || status != 200 {
				t.Errorf("status %d, error %v", status, err)
			}
		})
	}
	wg.Wait()
	if n := w.asked("AS /authorize"); n != 1 {
		t.Errorf("%d logins", n)
	}
}

// Two transports stand for two processes with one store: the second uses what the first has renewed.
func TestCaseA02SharedStore(t *testing.T) {
	w := newWorld(t)
	w.expires = 1e-9
	store := mcpauth.NewMemoryStore()
	first, second := w.transport(&mcpauth.ClientOptions{Store: store}), w.transport(&mcpauth.ClientOptions{Store: store})
	w.mustPost(first)
	w.mustPost(second) // renews what it read
	w.change(func() { w.expires = 3600 })
	w.mustPost(first) // must not present the refresh token that the second one has used up
	for i, f := range w.forms[1:] {
		if want := fmt.Sprintf("refresh-%d", i+1); f.Get("refresh_token") != want {
			t.Errorf("refresh %d presents %q, want %q", i, f.Get("refresh_token"), want)
		}
	}
	if n := w.asked("AS /authorize"); n != 1 {
		t.Errorf("%d logins", n)
	}
}

// Only a definite refusal drops a credential.
func TestCaseA19HiccupsAreNotLogouts(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		logins int
	}{
		{500, `{"error":"invalid_grant"}`, 1},
		{429, ``, 1},
		{200, `<html>`, 1},
		{503, `{"error":"temporarily_unavailable"}`, 1},
		{400, `{"error":"temporarily_unavailable"}`, 1},
		{307, ``, 1},
		{400, `{"error":"invalid_grant"}`, 2},
	} {
		t.Run(fmt.Sprint(c.status, c.body), func(t *testing.T) {
			w := newWorld(t)
			w.expires = 1e-9
			tr := w.transport(nil)
			w.mustPost(tr)
			w.change(func() {
				w.answer = func(f url.Values) (int, string) {
					if f.Get("grant_type") == "refresh_token" {
						return c.status, c.body
					}
					return 0, ""
				}
			})
			status, err := post(tr, w.url())
			if c.logins == 1 {
				w.change(func() { w.answer, w.expires = nil, 3600 })
				if status, err := post(tr, w.url()); err != nil || status != 200 {
					t.Errorf("afterwards: status %d, error %v", status, err)
				}
			} else if err != nil || status != 200 {
				t.Errorf("status %d, error %v", status, err)
			}
			if n := w.asked("AS /authorize"); n != c.logins {
				t.Errorf("%d logins, want %d", n, c.logins)
			}
			if slices.Contains(w.log, "RS /stolen") {
				t.Error("a token request followed a redirect")
			}
		})
	}
}

// A token that is refused as soon as it was issued is not asked for again and again.
func TestLastingUnauthorizedIsTheAnswer(t *testing.T) {
	w := newWorld(t)
	w.accept = func(string, *http.Request) int { return 401 }
	status, err := post(w.transport(nil), w.url())
	if err != nil || status != 401 {
		t.Errorf("status %d, error %v", status, err)
	}
	if n := w.asked("AS /authorize"); n != 1 {
		t.Errorf("%d logins", n)
	}
}

func TestDeclinedIsAskedOnce(t *testing.T) {
	w := newWorld(t)
	w.callback = func(q url.Values) { q.Del("code"); q.Set("error", "access_denied") }
	tr := w.transport(nil)
	for range 3 {
		if _, err := post(tr, w.url()); !errors.Is(err, mcpauth.ErrLoginDeclined) {
			t.Fatalf("error %v", err)
		}
	}
	if n := w.asked("AS /authorize"); n != 1 {
		t.Errorf("asked %d times", n)
	}
	if err := tr.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.change(func() { w.callback = nil })
	w.mustPost(tr)
	if err := tr.Forget(t.Context()); err != nil || tr.AuthContext() != "" {
		t.Errorf("error %v, context %q", err, tr.AuthContext())
	}
}

func TestBodyThatCannotBeSentAgain(t *testing.T) {
	w := newWorld(t)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url(), struct{ *strings.Reader }{strings.NewReader("{}")})
	resp, err := w.transport(nil).RoundTrip(req)
	if err != nil || resp.StatusCode != 401 {
		t.Errorf("response %v, error %v", resp, err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, o := range map[string]*mcpauth.ClientOptions{
		"negative": {FetchTimeout: -1}, "http": {ClientMetadataURL: "http://h/x"}, "no path": {ClientMetadataURL: "https://h"},
		"no issuer": {Registrations: []*mcpauth.Registration{{ClientID: "x"}}}, "nil": {Registrations: []*mcpauth.Registration{nil}},
	} {
		if _, err := mcpauth.NewTransport("https://h/mcp", nil, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, u := range []string{"", "ftp://h", "https://", "https://u:p@h/", "://"} {
		if _, err := mcpauth.NewTransport(u, nil, nil); err == nil {
			t.Errorf("%s: no error", u)
		}
	}
}

// A registration that the authorization server has forgotten is made anew by the next login.
func TestForgottenRegistration(t *testing.T) {
	w := newWorld(t)
	tr := w.transport(nil)
	w.mustPost(tr)
	w.change(func() {
		w.issued = 100
		w.answer = func(url.Values) (int, string) { return 401, `{"error":"invalid_client"}` }
	})
	if _, err := post(tr, w.url()); err == nil || !strings.Contains(err.Error(), "invalid_client") {
		t.Fatalf("error %v", err)
	}
	w.change(func() { w.answer = nil })
	w.mustPost(tr)
	if n := w.asked("AS /register"); n != 3 { // the first, one because of the renewal, one because of the code
		t.Errorf("%d registrations", n)
	}
}

// A refresh token that was presented is used up: its answer is kept though the request that needed it is gone.
func TestCaseA03RenewalOutlivesItsRequest(t *testing.T) {
	w := newWorld(t)
	w.expires = 1e-9
	tr := w.transport(nil)
	w.mustPost(tr)
	ctx, cancel := context.WithCancel(t.Context())
	w.change(func() {
		w.expires = 3600
		w.answer = func(url.Values) (int, string) { cancel(); return 0, "" }
	})
	req := must(http.NewRequestWithContext(ctx, http.MethodPost, w.url(), http.NoBody))
	if resp, err := tr.RoundTrip(req); err == nil {
		_ = resp.Body.Close()
		t.Error("a request that was given up went on")
	}
	w.mustPost(tr)
	if n := w.asked("AS /token"); n != 2 {
		t.Errorf("%d token requests", n)
	}
}
