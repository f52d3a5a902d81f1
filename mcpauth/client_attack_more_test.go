package mcpauth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcpauth"
)

// Mix-up: the metadata of an evil authorization server names the login page of an honest one, to have the honest one's code sent to the
// evil token endpoint. An honest one that says who it is is found out; where it does not, the redirect URI is not that of a client there.
func TestThreat08MixUpWithTwoServers(t *testing.T) {
	for _, says := range []bool{true, false} {
		t.Run(fmt.Sprint("iss ", says), func(t *testing.T) {
			honest, evil := newWorld(t), newWorld(t)
			if says {
				honest.callback = func(q url.Values) { q.Set("iss", honest.as.URL) }
			}
			var redirects []string
			evil.meta = func() map[string]any {
				m := evil.usualMeta()
				m["authorization_endpoint"] = honest.as.URL + "/authorize"
				return m
			}
			// The honest one takes the redirect URIs that were registered with it, as it must.
			as := honest.as.Config.Handler
			honest.as.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/authorize" && !strings.Contains(fmt.Sprint(honest.reg["redirect_uris"]), r.URL.Query().Get("redirect_uri")) {
					redirects = append(redirects, r.URL.Query().Get("redirect_uri"))
					http.Error(rw, "unknown redirect URI", http.StatusBadRequest)
					return
				}
				as.ServeHTTP(rw, r)
			})
			browser := func(_ context.Context, r *mcpauth.LoginRequest) error {
				resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(r.URL)
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					return errors.New("the page says " + resp.Status)
				}
				return nil
			}
			o := &mcpauth.ClientOptions{Store: mcpauth.NewMemoryStore(), Login: mcpauth.Loopback(&mcpauth.LoopbackOptions{Open: browser})}
			honest.mustPost(honest.transport(o)) // so there is a client to impersonate
			if says {
				o.Login = mcpauth.FollowRedirect(nil, redirectURI)
				honest.reg = map[string]any{"redirect_uris": redirectURI}
			}
			_, err := post(evil.transport(o), evil.url())
			if err == nil || says && !strings.Contains(err.Error(), "another authorization server") {
				t.Errorf("error %v", err)
			}
			if n := evil.asked("AS /token"); n != 0 {
				t.Error("the code was sent to the evil one")
			}
			if !says && len(redirects) != 1 {
				t.Errorf("redirects %q", redirects)
			}
		})
	}
}

// The callback's address leads nowhere else, whatever it is asked with, and repeats nothing.
func TestThreat07CallbackRedirectsNowhere(t *testing.T) {
	var login mcpauth.Login
	open := func(ctx context.Context, r *mcpauth.LoginRequest) error {
		u, _ := url.Parse(login.RedirectURI())
		for _, c := range []string{"/callback?return_to=https://evil.test", "//evil.test/callback", "/callback/..//evil.test", "/callback?state=x&redirect_uri=https://evil.test",
			"/callback?next=//evil.test&error_description=evil.test", "/?u=https://evil.test", "/callback?code=evil.test&state=" + r.State + "&return_to=https://evil.test"} {
			req := must(http.NewRequestWithContext(ctx, http.MethodGet, "http://"+u.Host+c, nil))
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
			if err != nil {
				return err
			}
			body := make([]byte, 1000)
			n, _ := resp.Body.Read(body)
			_ = resp.Body.Close()
			if resp.StatusCode/100 == 3 || resp.Header.Get("Location") != "" || resp.Header.Get("Refresh") != "" || strings.Contains(string(body[:n]), "evil") {
				t.Errorf("%s: %s %v %s", c, resp.Status, resp.Header, body[:n])
			}
		}
		return nil
	}
	var err error
	if login, err = mcpauth.Loopback(&mcpauth.LoopbackOptions{Open: open})(t.Context(), &mcpauth.LoginStart{}); err != nil {
		t.Fatal(err)
	}
	defer login.Close()
	if q, err := login.Authorize(t.Context(), &mcpauth.LoginRequest{State: "the-state"}); err != nil || q.Get("code") != "evil.test" {
		t.Errorf("%v, %v", q, err)
	}
}

