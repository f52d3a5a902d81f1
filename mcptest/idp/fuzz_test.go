package idp

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// Nobody is sent anywhere but to the place that was registered, up to a loopback port, as browsers read the address too.
func FuzzRedirects(f *testing.F) {
	for _, uri := range []string{"http://127.0.0.1:1/cb", "http://127.0.0.1/cb", "http://localhost:9/cb", "http://[::1]:1/cb", "http://127.0.0.1:1\\@evil.test/cb", "http://127.0.0.1:1@evil.test/cb",
		"https://a.example/cb?x=1", "HTTP://127.0.0.1/cb", "http://127.0.0.1:/cb", "http://127.0.0.1:1/cb#", "http://127.0.0.1:1/cb?", "http://127.0.0.1:99999/cb"} {
		f.Add(uri)
	}
	c := &Client{RedirectURIs: []string{"http://127.0.0.1/cb", "http://localhost/cb", "http://[::1]:7/cb", "https://a.example/cb?x=1"}}
	f.Fuzz(func(t *testing.T, uri string) {
		if !c.redirects(uri) {
			return
		}
		for _, r := range c.RedirectURIs {
			if uri == r {
				return
			}
			have, err := url.Parse(r)
			if err != nil {
				t.Fatal(err)
			}
			// What is left when the port is taken away must be the registered text.
			start, rest, _ := strings.Cut(uri, "://")
			host, path, _ := strings.Cut(rest, "/")
			if i := strings.LastIndex(host, ":"); i >= 0 && strings.Trim(host[i+1:], "0123456789") == "" && !strings.HasSuffix(host, "]") {
				host = host[:i]
			}
			if have.Scheme == "http" && start+"://"+host+"/"+path == "http://"+strings.TrimSuffix(have.Host, ":7")+"/cb" {
				return
			}
		}
		t.Errorf("%q is taken", uri)
	})
}

// No body and no form makes the provider fail.
func FuzzEndpoints(f *testing.F) {
	f.Add(Register, "application/json", `{"redirect_uris":["http://127.0.0.1/cb"],"jwks":{"keys":[{"kty":"EC"}]},"token_endpoint_auth_method":"private_key_jwt"}`)
	f.Add(Token, "application/x-www-form-urlencoded", "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=eyJhbGciOiJFUzI1NiJ9.e30.AA")
	f.Add(Token, "application/x-www-form-urlencoded", "grant_type=client_credentials&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion=e30.e30.e30")
	f.Add(Introspect, "application/x-www-form-urlencoded", "client_id=rs&client_secret=r&token=%00")
	f.Add(Authorize, "application/x-www-form-urlencoded", "client_id=app&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcb&max_age=9999999999999999999")
	f.Add(SignIn, "application/x-www-form-urlencoded", "request=x&subject=alice")
	f.Add(EndSession, "application/x-www-form-urlencoded", "id_token_hint=x&post_logout_redirect_uri=%zz")
	p, err := New(&Options{Issuer: "http://127.0.0.1:1", Auto: Auto{SignIn: "alice", Consent: Approve}, Clients: []Client{{ID: "app", RedirectURIs: []string{"http://127.0.0.1/cb"}}, {ID: "rs", Secret: "r", ResourceServer: "https://rs.example"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path, contentType, body string) {
		if u, err := url.ParseRequestURI(path); err != nil || !strings.HasPrefix(path, "/") || u.Host != "" {
			return
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
		u, err := url.ParseRequestURI(path)
		if err != nil {
			return
		}
		r.URL.Path, r.URL.RawQuery = u.Path, u.RawQuery
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if to := w.Header().Get("Location"); strings.Contains(to, "code=") && !strings.HasPrefix(to, "http://127.0.0.1") {
			t.Errorf("a code goes to %s", to)
		}
	})
}
