package mcpauth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
)

// An endpoint is a protected MCP server on this computer.
type endpoint struct {
	t   testing.TB
	url string
	res *mcpauth.Resource
	srv *mcp.Server
}

// serve serves a protected server.
func serve(t testing.TB, res *mcpauth.Resource, o *mcp.ServerOptions) *endpoint {
	t.Helper()
	return serveServer(t, res, protectedServer(t, res, o))
}

// serveServer serves a server at a protected endpoint.
func serveServer(t testing.TB, res *mcpauth.Resource, srv *mcp.Server) *endpoint {
	t.Helper()
	mux := http.NewServeMux()
	h := mcphttp.NewHandler(srv, res.HTTP(&mcphttp.Options{Logger: quiet}))
	res.Mount(mux, h)
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		_ = h.Close(context.Background())
	})
	return &endpoint{t: t, url: s.URL, res: res, srv: srv}
}

// protectedServer makes a server with a free tool, one that needs a scope and one that needs two, and prompts and resources.
func protectedServer(t testing.TB, res *mcpauth.Resource, o *mcp.ServerOptions) *mcp.Server {
	t.Helper()
	if o == nil {
		o = &mcp.ServerOptions{}
	}
	o.Logger = quiet
	srv := mcp.NewServer("travel", "1", res.Protect(o))
	who := func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		if p := c.Principal(); p != nil {
			return p.Subject, nil
		}
		return "nobody", nil
	}
	mcp.AddTool(srv, &mcp.Tool{Name: "who"}, who)
	mcp.AddTool(srv, &mcp.Tool{Name: "book", Scopes: []string{"trips.book"}}, who)
	mcp.AddTool(srv, &mcp.Tool{Name: "pay", Scopes: []string{"trips.book", "money"}}, who)
	mcp.AddPrompt(srv, &mcp.Prompt{Name: "plan", Scopes: []string{"money"}}, func(context.Context, *mcp.Call, map[string]string) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{}}, nil
	})
	text := func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "x"}}}, nil
	}
	mcp.AddResource(srv, &mcp.Resource{URI: "trip://open", Name: "open"}, text)
	mcp.AddResource(srv, &mcp.Resource{URI: "trip://bill", Name: "bill", Scopes: []string{"money"}}, text)
	mcp.AddResourceTemplate(srv, &mcp.ResourceTemplate{URITemplate: "trip://bills/{n}", Name: "bills", Scopes: []string{"money"}},
		func(ctx context.Context, c *mcp.Call, _ mcp.TemplateVars) (*mcp.ReadResourceResult, error) {
			return text(ctx, c)
		})
	none := func(context.Context, *mcp.Call, mcp.CompleteArgument, map[string]string) (*mcp.Completion, error) {
		return nil, nil
	}
	if err := errors.Join(srv.CompletePrompt("plan", none), srv.CompleteResourceTemplate("trip://bills/{n}", none)); err != nil {
		t.Fatal(err)
	}
	return srv
}

// An answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
	result map[string]any
	err    map[string]any
}

func (a *answer) challenge() *mcpauth.Challenge { return mcpauth.ParseChallenge(a.header) }

// names are those of the entries of a list.
func (a *answer) names(member string) []string {
	var names []string
	list, _ := a.result[member].([]any)
	for _, e := range list {
		names = append(names, e.(map[string]any)["name"].(string))
	}
	return names
}

// A caller is a client at some revision with some token. Its requests are written by hand, so that each header is the test's.
type caller struct {
	*endpoint
	rev, token, session string
}

// as makes a caller; at the revisions that have one it opens a session.
func (e *endpoint) as(rev, token string) *caller {
	e.t.Helper()
	c := &caller{endpoint: e, rev: rev, token: token}
	if rev < "2026" {
		a := c.ask("initialize", map[string]any{"protocolVersion": rev, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"}})
		if a.status != 200 {
			e.t.Fatalf("initialize: %d %s", a.status, a.body)
		}
		c.session = a.header.Get("Mcp-Session-Id")
		if a := c.send("POST", []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), nil); a.status != 202 {
			e.t.Fatalf("initialized: %d %s", a.status, a.body)
		}
	}
	return c
}

// ask sends a request.
func (c *caller) ask(method string, params map[string]any) *answer {
	c.t.Helper()
	p := maps.Clone(params)
	if p == nil {
		p = map[string]any{}
	}
	h := http.Header{}
	if c.rev >= "2026" {
		p["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": c.rev, "io.modelcontextprotocol/clientCapabilities": map[string]any{}}
		h.Set("Mcp-Method", method)
		for _, name := range []string{"name", "uri"} {
			if s, ok := p[name].(string); ok && method != "completion/complete" {
				h.Set("Mcp-Name", s)
			}
		}
	}
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": p})
	if err != nil {
		c.t.Fatal(err)
	}
	return c.send("POST", raw, h)
}

// call calls a tool.
func (c *caller) call(tool string) *answer {
	c.t.Helper()
	return c.ask("tools/call", map[string]any{"name": tool, "arguments": map[string]any{}})
}

// send sends a body.
func (c *caller) send(method string, body []byte, header http.Header) *answer {
	c.t.Helper()
	resp := c.open(c.t.Context(), method, body, header)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	a := &answer{status: resp.StatusCode, header: resp.Header, body: string(raw)}
	var m struct {
		Result, Error map[string]any
	}
	if json.Unmarshal(raw, &m) == nil {
		a.result, a.err = m.Result, m.Error
	}
	return a
}

// open sends a body and leaves the answer to be read.
func (c *caller) open(ctx context.Context, method string, body []byte, header http.Header) *http.Response {
	c.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, c.url+"/mcp", bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" || c.rev >= "2026" {
		req.Header.Set("MCP-Protocol-Version", c.rev)
	}
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp
}

