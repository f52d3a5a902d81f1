//go:build !mcp_modern_only

package soak

import "github.com/seed38e7925c/parley/mcp"

// spoken are the revisions that clients choose from; both eras are equally likely.
var spoken = []mcp.Revision{
	mcp.Revision20260728, mcp.Revision20260728, mcp.Revision20260728, mcp.Revision20251125, mcp.Revision20250618, mcp.Revision20250326,
}

const handshakeEra = true
