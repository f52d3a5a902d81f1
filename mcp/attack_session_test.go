//go:build !mcp_modern_only

package mcp_test

import (
	"runtime"
	"sync"
	"testing"
	"weak"

	"github.com/seed38e7925c/parley/mcp"
)

// A session that is closed while its client says that it is ready must not be kept for ever.
func TestAttackReadyWhileClosing(t *testing.T) {
	s := newServer(t, nil)
	addEcho(s.Server)
	var left []weak.Pointer[mcp.Session]
	for range 3000 {
		ss := s.NewSession(nil, nil)
		send := func(line string) {
			x := exchange(t, line)
			x.Session = ss
			s.serve(t.Context(), x)
		}
		send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}`)
		var wg sync.WaitGroup
		wg.Go(func() { send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`) })
		wg.Go(func() { _ = ss.Close() })
		wg.Wait()
		left = append(left, weak.Make(ss))
	}
	runtime.GC()
	runtime.GC()
	n := 0
	for _, p := range left[:len(left)-1] {
		if p.Value() != nil {
			n++
		}
	}
	if n > 0 {
		t.Errorf("%d closed sessions are kept", n)
	}
	runtime.KeepAlive(s)
}
