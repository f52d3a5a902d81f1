//go:build !mcp_modern_only

package mcpauth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
)

// handshakes are the revisions with a handshake that have authorization.
var handshakes = []string{"2025-03-26", "2025-06-18", "2025-11-25"}

// TestThreat31OldStreamIsRenewed: where the stream is the session, as in HTTP+SSE, it lasts for as long as the latest token.
func TestThreat31OldStreamIsRenewed(t *testing.T) {
	sse := func(srv *mcp.Server, o *mcphttp.Options) http.Handler { return mcphttp.NewSSEHandler(srv, o) }
	inBubble(t, sse, func(t *testing.T, b *bubbleEnd) {
		for _, renewed := range []bool{false, true} {
			begin := time.Now()
			var wg sync.WaitGroup
			pr := &eventPeek{ResponseRecorder: httptest.NewRecorder(), first: make(chan string, 1)}
			wg.Go(func() {
				r := httptest.NewRequestWithContext(t.Context(), "GET", resourceURL, nil)
				r.Host = "travel.example"
				r.Header.Set("Authorization", "Bearer "+b.lasting(time.Minute))
				r.Header.Set("Accept", "text/event-stream")
				b.h.ServeHTTP(pr, r)
			})
			query := <-pr.first
			<-time.After(30 * time.Second) // the bubble's
			want := time.Minute
			if renewed {
				want = 90 * time.Second
				if w := b.request(t.Context(), "POST", b.lasting(time.Minute), `{"jsonrpc":"2.0","id":1,"method":"ping"}`, map[string]string{"query": query}); w.Code != 202 && w.Code != 400 {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			}
			wg.Wait()
			if took := time.Since(begin); took != want {
				t.Errorf("renewed %v: ended after %v", renewed, took)
			}
		}
	})
}

// An eventPeek tells the query of the endpoint that the first event names.
type eventPeek struct {
	*httptest.ResponseRecorder
	first chan string
}

func (p *eventPeek) Write(b []byte) (int, error) {
	if _, q, ok := strings.Cut(string(b), "?"); ok {
		select {
		case p.first <- strings.TrimSpace(q):
		default:
		}
	}
	return p.ResponseRecorder.Write(b)
}

// TestScopesOverSSE: an anonymous caller over HTTP+SSE is one over HTTP, and not one on stdio who needs no scopes.
func TestScopesOverSSE(t *testing.T) {
	i := newIssuer(t)
	for name, protect := range map[string]bool{"by the server": false, "by the resource": true} {
		t.Run(name, func(t *testing.T) {
			res := newResource(t, i, &mcpauth.ResourceOptions{Anonymous: true})
			o := &mcp.ServerOptions{Logger: quiet}
			if protect {
				o = res.Protect(o)
			}
			srv := mcp.NewServer("s", "1", o)
			mcp.AddTool(srv, &mcp.Tool{Name: "book", Scopes: []string{"trips.book"}}, func(context.Context, *mcp.Call, struct{}) (string, error) {
				t.Error("it ran")
				return "", nil
			})
			s := httptest.NewServer(mcphttp.NewSSEHandler(srv, &mcphttp.Options{Logger: quiet, Authenticate: res.Authenticate}))
			defer s.Close()
			c, err := mcp.Connect(t.Context(), mcphttp.Dial(s.URL, &mcphttp.DialOptions{Client: s.Client()}), &mcp.ClientOptions{Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "book"}); err == nil {
				t.Error("it was let through")
			}
		})
	}
}
