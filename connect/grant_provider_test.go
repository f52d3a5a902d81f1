package connect_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// A simple provider has no metadata, and no OpenID: as GitHub is.
type simple struct {
	*httptest.Server
	mu     sync.Mutex
	forms  []map[string][]string // at the token endpoint
	basic  []string
	answer map[string]any
	user   any
}

func newSimple(t *testing.T) *simple {
	s := &simple{answer: map[string]any{"access_token": "gho_1", "token_type": "bearer", "scope": "repo,user"}, user: map[string]any{"login": "octo"}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=c1&state="+q.Get("state"), http.StatusFound)
	})
	mux.HandleFunc("POST /login/token", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = r.ParseForm()
		user, _, _ := r.BasicAuth()
		s.forms, s.basic = append(s.forms, r.PostForm), append(s.basic, user)
		_ = json.NewEncoder(w).Encode(s.answer)
	})
	mux.HandleFunc("GET /user", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer gho_1" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_ = json.NewEncoder(w).Encode(s.user)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// TestProviderWithoutMetadata: endpoints that the author names, a secret in the form or none, scopes between commas, the account by its
// login.
func TestProviderWithoutMetadata(t *testing.T) {
	for name, c := range map[string]struct {
		method, secret, basic, inForm string
		user                          any
		account                       string
	}{
		"basic":           {"", "s p&", "id%3A1", "", map[string]any{"login": "octo"}, "octo"},
		"post":            {"client_secret_post", "s p&", "", "s p&", map[string]any{"name": "Octo Cat"}, "Octo Cat"},
		"public":          {"", "", "", "", map[string]any{"sub": "42"}, "42"},
		"no account":      {"", "", "", "", "garbage", ""},
		"several answers": {"", "", "", "", map[string]any{"email": "o@c.test", "login": "octo"}, "o@c.test"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSimple(t)
			s.user = c.user
			var g *connect.Grant
			w := newWorld(t, &worldOptions{tools: func(srv *mcp.Server, r *replica) {
				g = r.desk.OAuth(&connect.Provider{
					Name: "git", Title: "Git", AuthURL: s.URL + "/login/authorize?prompt=x", TokenURL: s.URL + "/login/token", UserInfoURL: s.URL + "/user",
					ClientID: "id:1", ClientSecret: connect.NewSecret(c.secret), AuthMethod: c.method, Scopes: []string{"repo"},
				})
				mcp.AddTool(srv, &mcp.Tool{Name: "repos"}, func(ctx context.Context, call *mcp.Call, _ where) (where, error) {
					token, err := g.Token(ctx, call, "user")
					if err != nil {
						return where{}, err
					}
					req := httptest.NewRequest(http.MethodGet, "/", nil)
					token.SetAuthHeader(req)
					return where{Text: req.Header.Get("Authorization") + " " + strings.Join(token.Scopes, "+") + " " + token.Account}, nil
				})
			}})
			person, pages := links()
			done := call(t, w.client("alice/app", revisions()[len(revisions())-1], person), "repos", where{})
			w.browser("alice").fill(get(t, pages), "submit")
			if out := get(t, done); out.err != nil || out.res.Text != "Bearer gho_1 repo+user "+c.account {
				t.Errorf("%+v", out)
			}
			form := s.forms[0]
			get := func(k string) string { return strings.Join(form[k], "|") }
			if s.basic[0] != c.basic || get("client_secret") != c.inForm || get("code") != "c1" || get("code_verifier") == "" ||
				get("redirect_uri") != w.url+"/connect/callback/git" || get("grant_type") != "authorization_code" {
				t.Errorf("the token endpoint got %q %v", s.basic[0], form)
			}
		})
	}
}

