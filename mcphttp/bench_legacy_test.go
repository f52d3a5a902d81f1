//go:build !mcp_modern_only

package mcphttp_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcphttp"
)

func BenchmarkHandlerSession(b *testing.B) {
	h := mcphttp.NewHandler(echoServer(), nil)
	r := plainPost(initBody("2025-11-25"))
	req := httptest.NewRequestWithContext(b.Context(), r.method, "http://localhost/mcp", strings.NewReader(r.body))
	req.Header = r.header
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	c := &legacyClient{rev: "2025-11-25", id: w.Header().Get("Mcp-Session-Id")}
	bench(b, h, c.call("1", "echo", echoArgs(100)))
}
