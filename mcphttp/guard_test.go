package mcphttp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

func TestCaseH01AcceptVariants(t *testing.T) {
	s := serveSite(t, nil)
	for _, c := range []struct {
		accept string
		status int
		answer string
	}{
		{"", 200, "application/json"},
		{"*/*", 200, "application/json"},
		{"application/json", 200, "application/json"},
		{"APPLICATION/JSON ; q=0.5", 200, "application/json"},
		{"text/event-stream", 200, "text/event-stream"},
		{"application/*;q=0.9, text/event-stream", 200, "application/json"},
		{"application/json;q=0, */*", 200, "text/event-stream"},
		{"text/html, application/json;q=0.000", 406, "application/json"},
		{"text/html", 406, "application/json"},
	} {
		r := callTool("1", "echo", `{"text":"hi"}`)
		if r.with("Accept", c.accept); c.accept == "" {
			r.header["Accept"] = nil // the transport sends none
		}
		a := s.ask(r)
		if a.status != c.status || a.header.Get("Content-Type") != c.answer {
			t.Errorf("Accept %q: %d %s %s", c.accept, a.status, a.header.Get("Content-Type"), a.body)
		}
	}
	n := plainPost(`{"jsonrpc":"2.0","method":"notifications/progress"}`).with("Accept", "*/*").with("MCP-Protocol-Version", modernRev)
	if a := s.ask(n); a.status != 202 || a.body != "" {
		t.Errorf("a notification got %d %q", a.status, a.body)
	}
}

func TestCaseH02ContentTypeParameters(t *testing.T) {
	s := serveSite(t, nil)
	for _, c := range []struct {
		values []string
		status int
	}{
		{[]string{"application/json; charset=utf-8"}, 200},
		{[]string{"Application/JSON"}, 200},
		{[]string{`application/json;charset="UTF-8"`}, 200},
		{[]string{"application/json; charset=utf-16"}, 415},
		{[]string{"text/plain"}, 415},
		{[]string{"application/json-rpc"}, 415},
		{[]string{"application/json", "application/json"}, 415},
		{nil, 415},
		{[]string{";"}, 415},
	} {
		if a := s.ask(callTool("1", "echo", `{"text":"hi"}`).with("Content-Type", c.values...)); a.status != c.status {
			t.Errorf("Content-Type %q: %d %s", c.values, a.status, a.body)
		}
	}
	if a := s.ask(callTool("1", "echo", `{"text":"hi"}`).with("Content-Encoding", "gzip")); a.status != 415 {
		t.Errorf("compressed: %d", a.status)
	}
	if a := s.ask(callTool("1", "echo", `{"text":"hi"}`).with("Content-Encoding", "identity")); a.status != 200 {
		t.Errorf("identity: %d", a.status)
	}
}

func TestCaseH03HostAndOrigin(t *testing.T) {
	byDefault := serveSite(t, nil)
	listed := serveSite(t, &mcphttp.Options{AllowedHosts: []string{"MCP.example.com", "[2001:db8::1]:8443"},
		AllowedOrigins: []string{"https://app.example.com"}})
	open := serveSite(t, &mcphttp.Options{AllowedHosts: []string{"*"}, AllowedOrigins: []string{"*"}})
	for _, c := range []struct {
		s            *site
		host, origin string
		option       string // named by the refusal; empty for success
	}{
		{byDefault, "", "", ""},
		{byDefault, "localhost:99", "", ""},
		{byDefault, "LOCALHOST", "", ""},
		{byDefault, "127.8.9.1", "", ""},
		{byDefault, "[::1]:80", "", ""},
		{byDefault, "[::ffff:127.0.0.1]", "", ""},
		{byDefault, "localhost", "http://localhost:6274", ""},
		{byDefault, "localhost", "http://[::1]", ""},
		{byDefault, "mcp.example.com", "", "AllowedHosts"},
		{byDefault, "evil.test", "http://evil.test", "AllowedHosts"},
		{byDefault, "0.0.0.0", "", "AllowedHosts"},
		{byDefault, "localhost.evil.test", "", "AllowedHosts"},
		{byDefault, "127.0.0.1.evil.test", "", "AllowedHosts"},
		{byDefault, "localhost", "http://evil.test", "AllowedOrigins"},
		{byDefault, "localhost", "null", "AllowedOrigins"},
		{byDefault, "localhost", "http://localhost:1/path", "AllowedOrigins"},
		{listed, "mcp.example.com", "", ""},
		{listed, "mcp.example.com.:8080", "", ""},
		{listed, "mcp.example.com", "https://app.example.com", ""},
		{listed, "mcp.example.com", "https://app.example.com:443", ""},
		{listed, "mcp.example.com", "https://mcp.example.com", ""},
		{listed, "[2001:db8::1]:8443", "", ""},
		{listed, "localhost", "", ""},
		{listed, "[2001:db8::1]:8444", "", "AllowedHosts"},
		{listed, "evil.test", "", "AllowedHosts"},
		{listed, "mcp.example.com", "http://app.example.com", "AllowedOrigins"},
		{listed, "mcp.example.com", "https://other.example.com", "AllowedOrigins"},
		{open, "anything.test", "https://elsewhere.test", ""},
	} {
		r := callTool("1", "echo", `{"text":"hi"}`)
		if c.host != "" {
			r.with("Host", c.host)
		}
		if c.origin != "" {
			r.with("Origin", c.origin)
		}
		a := c.s.ask(r)
		switch {
		case c.option == "" && a.status != 200:
			t.Errorf("Host %q Origin %q: %d %s", c.host, c.origin, a.status, a.body)
		case c.option != "" && (a.status != 403 || !strings.Contains(a.body, "Options."+c.option)):
			t.Errorf("Host %q Origin %q: %d %s, want 403 naming %s", c.host, c.origin, a.status, a.body, c.option)
		}
	}
	if a := byDefault.ask(callTool("1", "echo", `{}`).with("Origin", "http://localhost", "http://localhost")); a.status != 403 {
		t.Errorf("two Origins: %d", a.status)
	}
}

