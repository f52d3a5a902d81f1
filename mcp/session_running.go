//go:build !mcp_modern_only

package mcp

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// A running is a request of a session that is being served, and its context. Most requests end before anybody asks their context for
// more than its error; only then is one made that can be waited for and derived from.
type running struct {
	context.Context //nolint:containedctx // a context is what it is: this one is the parent
	session         *Session
	id              jsonrpc.ID

	prev, next *running // guarded by session.mu, like in
	in         bool

	made atomic.Pointer[madeContext]
	mu   sync.Mutex
	why  error // why the request has ended or was cancelled
}

// madeContext is a context that can be waited for.
type madeContext struct {
	context.Context //nolint:containedctx // part of a context
	cancel          context.CancelCauseFunc
}

// make returns the context that can be waited for.
func (r *running) make() *madeContext {
	if m := r.made.Load(); m != nil {
		return m
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.made.Load(); m != nil {
		return m
	}
	m := &madeContext{}
	m.Context, m.cancel = context.WithCancelCause(r.Context)
	if r.why != nil {
		m.cancel(r.why)
	}
	r.made.Store(m)
	return m
}

// Done implements [context.Context].
func (r *running) Done() <-chan struct{} { return r.make().Done() }

// Value implements [context.Context]. What is looked for may be what package context knows a context that can be cancelled by.
func (r *running) Value(key any) any { return r.make().Value(key) }

// Err implements [context.Context].
func (r *running) Err() error {
	if m := r.made.Load(); m != nil {
		return m.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why != nil {
		return context.Canceled
	}
	return r.Context.Err()
}

// cancel ends the context; only the first time counts.
func (r *running) cancel(why error) {
	r.mu.Lock()
	if r.why == nil {
		r.why = why
	}
	m := r.made.Load()
	r.mu.Unlock()
	if m != nil {
		m.cancel(why)
	}
}

// end takes the request from its session. A nil running has no session.
func (r *running) end() {
	if r == nil {
		return
	}
	r.session.mu.Lock()
	r.session.running.remove(r)
	r.session.mu.Unlock()
	r.cancel(context.Canceled)
}

// whyEnded is [context.Cause], but leaves the context of a request as it is.
func whyEnded(ctx context.Context) error {
	r, ok := ctx.(*running)
	if !ok || r.made.Load() != nil {
		return context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why != nil {
		return r.why
	}
	return context.Cause(r.Context)
}

// requestsRunning are the requests of a session that are being served, in their order.
type requestsRunning struct {
	first, last *running
	n           int
}

func (l *requestsRunning) add(r *running) {
	if r.prev = l.last; r.prev == nil {
		l.first = r
	} else {
		r.prev.next = r
	}
	l.last, r.in = r, true
	l.n++
}

func (l *requestsRunning) remove(r *running) {
	if !r.in {
		return
	}
	if r.prev == nil {
		l.first = r.next
	} else {
		r.prev.next = r.next
	}
	if r.next == nil {
		l.last = r.prev
	} else {
		r.next.prev = r.prev
	}
	r.prev, r.next, r.in = nil, nil, false
	l.n--
}

// find returns the request with an id. Where a client uses an id again before its time, it means the first.
func (l *requestsRunning) find(id jsonrpc.ID) *running {
	for r := l.first; r != nil; r = r.next {
		if r.id == id {
			return r
		}
	}
	return nil
}

// begin enters a request into the list that notifications/cancelled looks into, and gives it a context.
func (ss *Session) begin(ctx context.Context, id jsonrpc.ID) *running {
	r := &running{Context: ctx, session: ss, id: id}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.closed {
		r.why = ErrClosed
		return r
	}
	ss.running.add(r)
	return r
}