// everywhere are the revisions that have authorization.
var everywhere = append(handshakes, "2026-07-28")

func TestScopesOfTools(t *testing.T) {
	i := newIssuer(t)
	e := serve(t, newResource(t, i, &mcpauth.ResourceOptions{Scopes: []string{"trips.read"}, Implies: map[string][]string{"all": {"trips.book", "money"}}}), nil)
	for _, rev := range everywhere {
		t.Run(rev, func(t *testing.T) {
			c := e.as(rev, i.token(nil)) // trips.read trips.book
			for tool, want := range map[string]int{"who": 200, "book": 200, "pay": 403} {
				if a := c.call(tool); a.status != want {
					t.Errorf("%s: %d %s", tool, a.status, a.body)
				}
			}
			for _, ask := range []struct {
				method string
				params map[string]any
			}{
				{"tools/call", map[string]any{"name": "pay"}},
				{"prompts/get", map[string]any{"name": "plan"}},
				{"resources/read", map[string]any{"uri": "trip://bill"}},
				{"resources/read", map[string]any{"uri": "trip://bills/1"}},
				{"completion/complete", map[string]any{"ref": map[string]any{"type": "ref/prompt", "name": "plan"}, "argument": map[string]any{"name": "a", "value": ""}}},
				{"completion/complete", map[string]any{"ref": map[string]any{"type": "ref/resource", "uri": "trip://bills/{n}"}, "argument": map[string]any{"name": "n", "value": ""}}},
			} {
				a := c.ask(ask.method, ask.params)
				want := []string{"money", "trips.read"}
				if ask.method == "tools/call" {
					want = []string{"money", "trips.book", "trips.read"}
				}
				ch := a.challenge()
				if a.status != 403 || ch == nil || ch.Error != "insufficient_scope" || !slices.Equal(ch.Scopes, want) || ch.ResourceMetadata == "" {
					t.Errorf("%s: %d %+v %s", ask.method, a.status, ch, a.body)
				}
				if msg, _ := a.err["message"].(string); !strings.Contains(msg, "this needs the scope trips.read ") {
					t.Errorf("%s: %s", ask.method, a.body)
				}
			}
			c.token = i.token(claims{"scope": "trips.read all"})
			for _, tool := range []string{"who", "book", "pay"} {
				if a := c.call(tool); a.status != 200 {
					t.Errorf("with all: %s: %d %s", tool, a.status, a.body)
				}
			}
			if a := c.ask("resources/read", map[string]any{"uri": "trip://nothing"}); a.challenge() != nil {
				t.Errorf("what does not exist: %d %s", a.status, a.body)
			}
			if got := c.ask("tools/list", nil).names("tools"); !slices.Equal(got, []string{"who", "book", "pay"}) {
				t.Errorf("listed: %v", got)
			}
		})
	}
}

