//go:build !mcp_modern_only

package mcphttp

import "context"

// CloseStream ends the HTTP response that carries the answer of the call that ctx belongs to, while the call goes on, so that a long
// call need not hold a connection. The client is told to come back after [SessionOptions.RetryAfter] and then gets everything that it
// has missed, the answer included.
//
// Only clients of revision 2025-11-25 can do that. At any other revision, on any other transport, in stateless sessions and where
// nobody is connected CloseStream does nothing and returns false; a handler that calls it works everywhere.
func CloseStream(ctx context.Context) bool {
	t, ok := ctx.Value(trackKey{}).(*track)
	return ok && t.sess.primes && t.letGo()
}
