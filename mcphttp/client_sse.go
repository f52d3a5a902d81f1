//go:build !mcp_modern_only

package mcphttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/internal/sse"
	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// A sseWire is a session of HTTP+SSE (2024-11-05): one stream for everything the server sends, and the endpoint to post to that its
// first event names. The session lives as long as the stream.
type sseWire struct {
	endpoint *url.URL
	end      context.CancelFunc
	done     chan struct{} // closed when the stream has ended

	mu      sync.Mutex
	waiting map[jsonrpc.ID]chan<- *jsonrpc.Message
	err     error // why the stream ended
}

// overSSE reports whether a request goes over HTTP+SSE. A new handshake finds out anew.
func (l *link) overSSE(req *mcp.Outgoing) bool {
	w := l.wire()
	if w == nil || req.Method != mcp.MethodInitialize {
		return w != nil
	}
	w.end()
	l.old.mu.Lock()
	defer l.old.mu.Unlock()
	l.old.sse = nil
	return false
}

func (l *link) wire() *sseWire {
	l.old.mu.Lock()
	defer l.old.mu.Unlock()
	return l.old.sse
}

// sendTo returns where messages without an answer are posted.
func (l *link) sendTo() (*url.URL, error) {
	w := l.wire()
	switch {
	case w == nil:
		return l.url, nil
	case w.lost():
		return nil, mcp.ErrSessionLost
	}
	return w.endpoint, nil
}

// linkEndpointTime bounds the wait for the endpoint event.
const linkEndpointTime = 10 * time.Second

// fallBack tries HTTP+SSE with a server that refused initialize, by m or by refused. It is not tied to what the refusal says, unless
// that is of the new era.
func (l *link) fallBack(ctx context.Context, req *mcp.Outgoing, m *jsonrpc.Message, refused error) (*jsonrpc.Message, error) {
	if m != nil {
		switch m.Error.Code {
		case era.CodeUnsupportedVersion, era.CodeHeaderMismatch, era.CodeMissingCapability:
			return m, nil
		}
	}
	w, err := l.openSSE(ctx)
	if err != nil {
		var e *mcp.TransportError
		if errors.As(refused, &e) {
			e.Err = errors.Join(e.Err, fmt.Errorf("and it does not speak HTTP+SSE either: %w", err))
		}
		return m, refused
	}
	l.log.Info("mcphttp: the server speaks HTTP+SSE of 2024-11-05", "server", l.String())
	l.old.mu.Lock()
	l.old.sse, l.old.session = w, ""
	l.old.mu.Unlock()
	return l.sseRoundTrip(ctx, req)
}

// openSSE opens the stream and waits for the endpoint event.
func (l *link) openSSE(ctx context.Context) (*sseWire, error) {
	w := &sseWire{done: make(chan struct{}), waiting: make(map[jsonrpc.ID]chan<- *jsonrpc.Message)}
	ready := make(chan error, 1)
	w.end = l.spawn(func(ctx context.Context) { l.runSSE(ctx, w, ready) })
	timer := time.NewTimer(linkEndpointTime)
	defer timer.Stop()
	select {
	case err := <-ready:
		return w, err
	case <-timer.C:
		w.end()
		return nil, fmt.Errorf("no endpoint event within %v", linkEndpointTime)
	case <-ctx.Done():
		w.end()
		return nil, context.Cause(ctx)
	}
}

