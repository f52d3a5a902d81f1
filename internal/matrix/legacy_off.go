//go:build mcp_modern_only

package matrix

import (
	"net/http"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

func served(l Leg) bool { return l.Modern() }

// handler returns the handler for the leg.
func (l Leg) handler(_ *testing.T, srv *mcp.Server) http.Handler { return mcphttp.NewHandler(srv, nil) }
