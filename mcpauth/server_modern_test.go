//go:build mcp_modern_only

package mcpauth_test

// handshakes are the revisions with a handshake that are there.
var handshakes []string