// Redirects of metadata to anywhere else are not followed, nor those of a token request to anywhere.
func TestThreat10RedirectsInward(t *testing.T) {
	for _, to := range []string{"http://169.254.169.254/latest/meta-data", "http://[::ffff:169.254.169.254]/", "https://10.0.0.1/", "file:///etc/passwd", "//evil.test/x", "http://localhost:1/"} {
		for _, what := range []string{"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"} {
			w := newWorld(t)
			redirect := func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					if r.URL.Path == what {
						http.Redirect(rw, r, to, http.StatusTemporaryRedirect)
						return
					}
					next.ServeHTTP(rw, r)
				})
			}
			w.rs.Config.Handler, w.as.Config.Handler = redirect(w.rs.Config.Handler), redirect(w.as.Config.Handler)
			w.mustRefuse(w.transport(nil), "redirect")
		}
	}
}

// A server that always answers 403 is left alone after three attempts of a request, whatever scope it invents, and a person who said no to
// more is not asked for more under another name.
func TestAttackAlwaysForbidden(t *testing.T) {
	w := newWorld(t)
	n := 0
	decline := false
	w.challenge = func() string {
		n++
		return fmt.Sprintf(`Bearer error="insufficient_scope", scope="invented-%d", resource_metadata="%s%s"`, n, w.rs.URL, w.prmAt)
	}
	first := true
	w.accept = func(string, *http.Request) int {
		if first {
			first = false
			return 401
		}
		return 403
	}
	w.callback = func(q url.Values) {
		if decline {
			q.Del("code")
			q.Set("error", "access_denied")
		}
	}
	tr := w.transport(nil)
	if status, err := post(tr, w.url()); err != nil || status != 403 {
		t.Errorf("status %d, error %v", status, err)
	}
	if got := w.asked("AS /authorize"); got != 3 {
		t.Errorf("asked %d times because of one request", got)
	}
	w.change(func() { decline = true })
	for range 10 {
		if _, err := post(tr, w.url()); !errors.Is(err, mcpauth.ErrLoginDeclined) {
			t.Errorf("error %v", err)
		}
	}
	if got := w.asked("AS /authorize"); got != 4 {
		t.Errorf("asked %d times although the person said no", got)
	}
	w.change(func() { decline = false })
	if err := tr.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		_, _ = post(tr, w.url())
	}
	if got := w.asked("AS /authorize"); got > 4+20 {
		t.Errorf("asked %d times", got)
	}
}

// The same with a token endpoint that redirects, at the first token too: nothing is sent on.
func TestThreat10TokenRedirect(t *testing.T) {
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the code was sent on") }))
	defer thief.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		w := newWorld(t)
		as := w.as.Config.Handler
		w.as.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/token" || r.URL.Path == "/register" && status == 307 {
				http.Redirect(rw, r, thief.URL, status)
				return
			}
			as.ServeHTTP(rw, r)
		})
		if _, err := post(w.transport(nil), w.url()); err == nil || !strings.Contains(err.Error(), fmt.Sprint(status)) {
			t.Errorf("error %v", err)
		}
	}
}

// Answers of every endpoint are bounded.
func TestThreat10LargeAnswers(t *testing.T) {
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/register", "/token"} {
		w := newWorld(t)
		as := w.as.Config.Handler
		w.as.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == path {
				_, _ = rw.Write([]byte(strings.Repeat(" ", 10<<20)))
				return
			}
			as.ServeHTTP(rw, r)
		})
		if _, err := post(w.transport(nil), w.url()); err == nil || !strings.Contains(err.Error(), "larger than 1048576 bytes") {
			t.Errorf("%s: error %v", path, err)
		}
	}
}
