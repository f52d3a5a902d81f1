package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// A guarded is a server that demands a login at a provider where Alice says yes to everything.
type guarded struct {
	url      string
	provider *idp.Server
}

func guard(t *testing.T, o *idp.Options) *guarded {
	t.Helper()
	t.Setenv("PARLEY_TOKENS_DIR", t.TempDir())
	if o == nil {
		o = &idp.Options{}
	}
	o.Auto = idp.Auto{SignIn: "alice", Consent: idp.Approve}
	g := &guarded{provider: idp.Start(t, o)}
	mux := http.NewServeMux()
	ts := httptest.NewServer(mux)
	t.Cleanup(ts.Close)
	g.url = ts.URL + "/mcp"
	quiet := slog.New(slog.DiscardHandler)
	res, err := mcpauth.NewResource(g.url, mcpauth.JWT(g.provider.Issuer(), nil), &mcpauth.ResourceOptions{Scopes: []string{"trips"}, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	srv := mcp.NewServer("guarded", "1", res.Protect(&mcp.ServerOptions{Logger: quiet}))
	who := func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		return "you are " + c.Principal().Subject, nil
	}
	mcp.AddTool(srv, &mcp.Tool{Name: "who"}, who)
	mcp.AddTool(srv, &mcp.Tool{Name: "pay", Scopes: []string{"money"}}, who)
	h := mcphttp.NewHandler(srv, res.HTTP(&mcphttp.Options{Logger: quiet}))
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	res.Mount(mux, h)
	return g
}

// login puts a login into the store, as the command itself would.
func (g *guarded) login(t *testing.T) {
	t.Helper()
	f := &authFlags{Tokens: "file", TokensDir: os.Getenv("PARLEY_TOKENS_DIR")}
	store, err := f.store(newUI(&strings.Builder{}))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := mcpauth.NewTransport(g.url, nil, &mcpauth.ClientOptions{Store: store, Login: mcpauth.FollowRedirect(nil, "http://127.0.0.1:1/callback")})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if err := tr.Login(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// Where nobody can log in, the error says what to do, and nothing was registered.
func TestNobodyCanLogIn(t *testing.T) {
	g := guard(t, nil)
	for _, args := range [][]string{{"ls", g.url}, {"call", g.url, "who"}, {"call", "--interact", "none", g.url, "who"}} {
		parley(t, "", args...).want(t, exitUnavailable, "parley login URL")
	}
	if n := g.provider.Count("/register"); n != 0 {
		t.Errorf("%d registrations", n)
	}
	parley(t, "", "whoami", g.url).want(t, exitUnavailable, "not logged in", "status 401", g.provider.Issuer(), "trips")
	parley(t, "", "whoami").want(t, exitOK, "There is no login")
	parley(t, "", "logout").want(t, exitOK, "There is no login")
	parley(t, "", "logout", g.url).want(t, exitOK, "There is no login at "+g.url)
	parley(t, "", "login", g.url).want(t, exitUnavailable, "nobody here who could log in")
}

func TestLoginThatIsThere(t *testing.T) {
	g := guard(t, nil)
	g.login(t)
	parley(t, "", "call", g.url, "who").want(t, exitOK, "you are alice")
	parley(t, "", "whoami", g.url).want(t, exitOK, "the server accepts it", "alice", "trips", g.provider.Issuer(), "files in ")
	parley(t, "", "whoami", "-v", g.url).want(t, exitOK, "auth: found protected resource metadata at ", "auth: found authorization server metadata at ")
	parley(t, "", "whoami", "--json", g.url).want(t, exitOK, `"state":"accepted"`, `"subject":"alice"`, `"challenge":"status 401 Unauthorized"`)
	parley(t, "", "whoami").want(t, exitOK, g.url, "alice")
	parley(t, "", "whoami", "--json").want(t, exitOK, `[{"server":"`+g.url)
	parley(t, "", "login", g.url).want(t, exitOK, "logged in already")
	got := parley(t, "", "call", g.url, "pay") // needs more
	got.want(t, exitUnavailable, "parley login URL")
	g.provider.Revoke("alice")
	g.provider.DropKeys()
	g.provider.Rotate()
	parley(t, "", "logout").want(t, exitOK, "Logged out of "+g.url)
	parley(t, "", "whoami", g.url).want(t, exitUnavailable, "not logged in")
	left, err := filepath.Glob(filepath.Join(os.Getenv("PARLEY_TOKENS_DIR"), "*", "*.json"))
	if len(left) > 0 || err != nil {
		t.Errorf("left %q, %v", left, err)
	}
}

// A file of answers agrees to the login, and the script does what a browser would.
func TestLoginByAnswers(t *testing.T) {
	g := guard(t, nil)
	answers := filepath.Join(t.TempDir(), "answers.json")
	if err := os.WriteFile(answers, []byte(`{"answers": [{"kind": "url", "host": "127.0.0.1", "action": "accept"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	pages := &pageReader{t: t, found: make(chan string, 8)}
	code := make(chan int, 1)
	go func() {
		code <- run(t.Context(), []string{"call", "--answers", answers, g.url, "who"}, &streams{in: strings.NewReader(""), out: pages, err: pages})
	}()
	visitLogin(t, <-pages.found)
	if got := <-code; got != exitOK || !strings.Contains(pages.String(), "you are alice") {
		t.Errorf("exit code %d\n%s", got, pages.String())
	}
	// No answer fits: nobody could be asked.
	if err := os.WriteFile(answers, []byte(`{"answers": [{"kind": "url", "host": "elsewhere.test", "action": "accept"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	parley(t, "", "logout", g.url).want(t, exitOK)
	parley(t, "", "call", "--answers", answers, g.url, "who").want(t, exitUnavailable, "127.0.0.1")
}

func visitLogin(t *testing.T, page string) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the login ends with %s", resp.Status)
	}
}

// A token of one's own is used as it is.
func TestOwnToken(t *testing.T) {
	g := guard(t, nil)
	token, err := g.provider.Mint(&idp.Ticket{Subject: "alice", Resource: g.url, Scopes: []string{"trips"}})
	if err != nil {
		t.Fatal(err)
	}
	parley(t, "", "call", "-H", "authorization: Bearer "+token, g.url, "who").want(t, exitOK, "you are alice")
	parley(t, "", "call", "-H", "Authorization: Bearer wrong", g.url, "who").want(t, exitConnect, "401", "whoami URL --verbose")
}

// What does not match is shown with both values, and what to do.
func TestMismatchIsExplained(t *testing.T) {
	g := guard(t, nil)
	g.provider.Lie(idp.Lies{Metadata: func(doc map[string]any) { doc["issuer"] = doc["issuer"].(string) + "/" }})
	got := parley(t, "", "login", "--interact", "terminal", g.url)
	got.want(t, exitConnect, "another issuer", `expected  "`+g.provider.Issuer()+`"`, `got       "`+g.provider.Issuer()+`/"`, "next      ", "--allow-issuer-slash")
	parley(t, "", "whoami", g.url).want(t, exitUnavailable, "nobody can log in there", g.provider.Issuer()+`/"`)
}

func TestServersWithoutLogin(t *testing.T) {
	target := serve(t)
	t.Setenv("PARLEY_TOKENS_DIR", filepath.Join(t.TempDir(), "none"))
	parley(t, "", "login", target).want(t, exitOK, "demands no login")
	parley(t, "", "whoami", target).want(t, exitOK, "need not be", "demands nothing")
	parley(t, "", "ls", target).want(t, exitOK, "sum")
	if _, err := os.Stat(os.Getenv("PARLEY_TOKENS_DIR")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder was made for a server that demands no login: %v", err)
	}
}

func TestLoginUsage(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(" s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const at = "http://127.0.0.1:1/mcp"
	for _, args := range [][]string{
		{"login", "stdio:x"}, {"logout", "x"}, {"whoami", "ftp://x"}, {"login", "--client-secret", "@" + secret, at}, {"login", "--client-id", "c", "--client-secret", "@" + secret, at},
		{"login", "--client-id", "c", "--issuer", "https://as.test", "--client-secret", "on the line", at}, {"login", "--client-id", "c", "--issuer", "https://as.test", "--client-secret", "@/none", at},
		{"login", "--allow-network", "x", at}, {"login", "--egress-proxy", "socks5://h", at}, {"login", "--egress-proxy", "http://[", at}, {"login", "--client-document", "http://h", at},
		{"login", "--tokens", "cloud", at}, {"ls", "--client-document", "http://h", at},
	} {
		got := parley(t, "", args...)
		got.want(t, exitUsage)
		if strings.Contains(got.err, "s3cret") {
			t.Errorf("%q: %s", args, got.err)
		}
	}
	f := &authFlags{ClientID: "c", Issuer: "https://as.test", ClientSecret: "@" + secret}
	known, err := f.registered()
	if err != nil {
		t.Fatal(err)
	}
	if r, err := known(t.Context(), "https://as.test"); err != nil || r.ClientSecret != "s3cret" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := known(t.Context(), "https://evil.test"); r != nil || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	parley(t, "", "login", at).want(t, exitConnect)
	parley(t, "", "whoami", at).want(t, exitConnect)
}

// Logins stay where they are; new ones go to the keyring where there is one.
func TestLoginStore(t *testing.T) {
	ctx := t.Context()
	put := func(s *loginStore, key, value string) {
		t.Helper()
		if err := s.Update(ctx, key, func([]byte) ([]byte, error) { return []byte(value), nil }); err != nil {
			t.Fatal(err)
		}
	}
	want := func(s *loginStore, key, value string) {
		t.Helper()
		if data, err := s.Load(ctx, key); string(data) != value || err != nil {
			t.Errorf("%s: %q, %v", key, data, err)
		}
	}
	dir := t.TempDir()
	var told strings.Builder
	keyring.MockInitWithError(errors.New("no bus"))
	s := newLoginStore("auto", dir, newUI(&told))
	want(s, "server a", "")
	put(s, "server a", `1`)
	put(s, "token a", `2`)
	if n := strings.Count(told.String(), "there is no keyring here"); n != 1 {
		t.Errorf("told %q", told.String())
	}
	keyring.MockInit()
	s = newLoginStore("auto", dir, newUI(&told))
	want(s, "server a", `1`)
	put(s, "server a", `3`)
	put(s, "server b", `4`)
	for key, kind := range map[string]string{"a": "files in " + filepath.Join(dir, "file"), "b": "files in " + filepath.Join(dir, "keyring") + ", sealed", "c": ""} {
		if got := s.where(ctx, key); !strings.HasPrefix(got, kind) {
			t.Errorf("%s is in %s", key, got)
		}
	}
	if keys, err := s.Keys(ctx); len(keys) < 3 || err != nil {
		t.Errorf("%q, %v", keys, err)
	}
	files := newLoginStore("file", dir, newUI(&told))
	want(files, "server a", `3`)
	want(files, "server b", "")
	// Without the keyring again: what is there cannot be read, and that is said.
	keyring.MockInitWithError(errors.New("no bus"))
	s = newLoginStore("auto", dir, newUI(&told))
	if _, err := s.Load(ctx, "server b"); err == nil || !strings.Contains(err.Error(), "--tokens file") {
		t.Errorf("error %v", err)
	}
	want(s, "server a", `3`)
	if err := newLoginStore("keyring", dir, newUI(&told)).Update(ctx, "x", nil); err == nil || !strings.Contains(explain(err), "PARLEY_TOKENS=file") {
		t.Errorf("error %v", err)
	}
}
