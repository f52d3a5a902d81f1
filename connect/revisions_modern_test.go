//go:build mcp_modern_only

package connect_test

import "github.com/seed38e7925c/parley/mcp"

// revisions are those that this build serves.
func revisions() []mcp.Revision { return []mcp.Revision{mcp.Revision20260728} }
