//go:build !mcp_modern_only

package mcp_test

import (
	"fmt"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
)

// handshake opens a session at a revision.
func (s *testServer) handshake(t testing.TB, revision string) *legacy {
	t.Helper()
	l := &legacy{t: t, s: s, stream: &recorder{}, session: s.NewSession(nil, nil)}
	got := l.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"0"}}}`, revision))
	if v := at(t, got, "result", "protocolVersion"); v != `"`+revision+`"` {
		t.Fatalf("negotiated %s, want %s", v, revision)
	}
	l.raw(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	t.Cleanup(func() { _ = l.session.Close() })
	return l
}

// raw serves one line in the session.
func (l *legacy) raw(line string) string {
	l.t.Helper()
	x := exchange(l.t, line)
	x.Session, x.Stream = l.session, l.stream
	got, _ := l.s.serve(l.t.Context(), x)
	return got
}

// call serves one request in the session; params is an object or empty.
func (l *legacy) call(method, params string) string {
	l.t.Helper()
	l.id++
	if params != "" {
		params = `,"params":` + params
	}
	return l.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q%s}`, l.id, method, params))
}

var _ = (*mcp.Session)(nil)