func TestCaseH05Preflight(t *testing.T) {
	s := serveSite(t, &mcphttp.Options{AllowedOrigins: []string{"https://app.example.com"},
		Authenticate: func(*http.Request) (*mcp.Principal, error) { return nil, &mcphttp.AuthError{} }})
	asked := "authorization,content-type,mcp-protocol-version,mcp-session-id,mcp-method,mcp-name,mcp-param-region,last-event-id,x-evil"
	for method := range strings.SplitSeq(methodsServed, ", ") {
		a := s.ask(&request{method: http.MethodOptions, header: http.Header{
			"Origin": {"https://app.example.com"}, "Access-Control-Request-Method": {method}, "Access-Control-Request-Headers": {asked},
		}})
		if a.status != 204 || a.header.Get("Access-Control-Allow-Origin") != "https://app.example.com" ||
			!strings.Contains(a.header.Get("Access-Control-Allow-Methods"), method) {
			t.Fatalf("preflight of %s: %d %v", method, a.status, a.header)
		}
		allowed := "," + strings.ToLower(strings.ReplaceAll(a.header.Get("Access-Control-Allow-Headers"), " ", "")) + ","
		for name := range strings.SplitSeq(asked, ",") {
			if strings.Contains(allowed, ","+name+",") == (name == "x-evil") {
				t.Errorf("header %s in %s", name, allowed)
			}
		}
		if a.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Error("credentials allowed")
		}
	}
	a := s.ask(&request{method: http.MethodOptions, header: http.Header{"Origin": {"http://localhost:5"}, "Access-Control-Request-Method": {"POST"}}})
	if a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("CORS for an origin that is not listed")
	}
}

func TestCaseH06ExposedHeaders(t *testing.T) {
	refuse := false
	s := serveSite(t, &mcphttp.Options{AllowedOrigins: []string{"https://app.example.com"},
		Authenticate: func(*http.Request) (*mcp.Principal, error) {
			if refuse {
				return nil, &mcphttp.AuthError{Challenges: []string{`Bearer resource_metadata="x"`}}
			}
			return nil, nil //nolint:nilnil // anonymous
		}})
	for range 2 {
		a := s.ask(plainPost(initBody("2025-11-25")).with("Origin", "https://app.example.com"))
		exposed := a.header.Get("Access-Control-Expose-Headers")
		if !strings.Contains(exposed, "Mcp-Session-Id") || !strings.Contains(exposed, "WWW-Authenticate") ||
			a.header.Get("Access-Control-Allow-Origin") != "https://app.example.com" || a.header.Get("Vary") != "Origin" {
			t.Errorf("%d %v", a.status, a.header)
		}
		if refuse && (a.status != 401 || a.header.Get("WWW-Authenticate") == "") {
			t.Errorf("refusal: %d %v", a.status, a.header)
		}
		refuse = true
	}
}

