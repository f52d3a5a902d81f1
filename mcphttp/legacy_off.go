//go:build mcp_modern_only

package mcphttp

import "context"

// newHandshakeEra returns nil: this build serves revision 2026-07-28 alone.
func newHandshakeEra(*Handler) handshakeEra { return nil }

// CloseStream does nothing and returns false: this build serves revision 2026-07-28 alone, which has no streams to come back to.
func CloseStream(context.Context) bool { return false }
