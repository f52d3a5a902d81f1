//go:build !mcp_modern_only

package matrix

import (
	"context"
	"net/http"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

func served(Leg) bool { return true }

// handler returns the handler for the leg.
func (l Leg) handler(t *testing.T, srv *mcp.Server) http.Handler {
	if !l.Revision.Rules().HTTP.Streamable {
		return mcphttp.NewSSEHandler(srv, nil)
	}
	return plainHandler(t, srv, nil)
}

func plainHandler(t *testing.T, srv *mcp.Server, o *mcphttp.Options) http.Handler {
	h := mcphttp.NewHandler(srv, o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Errorf("closing the handler: %v", err)
		}
	})
	return h
}
