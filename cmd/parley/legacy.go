//go:build !mcp_modern_only

package main

// legacyBuilt says whether this program speaks the revisions that begin with a handshake.
const legacyBuilt = true
