package mcpauth_test

import (
	"context"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
)

// TestScopesOnPipes: on stdio and pipes nobody has tokens, and the person whose process it is may use everything.
func TestScopesOnPipes(t *testing.T) {
	i := newIssuer(t)
	for _, hide := range []bool{false, true} {
		srv := protectedServer(t, newResource(t, i, &mcpauth.ResourceOptions{Hide: hide}), nil)
		c, err := mcp.Connect(t.Context(), mcp.Pipe(srv.ServeConn), &mcp.ClientOptions{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay"}); err != nil || r.IsError {
			t.Errorf("%+v, %v", r, err)
		}
		if l, err := c.ListTools(t.Context(), nil); err != nil || len(l.Tools) != 3 {
			t.Errorf("%+v, %v", l, err)
		}
	}
}

// TestScopesWithoutAnybodyToCheckThem: what declares scopes is not open because nobody authorizes calls.
func TestScopesWithoutAnybodyToCheckThem(t *testing.T) {
	i := newIssuer(t)
	res := newResource(t, i, nil)
	srv := mcp.NewServer("s", "1", &mcp.ServerOptions{Logger: quiet}) // Protect was forgotten
	mcp.AddTool(srv, &mcp.Tool{Name: "book", Scopes: []string{"trips.book"}}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
	e := serveServer(t, res, srv)
	for _, rev := range everywhere {
		for scope, want := range map[string]int{"trips.book": 200, "trips.read": 403} {
			if a := e.as(rev, i.token(claims{"scope": scope})).call("book"); a.status != want {
				t.Errorf("%s, %s: %d %s", rev, scope, a.status, a.body)
			}
		}
	}
}

// TestProtectKeepsHooks: the hooks of a server's own are called as well.
func TestProtectKeepsHooks(t *testing.T) {
	i := newIssuer(t)
	own := &mcp.Error{Code: -1, Message: "own rule"}
	e := serve(t, newResource(t, i, &mcpauth.ResourceOptions{Hide: true}), &mcp.ServerOptions{
		Authorize: func(_ context.Context, c *mcp.Call) error {
			if c.Name() == "who" {
				return own
			}
			return nil
		},
		Visible: func(_ *mcp.Call, _ mcp.Kind, name string) bool { return name != "book" },
	})
	for _, rev := range everywhere {
		c := e.as(rev, i.token(nil))
		if a := c.call("who"); !strings.Contains(a.body, own.Message) {
			t.Errorf("%s: %d %s", rev, a.status, a.body)
		}
		if names := c.ask("tools/list", nil).names("tools"); len(names) != 1 || names[0] != "who" {
			t.Errorf("%s: %v", rev, names)
		}
	}
}

func TestScopesThatAreNone(t *testing.T) {
	srv := mcp.NewServer("s", "1", nil)
	for _, bad := range []string{"", "a b", `a"`, `a\`, "ä", "a\n"} {
		scopes := []string{"good", bad}
		h := func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }
		read := func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) { return nil, nil }
		for what, err := range map[string]error{
			"tool":     mcp.RegisterTool(srv, &mcp.Tool{Name: "t", Scopes: scopes}, h),
			"resource": mcp.RegisterResource(srv, &mcp.Resource{URI: "a:b", Name: "r", Scopes: scopes}, read),
		} {
			if err == nil || !strings.Contains(err.Error(), "Scopes") {
				t.Errorf("%s with %q: %v", what, bad, err)
			}
		}
	}
}
