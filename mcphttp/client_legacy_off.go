//go:build mcp_modern_only

package mcphttp

import (
	"context"
	"net/http"
	"net/url"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// This build speaks revision 2026-07-28 alone: there are no sessions, no standalone stream, nothing to resume and no HTTP+SSE.

type handshakeLink struct{}

func (l *link) inSession(http.Header, mcp.Revision) bool { return false }

func (l *link) keepSession(*jsonrpc.Message, *http.Response) error { return nil }

func (l *link) endSession() error { return nil }

func (l *link) takeBack(*mcp.Outgoing) {}

func (l *link) armStream(mcp.Revision) {}

func (l *link) openStream() {}

func (l *link) awaitStream(context.Context, *mcp.Outgoing) {}

func (l *link) overSSE(*mcp.Outgoing) bool { return false }

func (l *link) sendTo() (*url.URL, error) { return l.url, nil }

func (l *link) fallBack(_ context.Context, _ *mcp.Outgoing, m *jsonrpc.Message, err error) (*jsonrpc.Message, error) {
	return m, err
}

func (l *link) sseRoundTrip(context.Context, *mcp.Outgoing) (*jsonrpc.Message, error) {
	return nil, mcp.ErrSessionLost
}

func (l *link) resume(context.Context, *linkExchange, *mcp.Outgoing, *linkTail) (*jsonrpc.Message, error) {
	return nil, mcp.ErrSessionLost
}