func TestCaseH07TrailingSlash(t *testing.T) {
	s := serveSite(t, &mcphttp.Options{Authenticate: func(r *http.Request) (*mcp.Principal, error) {
		if r.Header.Get("Authorization") != "Bearer good" {
			return nil, &mcphttp.AuthError{Challenges: []string{"Bearer"}, Message: "a token is needed"}
		}
		return &mcp.Principal{Subject: "a"}, nil
	}})
	base := s.url
	for _, url := range []string{base, base + "/"} {
		s.url = url
		if a := s.ask(callTool("1", "echo", `{"text":"hi"}`).with("Authorization", "Bearer good")); a.status != 200 {
			t.Errorf("%s with a token: %d %s", url, a.status, a.body)
		}
		a := s.ask(callTool("1", "echo", `{"text":"hi"}`))
		if a.status != 401 || a.header.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(a.body, "a token is needed") {
			t.Errorf("%s without: %d %v %s", url, a.status, a.header, a.body)
		}
	}
	s.url = base + "/other"
	if a := s.ask(callTool("1", "echo", `{}`)); a.status != 404 {
		t.Errorf("another path: %d", a.status)
	}
}

func TestHeaderCap(t *testing.T) {
	s := serveSite(t, &mcphttp.Options{MaxHeaderBytes: 2000})
	if a := s.ask(callTool("1", "echo", `{"text":"x"}`).with("X-Big", strings.Repeat("x", 2000))); a.status != 431 {
		t.Errorf("large headers: %d", a.status)
	}
}

func TestAuthenticateRunsBeforeTheBodyIsRead(t *testing.T) {
	srv, _ := newServer(nil)
	h := mcphttp.NewHandler(srv, &mcphttp.Options{Authenticate: func(*http.Request) (*mcp.Principal, error) {
		return nil, &mcphttp.AuthError{Status: 403, Challenges: []string{"Bearer a", "Basic b"}, Err: errors.New("secret reason")}
	}})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", failingReader{t})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 403 || len(w.Header()["Www-Authenticate"]) != 2 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

type failingReader struct{ t *testing.T }

func (f failingReader) Read([]byte) (int, error) {
	f.t.Error("the body was read")
	return 0, errors.New("read")
}

func TestAuthenticateFailureIsNotTheClients(t *testing.T) {
	s := serveSite(t, &mcphttp.Options{Authenticate: func(*http.Request) (*mcp.Principal, error) {
		return nil, errors.New("database is down")
	}})
	a := s.ask(callTool("1", "echo", `{}`))
	if a.status != 500 || strings.Contains(a.body, "database") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestPrincipalFromOuterMiddleware(t *testing.T) {
	srv, _ := newServer(nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "who"}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		return c.Principal().Subject, nil
	})
	h := mcphttp.NewHandler(srv, nil)
	r := callTool("1", "who", `{}`)
	req := httptest.NewRequestWithContext(mcphttp.WithPrincipal(t.Context(), &mcp.Principal{Subject: "alice"}),
		http.MethodPost, "http://localhost/mcp", strings.NewReader(r.body))
	req.Header = r.header
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	if !strings.Contains(w.Body.String(), "alice") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAuthorizeAfterDecodingChallenges(t *testing.T) {
	srv, g := newServer(&mcp.ServerOptions{Authorize: func(_ context.Context, c *mcp.Call) error {
		if c.Method() == "tools/call" {
			return &mcphttp.AuthError{Status: 403, Challenges: []string{`Bearer error="insufficient_scope"`}}
		}
		return nil
	}})
	s := serveServer(t, srv, g, nil)
	for _, r := range s.inEachEra("echo", `{"text":"x"}`) {
		a := s.ask(r)
		if a.status != 403 || !strings.Contains(a.header.Get("WWW-Authenticate"), "insufficient_scope") {
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
	}
}

func TestBadOptionsAreNamed(t *testing.T) {
	srv, _ := newServer(nil)
	for name, o := range map[string]*mcphttp.Options{
		"AllowedHosts":         {AllowedHosts: []string{"https://x"}},
		"AllowedOrigins":       {AllowedOrigins: []string{"x.example"}},
		"MaxBodyBytes":         {MaxBodyBytes: -1},
		"Path":                 {Path: "mcp"},
		"Sessions.IdleTimeout": {Sessions: &mcphttp.SessionOptions{IdleTimeout: -1}},
		"Sessions.MaxSessions": {Sessions: &mcphttp.SessionOptions{MaxSessions: -1}},
	} {
		func() {
			defer func() {
				err, _ := recover().(error)
				if err == nil || !strings.Contains(err.Error(), "Options."+name+":") {
					t.Errorf("%s: %v", name, err)
				}
			}()
			mcphttp.NewHandler(srv, o)
		}()
	}
	defer func() {
		if recover() == nil {
			t.Error("a nil server was accepted")
		}
	}()
	mcphttp.NewHandler(nil, nil)
}
