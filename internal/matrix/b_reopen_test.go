package matrix_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/internal/matrix"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// B04, N02: a client that listens goes on listening when its connections are cut, and when another server has taken the place of
// the one that it knew.
func TestCaseB04N02ListenersComeBack(t *testing.T) {
	for _, l := range matrix.Legs(matrix.Is(matrix.HTTP), pages) {
		t.Run(l.String(), func(t *testing.T) {
			var current atomic.Pointer[mcphttp.Handler]
			start := func() *mcp.Server {
				srv := newField()
				h := mcphttp.NewHandler(srv, &mcphttp.Options{Logger: quiet()})
				t.Cleanup(func() {
					if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
						t.Error(err)
					}
				})
				current.Store(h)
				return srv
			}
			first := start()
			ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { current.Load().ServeHTTP(w, r) }))
			defer ts.Close()
			defer ts.CloseClientConnections()
			c, err := mcp.Connect(t.Context(), mcphttp.Dial(ts.URL), &mcp.ClientOptions{Revisions: []mcp.Revision{l.Revision}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			got := make(chan mcp.Notice, 1000)
			sub, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"note:///a"}},
				func(_ context.Context, n mcp.Notice) { got <- n })
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Close()
			hear := func(srv *mcp.Server, what string) {
				t.Helper()
				tick := time.NewTicker(20 * time.Millisecond)
				defer tick.Stop()
				for begun := time.Now(); time.Since(begun) < 20*time.Second; { // what is told while nobody listens is not heard: tell it until it is
					srv.ResourceUpdated("note:///a")
					select {
					case n := <-got:
						if n.URI == "note:///a" && !n.Gap {
							return
						}
					case <-tick.C:
					}
				}
				t.Fatalf("%s: nothing came", what)
			}
			first.ResourceUpdated("note:///a")
			hear(first, "at first")
			ts.CloseClientConnections()
			if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "note:///a"}); err != nil { // which can be sent again
				t.Errorf("after a cut: %v", err)
			}
			if l.Modern() { // in a session what was missed is sent again
				waitFor(t, got, func(n mcp.Notice) bool { return n.Gap })
			}
			hear(first, "after a cut")
			second := start()
			ts.CloseClientConnections()
			if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "note:///a"}); err != nil { // which can be sent again
				t.Errorf("after a restart: %v", err)
			}
			waitFor(t, got, func(n mcp.Notice) bool { return n.Gap })
			hear(second, "after a restart")
		})
	}
}

func waitFor(t *testing.T, got <-chan mcp.Notice, is func(mcp.Notice) bool) {
	t.Helper()
	for timeout := time.After(20 * time.Second); ; {
		select {
		case n := <-got:
			if is(n) {
				return
			}
		case <-timeout:
			t.Fatal("the notice did not come")
		}
	}
}
