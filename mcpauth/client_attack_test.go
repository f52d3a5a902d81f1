package mcpauth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcpauth"
)

// The answer must come from the authorization server that was asked, as text, for errors too, whose text is not shown otherwise.
func TestCaseA13Threat08MixUp(t *testing.T) {
	for _, c := range []struct {
		advertised bool
		iss        string // "" for none
		good       bool
	}{
		{false, "", true}, {false, "same", true}, {true, "same", true}, {true, "", false}, {false, "https://evil.test", false},
		{true, "https://evil.test", false}, {true, "slash", false}, {true, "upper", false},
	} {
		for _, refusal := range []bool{false, true} {
			t.Run(fmt.Sprint(c, refusal), func(t *testing.T) {
				w := newWorld(t)
				iss := strings.NewReplacer("same", w.as.URL, "slash", w.as.URL+"/", "upper", strings.ToUpper(w.as.URL)).Replace(c.iss)
				w.meta = func() map[string]any {
					m := w.usualMeta()
					m["authorization_response_iss_parameter_supported"] = c.advertised
					return m
				}
				w.callback = func(q url.Values) {
					if iss != "" {
						q.Set("iss", iss)
					}
					if refusal {
						q.Del("code")
						q.Set("error", "access_denied")
						q.Set("error_description", "call 555-1234")
					}
				}
				switch tr := w.transport(nil); {
				case c.good && !refusal:
					w.mustPost(tr)
				case c.good:
					w.mustRefuse(tr, "access_denied", "555-1234")
				default:
					w.mustRefuse(tr, "another authorization server", w.as.URL)
					if _, err := post(tr, w.url()); strings.Contains(err.Error(), "555-1234") {
						t.Errorf("error %q shows what somebody else says", err)
					}
				}
			})
		}
	}
}

func TestThreat09ForeignCallbacks(t *testing.T) {
	for name, change := range map[string]func(q url.Values){
		"other state": func(q url.Values) { q.Set("state", "guess") },
		"no state":    func(q url.Values) { q.Del("state") },
		"two codes":   func(q url.Values) { q.Add("code", "other") },
		"two states":  func(q url.Values) { q.Add("state", "other") },
		"no code":     func(q url.Values) { q.Del("code") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.callback = change
			w.mustRefuse(w.transport(nil), "callback")
		})
	}
	t.Run("code of another flow", func(t *testing.T) {
		w := newWorld(t)
		w.verifier["stolen"] = "another challenge"
		w.callback = func(q url.Values) { q.Set("code", "stolen") }
		if _, err := post(w.transport(nil), w.url()); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
			t.Errorf("error %v", err)
		}
	})
}

// Metadata that lies, or that nobody may be sent to.
func TestCaseA05A14MetadataThatLies(t *testing.T) {
	set := func(name string, value any) func(w *world, m map[string]any) {
		return func(_ *world, m map[string]any) { m[name] = value }
	}
	for name, c := range map[string]struct {
		change func(w *world, m map[string]any)
		words  string
	}{
		"another issuer":       {set("issuer", "https://evil.test"), "another issuer"},
		"issuer with slash":    {func(w *world, m map[string]any) { m["issuer"] = w.as.URL + "/" }, "must be equal"},
		"no PKCE":              {func(_ *world, m map[string]any) { delete(m, "code_challenge_methods_supported") }, "PKCE"},
		"plain PKCE":           {set("code_challenge_methods_supported", []string{"plain"}), "PKCE"},
		"script":               {set("authorization_endpoint", "javascript:alert(1)"), "authorization_endpoint"},
		"file":                 {set("authorization_endpoint", "file:///etc/passwd"), "authorization_endpoint"},
		"option of an opener":  {set("authorization_endpoint", "--help"), "authorization_endpoint"},
		"shell":                {set("authorization_endpoint", "$(calc.exe)"), "authorization_endpoint"},
		"http token endpoint":  {set("token_endpoint", "http://evil.test/t"), "https"},
		"no token endpoint":    {set("token_endpoint", ""), "token_endpoint"},
		"user in the endpoint": {set("token_endpoint", "https://as.test@evil.test/t"), "user"},
		"no authorization":     {set("authorization_endpoint", ""), "authorization_endpoint"},
		"private registration": {set("registration_endpoint", "https://10.0.0.1/r"), "private network"},
		"cloud metadata":       {set("registration_endpoint", "https://169.254.169.254/latest"), "reserved"},
		"hidden address":       {set("registration_endpoint", "https://[::ffff:10.0.0.1]/r"), ""},
		"no methods in common": {set("token_endpoint_auth_methods_supported", []string{"tls_client_auth"}), "methods"},
		"no registration":      {set("registration_endpoint", ""), "Registrations"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.meta = func() map[string]any {
				m := w.usualMeta()
				c.change(w, m)
				return m
			}
			w.mustRefuse(w.transport(nil), c.words)
		})
	}
}

func TestCaseA07ResourceOfSomebodyElse(t *testing.T) {
	for _, resource := range []string{"https://evil.test/mcp", "%s/other", "%s/mc", "%s/mcp/deeper", "%s/mcp#x", "%s/mcp?x=1", "://"} {
		w := newWorld(t)
		w.prm = func() (int, any) {
			return 200, map[string]any{"resource": strings.ReplaceAll(resource, "%s", w.rs.URL), "authorization_servers": []string{w.as.URL}}
		}
		w.mustRefuse(w.transport(nil), "another resource", w.url())
		if w.asked("AS /authorize") != 0 {
			t.Error("the person was asked")
		}
	}
}

