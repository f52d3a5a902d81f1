//go:build !mcp_modern_only

package mcphttp

import (
	"context"
	"net/http"
	"sync"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// batchWorkers is how many requests of one batch are served at the same time.
const batchWorkers = 8

// Refusals of single messages of a batch.
var (
	errInitInBatch = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
		Message: "invalid request: initialize must not be part of a batch"}
	errModernInBatch = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
		Message: "invalid request: this revision has no batches"}
)

// batch serves an array of messages, which revision 2025-03-26 alone has.
func (l *legacy) batch(w http.ResponseWriter, r *http.Request, p *post) {
	items, err := jsonrpc.DecodeBatch(p.body.b)
	if err != nil {
		l.h.answerError(w, http.StatusBadRequest, jsonrpc.ID{}, wireError(err))
		p.release()
		return
	}
	s := l.acquire(w, r, p.x.Principal, jsonrpc.ID{})
	if s == nil {
		p.release()
		return
	}
	if !s.core.Revision().Rules().Batch {
		s.use.release()
		l.h.answerError(w, http.StatusBadRequest, jsonrpc.ID{}, errNoBatch)
		p.release()
		return
	}
	b := newBatch(l.h, p, s.core, r.Header)
	b.sort(items)
	if !s.use.begin(len(b.requests), l.table.opts().MaxInFlight) {
		s.use.release()
		l.busy(w, p)
		return
	}
	l.serve(w, r, &served{l: l, s: s, p: p, batch: b})
}

// run serves the messages of a session's batch. It is called on a goroutine of its own.
func (b *batch) run(c *served) {
	defer c.s.use.done(len(b.requests))
	b.serveQuiet(&c.ctx)
	b.serveRequests(&c.ctx)
	b.finishTrack(c.t)
}

// A batch is an array of messages being served. Each is judged by itself.
type batch struct {
	h       *Handler
	p       *post
	core    *mcp.Session
	headers mcp.Headers

	quiet    []*mcp.Exchange // notifications
	requests []*mcp.Exchange

	mu      sync.Mutex
	answers []*jsonrpc.Message
}

func newBatch(h *Handler, p *post, core *mcp.Session, header http.Header) *batch {
	return &batch{h: h, p: p, core: core, headers: mirrored(header)}
}

// sort tells the messages apart; responses of the client go where they belong at once, and what cannot be served gets its error.
func (b *batch) sort(items []jsonrpc.Item) {
	for i := range items {
		it := &items[i]
		switch {
		case it.Err != nil:
			b.add(&jsonrpc.Message{ID: it.ID, Error: it.Err})
		case it.Kind() == jsonrpc.Response:
			deliver(b.core, &it.Message)
		default:
			b.admit(&it.Message)
		}
	}
}

// admit takes a request or notification in, or answers it with its refusal.
func (b *batch) admit(m *jsonrpc.Message) {
	x := &mcp.Exchange{Message: m, Principal: b.p.x.Principal, Headers: &b.headers}
	adm := b.h.srv.Admit(x)
	refused := adm.Err
	switch {
	case refused != nil:
	case !adm.Handshake:
		refused = errModernInBatch
	case adm.Initialize:
		refused = errInitInBatch
	}
	x.Session = b.core
	switch {
	case m.Kind() == jsonrpc.Notification && refused != nil:
		b.h.opts.Logger.Debug("mcphttp: a notification in a batch was refused", "method", m.Method, "error", refused)
	case m.Kind() == jsonrpc.Notification:
		b.quiet = append(b.quiet, x)
	case refused != nil:
		b.add(&jsonrpc.Message{ID: m.ID, Error: refused})
	default:
		b.requests = append(b.requests, x)
	}
}

func (b *batch) add(m *jsonrpc.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers = append(b.answers, m)
}

// serveQuiet serves the notifications in their order. They have no answers.
func (b *batch) serveQuiet(ctx context.Context) {
	for _, x := range b.quiet {
		b.h.srv.Serve(ctx, x)
	}
}

// serveRequests serves the requests, a few at a time, and collects their answers.
func (b *batch) serveRequests(ctx context.Context) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, batchWorkers)
	for _, x := range b.requests {
		x.Stream = b.p.x.Stream
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if reply, _ := b.h.srv.Serve(ctx, x); reply != nil {
				b.add(reply)
			}
		})
	}
	wg.Wait()
}

// plain returns the JSON answer: an array, or nothing when there are no answers; nil when the client takes only a stream.
func (b *batch) plain() *plainAnswer {
	switch {
	case len(b.answers) == 0: // only notifications and responses, or all were cancelled
		return &plainAnswer{status: http.StatusAccepted}
	case b.p.accepts&acceptsJSON == 0:
		return nil
	}
	buf := getBuffer(-1)
	buf.b = append(buf.b, '[')
	for i, m := range b.answers {
		if i > 0 {
			buf.b = append(buf.b, ',')
		}
		buf.b = jsonrpc.Append(buf.b, m)
	}
	buf.b = append(buf.b, ']')
	return &plainAnswer{status: http.StatusOK, buf: buf}
}

// finishTrack ends a track with the answers: as one array, or as events when something was streamed before.
func (b *batch) finishTrack(t *track) {
	t.finish(b.plain(), b.answers...)
	b.p.release()
}

// finish ends an exchange without a session with the answers.
func (b *batch) finish() {
	s := &b.p.sink
	defer s.close()
	plain := b.plain()
	if plain != nil && s.answerPlain(plain) {
		s.writePlain(plain)
		return
	}
	for _, m := range b.answers {
		if err := s.Send(context.Background(), m); err != nil {
			b.h.opts.Logger.Debug("mcphttp: answer not delivered", "error", err)
			return
		}
	}
}