func TestScopesOfSubscriptions(t *testing.T) {
	i := newIssuer(t)
	e := serve(t, newResource(t, i, nil), nil)
	listen := map[string]any{"notifications": map[string]any{"resourceSubscriptions": []string{"trip://open", "trip://bill", "trip://bills/2"}}}
	if a := e.as("2026-07-28", i.token(nil)).ask("subscriptions/listen", listen); a.status != 403 || !slices.Equal(a.challenge().Scopes, []string{"money"}) {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, rev := range handshakes {
		c := e.as(rev, i.token(nil))
		if a := c.ask("resources/subscribe", map[string]any{"uri": "trip://bill"}); a.status != 403 {
			t.Errorf("%d %s", a.status, a.body)
		}
		if a := c.ask("resources/subscribe", map[string]any{"uri": "trip://open"}); a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
}

func TestHiddenByScope(t *testing.T) {
	i := newIssuer(t)
	e := serve(t, newResource(t, i, &mcpauth.ResourceOptions{Hide: true, Scopes: []string{"trips.read"}}), nil)
	for _, rev := range everywhere {
		t.Run(rev, func(t *testing.T) {
			c := e.as(rev, i.token(nil))
			for _, l := range []struct {
				method, member string
				want           []string
			}{
				{"tools/list", "tools", []string{"who", "book"}}, {"prompts/list", "prompts", nil},
				{"resources/list", "resources", []string{"open"}}, {"resources/templates/list", "resourceTemplates", nil},
			} {
				if got := c.ask(l.method, nil).names(l.member); !slices.Equal(got, l.want) {
					t.Errorf("%s: %v, want %v", l.method, got, l.want)
				}
			}
			hidden, missing := c.call("pay"), c.call("nothing")
			if hidden.status != missing.status || hidden.challenge() != nil || strings.ReplaceAll(hidden.body, "pay", "nothing") != missing.body {
				t.Errorf("%d %s, %d %s", hidden.status, hidden.body, missing.status, missing.body)
			}
			c.token = i.token(claims{"scope": "trips.read trips.book money"})
			if a := c.call("pay"); a.status != 200 || len(c.ask("prompts/list", nil).names("prompts")) != 1 {
				t.Errorf("with the scope: %d %s", a.status, a.body)
			}
		})
	}
}

func TestAnonymousCallers(t *testing.T) {
	i := newIssuer(t)
	e := serve(t, newResource(t, i, &mcpauth.ResourceOptions{Anonymous: true}), nil)
	for _, rev := range everywhere {
		c := e.as(rev, "")
		if a := c.call("who"); a.status != 200 || !strings.Contains(a.body, "nobody") {
			t.Errorf("%s: %d %s", rev, a.status, a.body)
		}
		a := c.call("book")
		if ch := a.challenge(); a.status != 401 || ch == nil || ch.Error != "" || !slices.Equal(ch.Scopes, []string{"trips.book"}) {
			t.Errorf("%s: %d %+v", rev, a.status, ch)
		}
		c.token = "bad"
		if a := c.call("who"); a.status != 401 {
			t.Errorf("%s: a bad token: %d", rev, a.status)
		}
	}
}

// TestCaseN10TokensAndSessions has another person, and the same one with a new token, use a session.
func TestCaseN10TokensAndSessions(t *testing.T) {
	i := newIssuer(t)
	e := serve(t, newResource(t, i, nil), nil)
	for _, rev := range handshakes {
		alice := e.as(rev, i.token(nil))
		for name, token := range map[string]string{
			"bob": i.token(claims{"sub": "bob"}), "alice at another client": i.token(claims{"client_id": "app2"}),
		} {
			thief := &caller{endpoint: e, rev: rev, token: token, session: alice.session}
			for _, got := range []*answer{thief.call("who"), thief.send("GET", nil, nil), thief.send("DELETE", nil, nil),
				thief.send("POST", []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), nil)} {
				if got.status != 404 {
					t.Errorf("%s, %s: %d %s", rev, name, got.status, got.body)
				}
			}
		}
		nobody := &caller{endpoint: e, rev: rev, session: alice.session}
		if a := nobody.call("who"); a.status != 401 {
			t.Errorf("%s, nobody: %d", rev, a.status)
		}
		alice.token = i.token(claims{"jti": "2", "scope": "more"})
		if a := alice.call("who"); a.status != 200 || !strings.Contains(a.body, "alice") {
			t.Errorf("%s, a new token: %d %s", rev, a.status, a.body)
		}
	}
}

// TestCaseW08TwoPeopleOneServer interleaves two people with two clients each.
func TestCaseW08TwoPeopleOneServer(t *testing.T) {
	i := newIssuer(t)
	e := serve(t, newResource(t, i, nil), nil)
	for _, rev := range everywhere {
		people := map[string][]*caller{}
		for _, name := range []string{"alice", "bob"} {
			for _, client := range []string{"app", "app2"} {
				people[name] = append(people[name], e.as(rev, i.token(claims{"sub": name, "client_id": client})))
			}
		}
		for range 3 {
			for name, callers := range people {
				for _, c := range callers {
					if a := c.call("who"); a.status != 200 || !strings.Contains(a.body, name) {
						t.Errorf("%s: %d %s", name, a.status, a.body)
					}
				}
			}
		}
	}
}

func TestCaseA06MetadataOfTheServer(t *testing.T) {
	i := newIssuer(t)
	e := serve(t, newResource(t, i, &mcpauth.ResourceOptions{Scopes: []string{"a"}, ScopesSupported: []string{"a", "b"}, Name: "Travel", Documentation: "https://travel.example/docs"}), nil)
	for _, path := range []string{"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"} {
		get := func(method string) *http.Response {
			req, _ := http.NewRequest(method, e.url+path, nil)
			req.Header.Set("Origin", "https://page.example")
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { resp.Body.Close() })
			return resp
		}
		resp := get("GET")
		var doc map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil {
			t.Fatal(err)
		}
		if resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%v", resp.Header)
		}
		servers, _ := doc["authorization_servers"].([]any)
		scopes, _ := doc["scopes_supported"].([]any)
		if doc["resource"] != resourceURL || len(servers) != 1 || servers[0] != i.url || len(scopes) != 2 || doc["resource_name"] != "Travel" {
			t.Errorf("%v", doc)
		}
		for method, want := range map[string]int{"HEAD": 200, "OPTIONS": 204, "POST": 405} {
			if resp := get(method); resp.StatusCode != want || resp.Header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%s: %d %v", method, resp.StatusCode, resp.Header)
			}
		}
	}
}