func TestThreat10Documents(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		doc    any
		words  string
	}{
		"too large":     {200, strings.Repeat(" ", 10<<20), "larger than"},
		"server error":  {500, "", "500"},
		"no servers":    {200, map[string]any{"resource": "", "authorization_servers": []string{}}, ""},
		"http issuer":   {200, map[string]any{"authorization_servers": []string{"http://evil.test"}}, "https"},
		"inner issuer":  {200, map[string]any{"authorization_servers": []string{"https://169.254.169.254"}}, "reserved"},
		"private":       {200, map[string]any{"authorization_servers": []string{"https://192.168.1.1"}}, "private network"},
		"script issuer": {200, map[string]any{"authorization_servers": []string{"javascript:x"}}, "absolute"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.prm = func() (int, any) {
				if m, ok := c.doc.(map[string]any); ok {
					m["resource"] = w.url()
				}
				return c.status, c.doc
			}
			w.mustRefuse(w.transport(nil), c.words)
		})
	}
}

func TestThreat10Redirects(t *testing.T) {
	w := newWorld(t)
	inner := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		t.Error("the redirect was followed")
	}))
	defer inner.Close()
	w.rs.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			w.serveRS(rw, r)
			return
		}
		http.Redirect(rw, r, inner.URL+r.URL.Path, http.StatusFound)
	})
	w.mustRefuse(w.transport(nil), "redirect")
}

// What belongs to one authorization server is not sent to another, and is still there on the way back.
func TestCaseA16Threat11AnotherAuthorizationServer(t *testing.T) {
	w := newWorld(t)
	tr := w.transport(nil)
	w.mustPost(tr)
	other := newWorld(t)
	at := w.as.URL
	w.change(func() {
		w.issued = -1 // refuses all tokens of the first
		w.accept = func(token string, _ *http.Request) int {
			if token == "Bearer token-1" && other.asked("AS /token") > 0 {
				return 200
			}
			return 401
		}
		w.prm = func() (int, any) {
			return 200, map[string]any{"resource": w.url(), "authorization_servers": []string{other.as.URL}}
		}
	})
	w.mustPost(tr)
	if n := other.asked("AS /register"); n != 1 || w.as.URL != at {
		t.Errorf("%d registrations at the second", n)
	}
	for _, f := range other.forms {
		if f.Has("refresh_token") || f.Get("grant_type") != "authorization_code" {
			t.Errorf("the second was sent %v", f)
		}
	}
}

// A token endpoint that changes gets no stored credentials.
func TestCaseA14TokenEndpointMoves(t *testing.T) {
	w := newWorld(t)
	tr := w.transport(nil)
	w.mustPost(tr)
	thief := newWorld(t)
	w.change(func() {
		w.issued = 50
		w.meta = func() map[string]any {
			m := w.usualMeta()
			m["token_endpoint"] = thief.as.URL + "/token"
			return m
		}
	})
	_, _ = post(tr, w.url())
	if n := w.asked("AS /authorize"); n != 2 {
		t.Errorf("%d logins, want a new one", n)
	}
	if n := w.asked("AS /register"); n != 2 {
		t.Errorf("%d registrations, want a new one", n)
	}
	for _, f := range thief.forms {
		if f.Has("refresh_token") {
			t.Errorf("it was sent %v", f)
		}
	}
}

// The token goes to the server's origin and nowhere else.
func TestThreat12TokenStaysAtTheServer(t *testing.T) {
	w := newWorld(t)
	tr := w.transport(nil)
	w.mustPost(tr)
	other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the token was sent elsewhere")
		}
	}))
	defer other.Close()
	if status, err := post(tr, other.URL); err != nil || status != 200 {
		t.Errorf("status %d, error %v", status, err)
	}
}

func TestThreat19BrowserOpensNoScript(t *testing.T) {
	login, err := mcpauth.Loopback(nil)(t.Context(), &mcpauth.LoginStart{})
	if err != nil {
		t.Fatal(err)
	}
	defer login.Close()
	for _, u := range []string{"javascript:alert(1)", "file:///etc/passwd", "--help", "$(x)"} {
		if _, err := login.Authorize(context.Background(), &mcpauth.LoginRequest{URL: u, State: "s"}); err == nil {
			t.Errorf("%s was opened", u)
		}
	}
}

// Only who asks for it gets the slash, and iss stays exact.
func TestCaseA05SlashByOption(t *testing.T) {
	w := newWorld(t)
	iss := w.as.URL + "/"
	w.meta = func() map[string]any {
		m := w.usualMeta()
		m["issuer"] = w.as.URL + "/"
		return m
	}
	w.callback = func(q url.Values) { q.Set("iss", iss) }
	w.mustRefuse(w.transport(nil), "must be equal")
	o := &mcpauth.ClientOptions{AllowIssuerSlash: true}
	iss = w.as.URL
	w.mustRefuse(w.transport(o), "another authorization server")
	iss = w.as.URL + "/"
	w.mustPost(w.transport(o))
}
