//go:build !mcp_modern_only

package mcphttp

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/internal/sse"
	"github.com/seed38e7925c/parley/mcp"
)

// linkSteadyAfter is how long a stream must last for its end not to count as another failure in a row.
const linkSteadyAfter = 10 * time.Second

// armStream makes the standalone stream wanted, in revisions that have it. It is opened when the handshake is over.
func (l *link) armStream(rev mcp.Revision) {
	l.old.mu.Lock()
	defer l.old.mu.Unlock()
	l.old.armed = rev.Rules().HTTP.Session && l.old.sse == nil && !l.opts.DisableStream
}

// openStream opens the standalone stream, if it is wanted and not open.
func (l *link) openStream() {
	l.old.mu.Lock()
	defer l.old.mu.Unlock()
	if !l.old.armed {
		return
	}
	l.old.armed = false
	opened := make(chan struct{})
	open := sync.OnceFunc(func() { close(opened) })
	s := &standing{link: l, session: l.old.session, rev: l.revision(), open: open}
	l.old.opened = opened
	l.old.endStream = l.spawn(func(ctx context.Context) {
		defer open()
		s.run(ctx)
	})
}

// closeStream ends the standalone stream of a session that is over.
func (l *link) closeStream() {
	l.old.mu.Lock()
	defer l.old.mu.Unlock()
	if l.old.endStream != nil {
		l.old.endStream()
	}
	l.old.endStream, l.old.opened, l.old.armed = nil, nil, false
}

// awaitStream lets a request wait until the standalone stream is open, briefly.
func (l *link) awaitStream(ctx context.Context, req *mcp.Outgoing) {
	if req.Method == mcp.MethodInitialize || !req.Revision.Rules().HTTP.Session {
		return
	}
	l.openStream()
	l.old.mu.Lock()
	opened := l.old.opened
	l.old.opened = nil // the next one does not wait
	l.old.mu.Unlock()
	if opened == nil {
		return
	}
	timer := time.NewTimer(linkStreamHead)
	defer timer.Stop()
	select {
	case <-opened:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// A standing is the standalone stream of a session: a GET in the background, sent again whenever it ends.
type standing struct {
	*link
	session string
	rev     mcp.Revision
	open    func() // tells that the server has answered
	tail    linkTail
	had     bool // the server has given a stream before
}

// run keeps the stream open until ctx ends or the server turns out to have none.
func (s *standing) run(ctx context.Context) {
	pause := backoff{}
	for {
		began := time.Now()
		wait, again := s.once(ctx)
		s.open()
		if !again || ctx.Err() != nil {
			return
		}
		if time.Since(began) >= linkSteadyAfter {
			pause.reset()
		}
		if wait == 0 {
			wait = s.tail.retry
		}
		if sleepFor(ctx, pause.next(wait)) != nil {
			return
		}
	}
}

// once opens the stream and follows it to its end. It reports whether to try again, and how long the server wants that to wait.
func (s *standing) once(ctx context.Context) (wait time.Duration, again bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := s.get(ctx, s.url, s.streamHeader(s.rev, s.session), s.tail.id)
	if err != nil {
		s.log.Debug("mcphttp: opening the standalone stream", "server", s.String(), "err", withoutURL(err))
		return 0, true
	}
	if !isStream(resp) {
		s.discard(resp, cancel)
		return retryAfter(resp), s.refusedOnce(resp)
	}
	s.had = true
	s.open()
	_, err = s.follow(ctx, resp.Body, &mcp.Outgoing{Revision: s.rev}, &s.tail)
	cancel() // first: over HTTP/2 closing an unfinished body would wait for the peer
	s.closeBody(resp)
	s.log.Debug("mcphttp: the standalone stream ended", "server", s.String(), "err", err)
	if errors.Is(err, sse.ErrTooLong) {
		s.log.Warn("mcphttp: an event on the standalone stream is lost", "server", s.String(), "err", err)
		s.tail.id = "" // not to be sent it again
	}
	return 0, true
}

// refusedOnce reports whether to try again after an answer that is no stream. Most say that the server has none.
func (s *standing) refusedOnce(resp *http.Response) bool {
	status := resp.StatusCode
	switch {
	case passing(status), status == http.StatusUnauthorized, status == http.StatusForbidden:
		return true
	case s.had && status == http.StatusConflict: // it has not noticed yet that the last one broke
		return true
	case status == http.StatusBadRequest && s.tail.id != "": // it does not know the event any more
		s.tail.id = ""
		return true
	}
	s.log.Debug("mcphttp: no standalone stream", "server", s.String(), "status", status, "type", mediaType(resp))
	return false
}
