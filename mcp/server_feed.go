package mcp

import (
	"context"
	"errors"
	"sync"

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
	due     bool                // what is marked may be told
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

// change marks a list as changed. It is not told before rouse.
func (f *feed) change(c change) {
	f.mu.Lock()
	f.pending |= c
	f.mu.Unlock()
}

// update marks a resource as updated. It is not told before rouse.
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
	if f.seen == nil {
		f.seen = make(map[string]struct{})
	}
	f.seen[uri] = struct{}{}
	f.updated = append(f.updated, uri)
}

// rouse wakes the taker if something was marked: it may now be told.
func (f *feed) rouse() {
	f.mu.Lock()
	f.due = f.pending != 0 || len(f.updated) > 0
	due := f.due
	f.mu.Unlock()
	if due {
		f.signal()
	}
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

// take returns what may be told.
func (f *feed) take() (b batch, over bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b = batch{messages: f.queue, dropped: f.dropped}
	f.queue, f.dropped = nil, 0
	if f.due || f.over {
		b.changes, b.updated = f.pending, f.updated
		f.pending, f.updated, f.seen, f.due = 0, nil, nil, false
	}
	return b, f.over
}

// next waits until there is something. It returns ctx's error, or errFeedOver after the last batch.
func (f *feed) next(ctx context.Context) (batch, error) {
	for {
		b, over := f.take()
		switch {
		case len(b.messages) > 0 || b.changes != 0 || len(b.updated) > 0:
			return b, nil
		case over:
			return batch{}, errFeedOver
		}
		select {
		case <-ctx.Done():
			return batch{}, context.Cause(ctx)
		case <-f.wake:
		}
	}
}
