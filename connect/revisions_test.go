//go:build !mcp_modern_only

package connect_test

import "github.com/seed38e7925c/parley/mcp"

// revisions are those that this build serves over Streamable HTTP.
func revisions() []mcp.Revision {
	return []mcp.Revision{mcp.Revision20250326, mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728}
}
