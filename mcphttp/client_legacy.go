//go:build !mcp_modern_only

package mcphttp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

const (
	linkSessionIDBytes = 1 << 10
	linkMaxFarewells   = 256             // cancellations waiting to be sent
	linkFarewellTime   = 5 * time.Second // for each of them
	// How long the first request of a session waits for the standalone stream to be open, so that what the server then sends there is
	// not lost. Servers that answer the GET only when they have something to say cost this once.
	linkStreamHead = 100 * time.Millisecond
)

// A handshakeLink is what a link of the handshake era remembers.
type handshakeLink struct {
	mu        sync.Mutex
	session   string
	armed     bool               // the standalone stream is wanted and not yet begun
	opened    <-chan struct{}    // closed when the server has answered the GET of the standalone stream, nil without one
	endStream context.CancelFunc // ends the standalone stream, nil without one
	sse       *sseWire           // the server speaks HTTP+SSE

	farewells []jsonrpc.ID
	bidding   bool
}

// inSession sets the headers of a request within a session, and reports whether it names one.
func (l *link) inSession(h http.Header, rev mcp.Revision) bool {
	if rev.Rules().HTTP.Version == era.VersionHeaderSession {
		h[linkVersionHeader] = linkVersions[rev]
	}
	l.old.mu.Lock()
	defer l.old.mu.Unlock()
	if l.old.session == "" {
		return false
	}
	h[linkSessionHeader] = []string{l.old.session}
	return true
}

// keepSession takes the session that an answer to initialize begins.
func (l *link) keepSession(m *jsonrpc.Message, resp *http.Response) error {
	id := resp.Header.Get(linkSessionHeader)
	if len(id) > linkSessionIDBytes || !visible(id) {
		return &mcp.TransportError{Status: resp.StatusCode, Err: fmt.Errorf("the server's session id is not visible ASCII of at most %d bytes", linkSessionIDBytes)}
	}
	if m.Error != nil {
		id = ""
	}
	l.closeStream()
	l.old.mu.Lock()
	defer l.old.mu.Unlock()
	l.old.session = id
	return nil
}

// visible reports whether s is visible ASCII throughout.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// endSession tells the server that the session is over.
func (l *link) endSession() error {
	l.old.mu.Lock()
	session := l.old.session
	l.old.session = ""
	l.old.mu.Unlock()
	if session == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.opts.CloseTimeout)
	defer cancel()
	h := l.streamHeader(l.revision(), session)
	resp, err := l.client.Do(bare(ctx, http.MethodDelete, l.url, h))
	if err != nil {
		return fmt.Errorf("mcphttp: ending the session: %w", withoutURL(err))
	}
	l.closeBody(resp)
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusMethodNotAllowed: // it is gone already, or ends by itself
		return nil
	}
	if !accepted(resp) {
		return fmt.Errorf("mcphttp: ending the session: %w", linkRefusal(resp, nil))
	}
	return nil
}

// streamHeader returns the headers of a GET or DELETE.
func (l *link) streamHeader(rev mcp.Revision, session string) http.Header {
	h := make(http.Header, 6)
	maps.Copy(h, l.opts.Header)
	if rev.Rules().HTTP.Version == era.VersionHeaderSession {
		h[linkVersionHeader] = linkVersions[rev]
	}
	if session != "" {
		h[linkSessionHeader] = []string{session}
	}
	return h
}

// bare makes a request without a body.
func bare(ctx context.Context, method string, to *url.URL, h http.Header) *http.Request {
	req := &http.Request{Method: method, URL: to, Host: to.Host, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	return req.WithContext(ctx)
}

// get opens a stream. Compression is not asked for, since it may hold events back.
func (l *link) get(ctx context.Context, to *url.URL, h http.Header, lastID string) (*http.Response, error) {
	h["Accept"] = linkAcceptSSE
	h["Accept-Encoding"] = linkIdentity
	if lastID != "" {
		h[linkLastEventHeader] = []string{lastID}
	}
	return l.client.Do(bare(ctx, http.MethodGet, to, h))
}

// isStream reports an answer that is an event stream.
func isStream(resp *http.Response) bool {
	return resp.StatusCode == http.StatusOK && mediaType(resp) == "text/event-stream"
}

// passing reports statuses that say nothing about the next attempt.
func passing(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError && status != http.StatusNotImplemented
}

// takeBack tells the server that nobody waits for the answer to a request any more, without keeping the caller waiting. One goroutine
// at most sends these.
func (l *link) takeBack(req *mcp.Outgoing) {
	if req.Method == mcp.MethodInitialize || !req.Revision.Rules().CancelOverHTTP {
		return
	}
	l.old.mu.Lock()
	defer l.old.mu.Unlock()
	if len(l.old.farewells) >= linkMaxFarewells {
		return
	}
	l.old.farewells = append(l.old.farewells, req.ID)
	if !l.old.bidding {
		l.old.bidding = true
		l.spawn(l.takeAllBack)
	}
}

func (l *link) takeAllBack(ctx context.Context) {
	for {
		l.old.mu.Lock()
		if len(l.old.farewells) == 0 {
			l.old.bidding = false
			l.old.mu.Unlock()
			return
		}
		id := l.old.farewells[0]
		l.old.farewells = l.old.farewells[1:]
		l.old.mu.Unlock()
		params := append(id.AppendJSON([]byte(`{"requestId":`)), `,"reason":"the caller gave up"}`...)
		bounded, cancel := context.WithTimeout(ctx, linkFarewellTime)
		if err := l.Send(bounded, &jsonrpc.Message{Method: mcp.NotificationCancelled, Params: params}); err != nil {
			l.log.Debug("mcphttp: sending a cancellation", "server", l.String(), "err", err)
		}
		cancel()
	}
}

// resume picks up a stream that broke, until the response to req is there. Attempts that bring nothing are bounded; a server that
// closes its streams on purpose can be asked for as long as the caller waits.
func (l *link) resume(ctx context.Context, x *linkExchange, req *mcp.Outgoing, t *linkTail) (*jsonrpc.Message, error) {
	const most = 5 // in a row
	pause := backoff{}
	for failed := 0; ; {
		if err := sleepFor(ctx, pause.next(t.retry)); err != nil {
			return nil, err
		}
		before := t.seen
		m, resp, err := l.resumeOnce(ctx, req, t) //nolint:bodyclose // it comes with the answer, and goes with x
		if m != nil {
			l.leave(x, resp)
			return m, nil
		}
		var refused *mcp.TransportError
		switch {
		case errors.As(err, &refused) && !passing(refused.Status):
			refused.Err = errors.New("the stream of the request broke and the server does not let it be picked up again")
			return nil, refused
		case t.seen > before:
			failed = 0
			pause.reset()
		default:
			failed++
		}
		if failed == most || !t.resumable(err) {
			return nil, broken(http.StatusOK, t, err)
		}
	}
}

// resumeOnce opens the stream again and follows it. The answer comes with the response, and is closed without it.
func (l *link) resumeOnce(ctx context.Context, req *mcp.Outgoing, t *linkTail) (*jsonrpc.Message, *http.Response, error) {
	l.old.mu.Lock()
	session := l.old.session
	l.old.mu.Unlock()
	resp, err := l.get(ctx, l.url, l.streamHeader(req.Revision, session), t.id)
	if err != nil {
		return nil, nil, withoutURL(err)
	}
	if !isStream(resp) {
		l.closeBody(resp)
		return nil, nil, linkRefusal(resp, nil)
	}
	m, err := l.follow(ctx, resp.Body, req, t)
	if m == nil {
		l.closeBody(resp)
	}
	return m, resp, err
}