// runSSE reads the stream to its end.
func (l *link) runSSE(ctx context.Context, w *sseWire, ready chan<- error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := l.get(ctx, l.url, l.streamHeader(0, ""), "")
	if err != nil {
		ready <- withoutURL(err)
		return
	}
	defer l.closeBody(resp)
	defer cancel() // first: over HTTP/2 closing an unfinished body would wait for the peer
	if !isStream(resp) {
		ready <- fmt.Errorf("GET is answered with status %d and type %q", resp.StatusCode, mediaType(resp))
		return
	}
	r := sse.NewReader(resp.Body, l.opts.MaxMessageBytes)
	ev, err := r.Next()
	for err == nil && ev.Name != "endpoint" && len(ev.Data) == 0 {
		ev, err = r.Next()
	}
	if err == nil {
		w.endpoint, err = l.endpointOf(&ev)
	}
	ready <- err
	if err != nil {
		return
	}
	for err == nil {
		if ev, err = r.Next(); err == nil && readable(ev.Name, ev.Data) {
			l.takeSSE(ctx, w, slices.Clone(ev.Data))
		}
	}
	w.lose(err)
	if ctx.Err() == nil {
		l.log.Info("mcphttp: the stream of the session ended", "server", l.String(), "err", err)
	}
}

// endpointOf resolves the endpoint against the URL of the stream. Another origin would get what is meant for this one.
func (l *link) endpointOf(ev *sse.Event) (*url.URL, error) {
	if ev.Name != "endpoint" {
		return nil, fmt.Errorf("the first event is %q instead of endpoint", ev.Name)
	}
	ref, err := url.Parse(strings.TrimSpace(string(ev.Data)))
	if err != nil {
		return nil, fmt.Errorf("the endpoint event: %w", withoutURL(err))
	}
	to := l.url.ResolveReference(ref)
	if !sameOrigin(to, l.url) {
		return nil, fmt.Errorf("the server wants messages posted to %s, which is another origin", placeOf(to))
	}
	to.Fragment, to.User = "", l.url.User
	return to, nil
}

// takeSSE handles one message of the stream.
func (l *link) takeSSE(ctx context.Context, w *sseWire, data []byte) {
	m, err := jsonrpc.Decode(data)
	if err != nil && (m.Error == nil || m.ID.IsZero()) {
		l.log.Warn("mcphttp: the server sent something that is no message", "server", l.String(), "err", err)
		return
	}
	if err == nil && m.Kind() != jsonrpc.Response {
		l.to.Receive(ctx, &m, jsonrpc.ID{})
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	answer, ok := w.waiting[m.ID]
	if !ok {
		l.log.Debug("mcphttp: ignored a response to no request under way", "server", l.String(), "id", m.ID.String())
		return
	}
	delete(w.waiting, m.ID)
	answer <- &m
}

// sseRoundTrip posts a request and waits for its response on the stream.
func (l *link) sseRoundTrip(ctx context.Context, req *mcp.Outgoing) (*jsonrpc.Message, error) {
	w := l.wire()
	if w == nil || w.lost() {
		return nil, mcp.ErrSessionLost
	}
	answer := make(chan *jsonrpc.Message, 1)
	w.mu.Lock()
	w.waiting[req.ID] = answer
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.waiting, req.ID)
	}()
	if m, err := l.postSSE(ctx, w, req); m != nil || err != nil {
		return m, err
	}
	select {
	case m := <-answer:
		return m, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-w.done:
	}
	select {
	case m := <-answer:
		return m, nil
	default:
		return nil, broken(http.StatusOK, &linkTail{}, w.err)
	}
}

// postSSE posts a request. It returns a message only where the server refused the POST with an error response.
func (l *link) postSSE(ctx context.Context, w *sseWire, req *mcp.Outgoing) (*jsonrpc.Message, error) {
	p := l.posting(req)
	p.url, p.session = w.endpoint, req.Method != mcp.MethodInitialize
	own, x, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	resp, err := l.post(own, x, p)
	if err == nil && accepted(resp) {
		l.leave(x, resp)
		return nil, nil
	}
	defer l.end(x)
	if err != nil {
		return nil, err
	}
	defer l.closeBody(resp)
	m, err := l.refused(resp, p)
	if m != nil {
		m.ID = req.ID
	}
	return m, err
}

// lost reports whether the stream has ended.
func (w *sseWire) lost() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// lose notes that the stream has ended.
func (w *sseWire) lose(err error) {
	w.mu.Lock()
	w.err = err
	w.mu.Unlock()
	close(w.done)
}