// TestForgetToken: a token that the API refuses is renewed; one that is refused again at once is asked for anew.
func TestForgetToken(t *testing.T) {
	w := newRail(t, nil)
	w.connected("alice")
	g, p := w.grants[0], person("alice")
	forget := func(access string) {
		t.Helper()
		if err := g.ForgetOf(t.Context(), p, access); err != nil {
			t.Fatal(err)
		}
	}
	token := func() string {
		t.Helper()
		token, err := g.TokenOf(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if token == nil {
			return ""
		}
		return token.Access.Reveal()
	}
	first := token()
	forget("another one")
	if token() != first {
		t.Error("another token was forgotten")
	}
	forget(first)
	second := token()
	if second == "" || second == first || w.idp.Count(idp.GrantRefresh) != 1 {
		t.Fatalf("it was not renewed: %d renewals", w.idp.Count(idp.GrantRefresh))
	}
	forget(first) // late
	if token() != second {
		t.Error("a newer token was forgotten")
	}
	forget(second)
	if got := token(); got != "" || w.idp.Count(idp.GrantRefresh) != 1 {
		t.Errorf("refused twice: %q, %d renewals", got, w.idp.Count(idp.GrantRefresh))
	}
}

// TestMetadataPlaces: metadata are found where OpenID Connect and RFC 8414 have them, for issuers with a path, too; with or without a
// slash at the end.
func TestMetadataPlaces(t *testing.T) {
	for name, c := range map[string]struct{ issuer, says, place string }{
		"openid":          {"", "", "/.well-known/openid-configuration"},
		"oauth":           {"", "", "/.well-known/oauth-authorization-server"},
		"path, openid":    {"/t1", "/t1", "/t1/.well-known/openid-configuration"},
		"path, oauth":     {"/t1", "/t1", "/.well-known/oauth-authorization-server/t1"},
		"path, inserted":  {"/t1", "/t1", "/.well-known/openid-configuration/t1"},
		"slash in says":   {"", "/", "/.well-known/openid-configuration"},
		"slash in issuer": {"/", "", "/.well-known/openid-configuration"},
		"another issuer":  {"", "/other", "/.well-known/openid-configuration"},
		"nowhere":         {"", "", "/elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			var srv *httptest.Server
			srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != c.place {
					http.NotFound(w, r)
					return
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"issuer": srv.URL + c.says, "authorization_endpoint": srv.URL + "/a", "token_endpoint": srv.URL + "/t"})
			}))
			defer srv.Close()
			desk := newWorld(t, nil).replicas[0].desk
			g := desk.OAuth(&connect.Provider{Name: "p", Title: "P", Issuer: srv.URL + c.issuer, ClientID: "x"})
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			issuer, err := g.Discover(ctx)
			if want := name != "another issuer" && name != "nowhere"; (err == nil) != want || want && issuer != srv.URL+c.says {
				t.Errorf("%q, %v", issuer, err)
			}
		})
	}
}

// TestBadProviders: what cannot work is found when the program starts.
func TestBadProviders(t *testing.T) {
	desk := newWorld(t, nil).replicas[0].desk
	good := connect.Provider{Name: "p", Title: "P", Issuer: "https://p.test", ClientID: "x"}
	for name, spoil := range map[string]func(p *connect.Provider){
		"no name":         func(p *connect.Provider) { p.Name = "" },
		"bad name":        func(p *connect.Provider) { p.Name = "a/b" },
		"taken name":      func(p *connect.Provider) { p.Name = "maps" },
		"no title":        func(p *connect.Provider) { p.Title = " " },
		"no client":       func(p *connect.Provider) { p.ClientID = "" },
		"no issuer":       func(p *connect.Provider) { p.Issuer = "" },
		"half explicit":   func(p *connect.Provider) { p.Issuer, p.AuthURL = "", "https://p.test/a" },
		"plain issuer":    func(p *connect.Provider) { p.Issuer = "http://p.test" },
		"user in issuer":  func(p *connect.Provider) { p.Issuer = "https://a@p.test" },
		"odd revocation":  func(p *connect.Provider) { p.RevokeURL = "javascript:x" },
		"unknown sending": func(p *connect.Provider) { p.AuthMethod = "private_key_jwt" },
	} {
		t.Run(name, func(t *testing.T) {
			p := good
			spoil(&p)
			defer func() {
				if recover() == nil {
					t.Error("it was taken")
				}
			}()
			desk.OAuth(&p)
		})
	}
	p := good
	p.Timeout = time.Hour
	desk.OAuth(&p)
}
