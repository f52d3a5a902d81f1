//go:build !mcp_modern_only

package mcp_test

import (
	"testing"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// legacyOrModern makes a fake of the other era where this build has it.
func legacyOrModern(t *testing.T) *fakeServer {
	f := legacyFake(t, "2025-11-25")
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		if v := memberIn(t, m.Params, "_meta", "io.modelcontextprotocol/clientInfo"); v != "" {
			t.Errorf("a legacy request carries %s", v)
		}
		p.result(m, `{"content":[]}`)
	}
	return f
}
