//go:build !mcp_modern_only

package mcphttp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

func TestCaseN03ReplicasBehindRoundRobin(t *testing.T) {
	keys := mcp.NewKeyRing()
	sites := make([]*site, 2)
	for i := range sites {
		sites[i] = serveSite(t, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{Stateless: true, Keys: keys}})
	}
	c := sites[0].open("2025-11-25")
	for i := range 10 {
		c.site = sites[i%2]
		if a := c.ask(c.call("1", "echo", `{"text":"hello"}`)); a.status != 200 || !strings.Contains(a.body, "hello") {
			t.Errorf("call %d: %d %s", i, a.status, a.body)
		}
		if a := c.ask(c.call("1", "progress", `{}`)); strings.Count(a.body, "notifications/progress") != 3 {
			t.Errorf("progress: %s", a.body)
		}
		if a := c.ask(callTool("1", "echo", `{"text":"modern"}`)); a.status != 200 {
			t.Errorf("2026-07-28: %d", a.status)
		}
	}
	for _, r := range []*request{c.get(""), c.del()} {
		if a := c.ask(r); a.status != 405 || a.header.Get("Allow") != "POST" {
			t.Errorf("%s: %d", r.method, a.status)
		}
	}
	c.ask(c.post(`{"jsonrpc":"2.0","id":1,"result":{}}`)).wantError(t, 400, -32600, "")
}

func TestStatelessSessionRemembersTheHandshake(t *testing.T) {
	srv, g := newServer(nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "client"}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		name := "nobody"
		if c.ClientInfo() != nil {
			name = c.ClientInfo().Name
		}
		return fmt.Sprint(c.Revision(), " ", name, " ", c.ClientCapabilities().Elicitation != nil), nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "ask"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		_, err := mcp.CallClient[struct{}, struct{}](ctx, c, "x/ask", struct{}{})
		return fmt.Sprint(err), nil
	})
	s := serveServer(t, srv, g, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{Stateless: true}})
	body := strings.Replace(initBody("2025-06-18"), `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1)
	a := s.ask(plainPost(body))
	c := &legacyClient{site: s, rev: "2025-06-18", id: a.header.Get("Mcp-Session-Id")}
	if a := s.ask(c.call("1", "client", `{}`)); !strings.Contains(a.body, "2025-06-18 t true") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := s.ask(c.call("1", "ask", `{}`)); !strings.Contains(a.body, "unavailable") {
		t.Errorf("a client without a channel back was asked: %s", a.body)
	}
	for version, want := range map[string]string{"": "2025-03-26", "2025-06-18": "2025-06-18"} { // clients that send no session id
		r := plainPost(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"client","arguments":{}}}`)
		if version != "" {
			r.with("Mcp-Protocol-Version", version)
		}
		if a := s.ask(r); !strings.Contains(a.body, want+" nobody false") {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
}

