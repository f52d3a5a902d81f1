//go:build mcp_modern_only

package soak

import "github.com/seed38e7925c/parley/mcp"

var spoken = []mcp.Revision{mcp.Revision20260728}

const handshakeEra = false
