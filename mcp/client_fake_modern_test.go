//go:build mcp_modern_only

package mcp_test

import (
	"testing"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// legacyOrModern makes a fake of the other era where this build has it.
func legacyOrModern(t *testing.T) *fakeServer {
	f := modernFake(t)
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, textResult("")) }
	return f
}
