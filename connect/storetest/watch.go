package storetest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/seed38e7925c/parley/connect"
)

// A listener is a Watch that a test runs.
type listener struct {
	stop context.CancelFunc
	done chan error

	mu   sync.Mutex
	seen map[[2]string]int
	more chan struct{} // has a value when seen has changed
}

// listen watches a store, and returns once Watch says that it is listening.
func listen(t *testing.T, s connect.Store) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{stop: cancel, done: make(chan error, 1), seen: map[[2]string]int{}, more: make(chan struct{}, 1)}
	go func() { l.done <- s.Watch(ctx, l.changed) }()
	t.Cleanup(func() {
		cancel()
		if err := <-l.done; err == nil {
			t.Error("Watch returned no reason")
		}
	})
	l.await(t, "", "")
	return l
}

func (l *listener) changed(kind, id string) {
	l.mu.Lock()
	l.seen[[2]string{kind, id}]++
	l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
}

func (l *listener) has(kind, id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen[[2]string{kind, id}] > 0
}

// await waits until a change was told, or that something may have been missed.
func (l *listener) await(t *testing.T, kind, id string) {
	t.Helper()
	ctx := within(t)
	for !l.has(kind, id) {
		select {
		case <-l.more:
		case err := <-l.done:
			l.done <- err
			t.Fatalf("Watch ended before it told of %q %q: %v", kind, id, err)
		case <-ctx.Done():
			t.Fatalf("Watch did not tell of %q %q", kind, id)
		}
	}
}

// forget begins anew: what was told so far does not count.
func (l *listener) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.seen)
}

func watchTells(t *testing.T, a, b connect.Store) {
	l, own := listen(t, b), listen(t, a)
	r := add(t, a, &connect.Row{Kind: "k", ID: "1"})
	l.await(t, "k", "1")
	own.await(t, "k", "1")
	for range 3 {
		l.forget()
		own.forget()
		if err := a.Update(within(t), r); err != nil {
			t.Fatal(err)
		}
		l.await(t, "k", "1")
		own.await(t, "k", "1")
	}
	l.forget()
	r.Expires = past()
	if err := a.Update(within(t), r); err != nil { // a removal is a change
		t.Fatal(err)
	}
	l.await(t, "k", "1")
	odd := add(t, b, &connect.Row{Kind: "a kind/with:", ID: "ünï 🙂 ' \" \n,:"})
	l.await(t, odd.Kind, odd.ID)
	own.await(t, odd.Kind, odd.ID)
}

func watchMissesNone(t *testing.T, a, b connect.Store) {
	l := listen(t, b)
	const each = 20
	for _, err := range together(a, b, func(s connect.Store, i int) error {
		for j := range each {
			if _, err := s.Insert(within(t), &connect.Row{Kind: "k", ID: strconv.Itoa(i*each + j)}); err != nil {
				return err
			}
		}
		return nil
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range crowd * each {
		l.await(t, "k", strconv.Itoa(i))
	}
}

func watchEnds(t *testing.T, a, b connect.Store) {
	l := listen(t, b)
	l.stop()
	ctx := within(t)
	select {
	case err := <-l.done:
		l.done <- err
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("Watch ended with %v", err)
		}
	case <-ctx.Done():
		t.Fatal("Watch does not end with its context")
	}
	add(t, a, &connect.Row{Kind: "k", ID: "1"}) // nobody listens, and nobody minds
}
