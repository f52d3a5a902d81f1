package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// A change is a kind of notice that is told at most once however often it happened since it was last told.
type change uint8

// The kinds of changes, as bits.
const (
	toolsChanged change = 1 << iota
	promptsChanged
	resourcesChanged
)

// errFeedOver is what a feed returns when the server has ended it.
var errFeedOver = errors.New("mcp: the server is shutting down")

// A feed collects what one peer is to be told of its own accord: changes, coalesced, and whole messages in a bounded queue. Those
// who put something in never wait; the one goroutine that takes things out does. The zero feed is ready once init has been called.
type feed struct {
	mu      sync.Mutex
	wake    chan struct{} // capacity 1: something may have changed
	pending change
	updated []string            // URIs, each once, in the order of their first update
	seen    map[string]struct{} // what is in updated
	since   time.Time
	queue   []*jsonrpc.Message
	dropped int
	over    bool

	ready []*jsonrpc.Message // taken out and not yet sent; the taker's own
}

// maxUpdatedURIs bounds the distinct resource updates that wait in one feed.
const maxUpdatedURIs = 10_000

// signal wakes the taker, if it sleeps.
func (f *feed) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// change marks a list as changed.
func (f *feed) change(c change) {
	f.mu.Lock()
	if f.pending == 0 && len(f.updated) == 0 {
		f.since = time.Now()
	}
	fresh := f.pending&c != c
	f.pending |= c
	f.mu.Unlock()
	if fresh {
		f.signal()
	}
}

// update marks a resource as updated.
func (f *feed) update(uri string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, there := f.seen[uri]; there {
		return
	}
	if len(f.updated) == maxUpdatedURIs {
		f.dropped++
		return
	}
	if f.pending == 0 && len(f.updated) == 0 {
		f.since = time.Now()
	}
	if f.seen == nil {
		f.seen = make(map[string]struct{})
	}
	f.seen[uri] = struct{}{}
	f.updated = append(f.updated, uri)
	f.signal()
}

// push queues a whole message; when the queue is full the oldest one is lost.
func (f *feed) push(m *jsonrpc.Message, limit int) {
	f.mu.Lock()
	if len(f.queue) >= limit {
		f.queue = append(f.queue[:0], f.queue[1:]...)
		f.dropped++
	}
	f.queue = append(f.queue, m)
	f.mu.Unlock()
	f.signal()
}

// end makes next return errFeedOver once everything in the feed has been taken.
func (f *feed) end() {
	f.mu.Lock()
	f.over = true
	f.mu.Unlock()
	f.signal()
}

// A batch is what a feed gives out at once.
type batch struct {
	messages []*jsonrpc.Message
	changes  change
	updated  []string
	dropped  int // messages and updates lost since the last batch
}

// take returns what is due. Changes are held back until hold has passed since the first of them, so that a hundred changes in a row
// are told once; wait says how long that still takes.
func (f *feed) take(hold time.Duration) (b batch, wait time.Duration, over bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b.messages, f.queue = f.queue, nil
	b.dropped, f.dropped = f.dropped, 0
	if f.pending != 0 || len(f.updated) > 0 {
		if wait = hold - time.Since(f.since); wait <= 0 || f.over {
			b.changes, b.updated = f.pending, f.updated
			f.pending, f.updated, f.seen, wait = 0, nil, nil, 0
		}
	}
	return b, wait, f.over
}

// next waits until something is due. It returns ctx's error, or errFeedOver after the last batch.
func (f *feed) next(ctx context.Context, hold time.Duration) (batch, error) {
	for {
		b, wait, over := f.take(hold)
		switch {
		case len(b.messages) > 0 || b.changes != 0 || len(b.updated) > 0:
			return b, nil
		case over:
			return batch{}, errFeedOver
		}
		if err := f.sleep(ctx, wait); err != nil {
			return batch{}, err
		}
	}
}

// sleep waits for a signal, or for wait if it is not zero.
func (f *feed) sleep(ctx context.Context, wait time.Duration) error {
	var due <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-f.wake:
		return nil
	case <-due:
		return nil
	}
}
