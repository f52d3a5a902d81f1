//go:build !mcp_modern_only

package mcp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/mcp"
)

// hiding returns a server that hides everything with "hidden" in its name from everybody but alice.
func hiding(t *testing.T) *testServer {
	t.Helper()
	s := newServer(t, &mcp.ServerOptions{NoticeDelay: -1, Visible: func(c *mcp.Call, _ mcp.Kind, name string) bool {
		return !strings.Contains(name, "hidden") || c.Principal() != nil && c.Principal().Subject == "alice"
	}})
	read := func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{}, nil
	}
	for i := range 5 {
		mcp.AddTool(s.Server, &mcp.Tool{Name: fmt.Sprint("open", i)}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
		mcp.AddResource(s.Server, &mcp.Resource{URI: fmt.Sprint("note:///open/", i), Name: "n"}, read)
	}
	mcp.AddTool(s.Server, &mcp.Tool{Name: "hidden_tool", InputSchema: []byte(`{"type":"object","properties":{"tenant":{"type":"string","x-mcp-header":"Tenant"}}}`)},
		func(context.Context, *mcp.Call, json.RawMessage) (string, error) { return "", nil })
	mcp.AddResource(s.Server, &mcp.Resource{URI: "note:///hidden/alice", Name: "n"}, read)
	mcp.AddResourceTemplate(s.Server, &mcp.ResourceTemplate{URITemplate: "hidden:///{x}", Name: "n"},
		func(context.Context, *mcp.Call, mcp.TemplateVars) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{}, nil
		})
	return s
}

// A forged cursor must not tell whether something hidden exists.
func TestAttackCursorIsNoOracle(t *testing.T) {
	s := hiding(t)
	list := func(name string) string {
		cursor := base64.RawURLEncoding.EncodeToString([]byte("1 2 " + name))
		return s.modern(t, "tools/list", fmt.Sprintf(`"cursor":%q`, cursor))
	}
	if a, b := list("hidden_tool"), list("hidden_none"); a != b {
		t.Errorf("the cursor tells of a hidden tool:\n%s\n%s", a, b)
	}
}

// Neither may a subscription, in any era.
func TestAttackSubscriptionIsNoOracle(t *testing.T) {
	s := hiding(t)
	l := s.handshake(t, "2025-11-25")
	for _, uri := range []string{"note:///hidden/alice", "note:///hidden/none"} {
		if got := l.call("resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri)); strings.Contains(got, `"error"`) {
			t.Errorf("subscribe %s: %s", uri, got)
		}
	}
}

// What is hidden must not be told of either: not to who subscribes to what lies above it, and not to who subscribed before it was there.
func TestAttackSubscriptionToldOfHidden(t *testing.T) {
	for _, uri := range []string{"note:", "note:///hidden", "note:///hidden/alice", "note:///hidden/later", "hidden:///x"} {
		t.Run(uri, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := hiding(t)
				l := s.handshake(t, "2025-11-25")
				l.call("resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				heard := make(chan string, 10)
				go func() {
					defer close(heard)
					for {
						m, err := l.session.Next(ctx)
						if err != nil {
							return
						}
						heard <- m.Method + string(m.Params)
					}
				}()
				stream := &recorder{}
				x := exchange(t, modernLine(9, "subscriptions/listen", fmt.Sprintf(`"notifications":{"resourceSubscriptions":[%q]}`, uri)))
				x.Stream = stream
				done := make(chan struct{})
				go func() { defer close(done); s.serve(ctx, x) }()
				synctest.Wait()
				mcp.AddResource(s.Server, &mcp.Resource{URI: "note:///hidden/later", Name: "n"},
					func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
						return &mcp.ReadResourceResult{}, nil
					})
				for _, u := range []string{"note:///hidden/alice", "note:///hidden/later", "hidden:///x"} {
					s.ResourceUpdated(u)
				}
				time.Sleep(time.Second)
				cancel()
				<-done
				for m := range heard {
					if strings.Contains(m, `"uri"`) {
						t.Errorf("the session was told: %s", m)
					}
				}
				for _, m := range stream.lines() {
					if strings.Contains(m, "resources/updated") {
						t.Errorf("the listener was told: %s", m)
					}
				}
			})
		})
	}
}

// The headers of a hidden tool must not be missed.
func TestAttackParamHeadersAreNoOracle(t *testing.T) {
	s := hiding(t)
	call := func(name string) string {
		x := exchange(t, modernLine(1, "tools/call", fmt.Sprintf(`"name":%q,"arguments":{"tenant":"a"}`, name)))
		x.Headers = &mcp.Headers{ProtocolVersion: mcp.HeaderOf([]string{"2026-07-28"}), Method: mcp.HeaderOf([]string{"tools/call"}), Name: mcp.HeaderOf([]string{name})}
		got, status := s.serve(t.Context(), x)
		return fmt.Sprint(status, strings.ReplaceAll(got, name, "NAME"))
	}
	if a, b := call("hidden_tool"), call("hidden_none"); a != b {
		t.Errorf("the headers tell of a hidden tool:\n%s\n%s", a, b)
	}
}
