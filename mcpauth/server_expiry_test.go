package mcpauth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
)

// A bubbleEnd is a protected endpoint without a network, whose issuer's clock is exact.
type bubbleEnd struct {
	t *testing.T
	i *issuer
	h http.Handler
}

// request serves one request until it ends.
func (b *bubbleEnd) request(ctx context.Context, method, token, body string, header map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, resourceURL, strings.NewReader(body))
	if q := header["query"]; q != "" {
		r.URL.RawQuery = q
		delete(header, "query")
	}
	r.Host = "travel.example"
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	b.h.ServeHTTP(w, r)
	return w
}

// lasting is a token that lasts for some time.
func (b *bubbleEnd) lasting(d time.Duration) string {
	return b.i.token(claims{"exp": time.Now().Add(d).Unix()})
}

// inBubble runs f with an endpoint made by handler.
func inBubble(t *testing.T, handler func(srv *mcp.Server, o *mcphttp.Options) http.Handler, f func(t *testing.T, b *bubbleEnd)) {
	k := newKey(t, "k1", jose.ES256)
	synctest.Test(t, func(t *testing.T) {
		i := bubbleIssuer(t, k)
		res := resourceWith(t, mcpauth.JWT(i.url, &mcpauth.JWTOptions{Logger: quiet, ClockSkew: -1, Fetch: &mcpauth.FetchOptions{RoundTripper: i}}), nil)
		srv := protectedServer(t, res, nil)
		h := handler(srv, res.HTTP(&mcphttp.Options{Logger: quiet, KeepAlive: -1}))
		f(t, &bubbleEnd{t: t, i: i, h: h})
		if c, ok := h.(*mcphttp.Handler); ok {
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
}

func streamable(srv *mcp.Server, o *mcphttp.Options) http.Handler { return mcphttp.NewHandler(srv, o) }

// TestThreat31StreamsEndWithTheirToken holds streams open for longer than the token that opened them is good.
func TestThreat31StreamsEndWithTheirToken(t *testing.T) {
	const listen = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	inBubble(t, streamable, func(t *testing.T, b *bubbleEnd) {
		begin := time.Now()
		w := b.request(t.Context(), "POST", b.lasting(time.Minute), listen, map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"})
		if took := time.Since(begin); w.Code != 200 || took != time.Minute {
			t.Errorf("listen: %d after %v: %s", w.Code, took, w.Body)
		}
	})
	for _, rev := range handshakes {
		inBubble(t, streamable, func(t *testing.T, b *bubbleEnd) {
			w := b.request(t.Context(), "POST", b.lasting(time.Minute), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+rev+
				`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nil)
			session := map[string]string{"Mcp-Session-Id": w.Header().Get("Mcp-Session-Id")}
			time.Sleep(30 * time.Second)
			begin := time.Now()
			w = b.request(t.Context(), "GET", b.lasting(10*time.Minute), "", session)
			if took := time.Since(begin); w.Code != 200 || took != 10*time.Minute {
				t.Errorf("GET: %d after %v: %s", w.Code, took, w.Body)
			}
			if w := b.request(t.Context(), "GET", b.lasting(0), "", session); w.Code != 401 {
				t.Errorf("GET with an old token: %d", w.Code)
			}
		})
	}
}
