//go:build !mcp_modern_only

package mcphttp

import (
	"context"
	"net/http"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// get carries the stream of unsolicited messages, or one that the client comes back to.
func (l *legacy) get(w http.ResponseWriter, r *http.Request, principal *mcp.Principal) {
	if parseAccept(r.Header["Accept"])&acceptsSSE == 0 {
		l.h.answerRefusal(w, refuse(http.StatusNotAcceptable, "the answer to GET is a stream, so Accept must allow text/event-stream"))
		return
	}
	s := l.acquire(w, r, principal, jsonrpc.ID{})
	if s == nil {
		return
	}
	defer s.use.release()
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		l.stream(w, r, s.standing(), sinceDelivered, principal)
		return
	}
	t, after, ok := s.find(last)
	if !ok {
		l.h.answerError(w, http.StatusBadRequest, jsonrpc.ID{}, errBadEventID)
		return
	}
	l.stream(w, r, t, after, principal)
}

// stream makes this response carry a track from a position on, in the place of any other, until the token of who asked for it ends.
func (l *legacy) stream(w http.ResponseWriter, r *http.Request, t *track, after uint64, p *mcp.Principal) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if p != nil && !p.Expiry.IsZero() {
		var over context.CancelFunc
		ctx, over = context.WithDeadline(ctx, p.Expiry)
		defer over()
	}
	g := &getStream{t: t, cancel: cancel}
	out := &sink{h: l.h, w: w, carrier: g}
	if t.attach(out, g, after) {
		out.keepAlive()
		if t.number == 0 {
			t.sess.pump(ctx, t)
		} else {
			<-ctx.Done()
		}
	}
	out.close()
	t.detach(out)
	out.expire()
}

// getStream is the carrier of a track that a GET has asked for.
type getStream struct {
	t      *track
	after  uint64 // the position that the stream begins at
	cancel context.CancelFunc
}

func (g *getStream) prelude(dst []byte) []byte { return g.t.appendPriming(dst, g.after) }
func (g *getStream) closed()                   { g.cancel() }

// pump passes on the core's unsolicited messages until ctx ends or the session does. One request at a time does so.
func (s *session) pump(ctx context.Context, t *track) {
	s.pumping.Lock()
	defer s.pumping.Unlock()
	for {
		m, err := s.core.Next(ctx)
		if err != nil || t.Send(context.WithoutCancel(ctx), m) != nil {
			return
		}
	}
}
