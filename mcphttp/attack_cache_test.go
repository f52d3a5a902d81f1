package mcphttp_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// Two clients with fixed credentials share a cache: what the server says is private must not pass from one to the other.
func TestAttackCacheBetweenFixedCredentials(t *testing.T) {
	srv, g := newServer(&mcp.ServerOptions{
		ListTTL: time.Hour,
		Visible: func(c *mcp.Call, _ mcp.Kind, name string) bool {
			return name != "wait" || c.Principal() != nil && c.Principal().Subject == "alice"
		},
	})
	s := serveServer(t, srv, g, &mcphttp.Options{Authenticate: func(r *http.Request) (*mcp.Principal, error) {
		return &mcp.Principal{Issuer: "i", Subject: r.Header.Get("Authorization"), ClientID: "c"}, nil
	}})
	cache := mcp.NewResponseCache(nil)
	sees := func(who string) bool {
		c, err := mcp.Connect(t.Context(), mcphttp.Dial(s.url, &mcphttp.DialOptions{Header: http.Header{"Authorization": {who}}}),
			&mcp.ClientOptions{Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		for tool, err := range c.Tools(context.WithoutCancel(t.Context())) {
			if err != nil {
				t.Fatal(err)
			}
			if tool.Name == "wait" {
				return true
			}
		}
		return false
	}
	if !sees("alice") {
		t.Fatal("alice does not see her tool")
	}
	if sees("bob") {
		t.Error("bob was shown alice's list")
	}
}