func TestStatelessSessionIsSealed(t *testing.T) {
	opts := func() *mcphttp.Options {
		return &mcphttp.Options{Sessions: &mcphttp.SessionOptions{Stateless: true},
			Authenticate: func(r *http.Request) (*mcp.Principal, error) {
				if name := r.Header.Get("Authorization"); name != "" {
					return &mcp.Principal{Subject: name}, nil
				}
				return nil, nil //nolint:nilnil // anonymous
			}}
	}
	s, other := serveSite(t, opts()), serveSite(t, opts())
	c := s.openAs("2025-11-25", "alice")
	for name, r := range map[string]*request{
		"another principal": c.call("1", "echo", `{"text":"x"}`).with("Authorization", "bob"),
		"nobody":            c.call("1", "echo", `{"text":"x"}`).without("Authorization"),
		"altered":           c.call("1", "echo", `{"text":"x"}`).with("Mcp-Session-Id", c.id[:len(c.id)-2]+"AA"),
		"made up":           c.call("1", "echo", `{"text":"x"}`).with("Mcp-Session-Id", "nope"),
	} {
		if a := s.ask(r); a.status != 404 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if a := s.ask(c.call("1", "echo", `{"text":"x"}`).with("Mcp-Session-Id", c.id, c.id)); a.status != 400 {
		t.Errorf("twice: %d", a.status)
	}
	c.site = other // has other keys
	if a := other.ask(c.call("1", "echo", `{"text":"x"}`)); a.status != 404 {
		t.Errorf("other keys: %d", a.status)
	}
}

func TestStatelessSessionIdIsBounded(t *testing.T) {
	s := serveSite(t, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{Stateless: true}})
	long := strings.Replace(initBody("2025-11-25"), `"name":"t"`, `"name":"`+strings.Repeat("n", 5000)+`"`, 1)
	a := s.ask(plainPost(long))
	if id := a.header.Get("Mcp-Session-Id"); a.status != 200 || id == "" || len(id) > 4<<10 {
		t.Errorf("%d, id of %d bytes", a.status, len(id))
	}
	big := strings.Replace(initBody("2025-11-25"), `"capabilities":{}`, `"capabilities":{"experimental":{"x":{"y":"`+strings.Repeat("n", 5000)+`"}}}`, 1)
	if a := s.ask(plainPost(big)); !strings.Contains(a.body, "-32602") || a.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := s.ask(plainPost(strings.Replace(initBody("5"), `"5"`, `5`, 1))); !strings.Contains(a.body, "-32602") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestStatelessBatch(t *testing.T) {
	s := serveSite(t, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{Stateless: true}})
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	if a := s.ask(plainPost(`[` + ping + `,42]`)); a.status != 200 || !strings.HasPrefix(a.body, "[") || !strings.Contains(a.body, "-32600") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := s.ask(plainPost(`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`)); a.status != 202 || a.body != "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := s.ask(plainPost(`[`+ping+`]`).with("Accept", "text/event-stream")); !strings.Contains(a.body, "data: {") {
		t.Errorf("%d %s", a.status, a.body)
	}
	s.ask(plainPost(`[`)).wantError(t, 400, -32700, "")
	s.ask(plainPost(`[`+ping+`]`).with("Mcp-Session-Id", "nope")).wantError(t, 404, -32600, "")
	s.ask(plainPost(`[`+ping+`]`).with("Mcp-Protocol-Version", "nope")).wantError(t, 400, -32600, "")
	s.ask(s.open("2025-06-18").post(`[`+ping+`]`)).wantError(t, 400, -32600, "")
	many := `[` + strings.TrimSuffix(strings.Repeat(ping+",", 100), ",") + `]`
	s.ask(plainPost(many)).wantError(t, 429, -32600, "")
}

func TestStatelessDisconnectIsNotCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := bubbleSite(t, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{Stateless: true}}, nil)
		defer end()
		c := s.site.open("2025-11-25")
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-s.entered
			cancel()
			time.Sleep(time.Minute)
			s.gates.open <- struct{}{}
		}()
		if _, err := s.try(ctx, c.call("1", "wait", `{}`)); err == nil {
			t.Error("answered")
		}
		if err := <-s.ended; err != nil {
			t.Errorf("cancelled: %v", err)
		}
	})
}

func TestStatelessSessionAsksByError(t *testing.T) {
	srv, g := newServer(nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "visit"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		_, err := c.Ask(ctx, &mcp.Question{Key: "k", Kind: mcp.AskURL, Message: "Please visit.", URL: "https://x.example/1"})
		return "visited", err
	})
	s := serveServer(t, srv, g, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{Stateless: true}})
	body := strings.Replace(initBody("2025-11-25"), `"capabilities":{}`, `"capabilities":{"elicitation":{"url":{}}}`, 1)
	c := &legacyClient{site: s, rev: "2025-11-25", id: s.ask(plainPost(body)).header.Get("Mcp-Session-Id")}
	if a := s.ask(c.call("1", "visit", `{}`)); !strings.Contains(a.body, "-32042") || !strings.Contains(a.body, "https://x.example/1") {
		t.Errorf("%d %s", a.status, a.body)
	}
}
