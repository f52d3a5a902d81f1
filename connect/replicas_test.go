package connect_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/storetest"
	"github.com/seed38e7925c/parley/mcp"
)

// TestReplicas: call, retry, page and form land on whatever replica comes next, over each store.
func TestReplicas(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(t *testing.T) connect.Store) {
		playReplicas(t, &worldOptions{
			store: open(t), replicas: 3, ask: mcp.AskOptions{Hold: 200 * time.Millisecond},
			wrap: func(int, connect.Store) connect.Store { return open(t) }, // a connection of its own for each
		})
	})
}

func playReplicas(t *testing.T, o *worldOptions) {
	w := newWorld(t, o)
	var wg sync.WaitGroup
	for i := range 12 {
		subject := fmt.Sprintf("person%d", i)
		person, pages := links()
		c := w.client(subject+"/desktop", mcp.Revision20260728, person)
		b := w.browser(subject)
		wg.Go(func() {
			done := call(t, c, "geocode", where{subject})
			link := get(t, pages)
			if i%3 == 0 {
				w.rounds(2) // the person takes longer than a call is held
			}
			b.fill(link, "submit", "f-value", "mk_"+subject)
			if o := get(t, done); o.err != nil || !strings.HasPrefix(o.res.Text, subject+" with a key") {
				t.Errorf("%+v", o)
			}
			done = call(t, c, "pay", pay{i + 1})
			b.fill(get(t, pages), "submit")
			if o := get(t, done); o.err != nil || !strings.HasPrefix(o.res.Text, strings.Repeat("I", i+1)+" EUR paid, "+subject) {
				t.Errorf("%+v", o)
			}
			if len(pages) != 0 {
				t.Error("the person was asked again")
			}
		})
	}
	wg.Wait()
	if w.paid() != 12 {
		t.Errorf("%d actions ran", w.paid())
	}
}

// TestPageOfAnotherReplica: a call is held at one replica and its page is answered at another, over each store.
func TestPageOfAnotherReplica(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(t *testing.T) connect.Store) {
		w := newWorld(t, &worldOptions{store: open(t), replicas: 2, wrap: func(int, connect.Store) connect.Store { return open(t) }})
		w.route = apart
		for i, rev := range revisionsWithPages() {
			person, pages := links()
			subject := fmt.Sprint("p", i)
			c := w.client(subject+"/desktop", rev, person)
			for tool, args := range map[string]any{"geocode": where{"Bern"}, "pay": pay{1}} {
				done := call(t, c, tool, args)
				link := get(t, pages)
				eventually(t, "the call is held", func() bool { return w.replicas[0].desk.Waiting() == 1 })
				w.browser(subject).fill(link, "submit", "f-value", "mk_1")
				if o := get(t, done); o.err != nil {
					t.Errorf("%v, %s: %v", rev, tool, o.err)
				}
			}
		}
	})
}

// TestRevocationReachesEveryReplica: a secret that is removed at one replica is not used by another a second later, even where the store
// tells nobody.
func TestRevocationReachesEveryReplica(t *testing.T) {
	for _, watched := range []bool{true, false} {
		w := newWorld(t, &worldOptions{replicas: 2, wrap: func(_ int, s connect.Store) connect.Store {
			if watched {
				return s
			}
			return unwatched{s}
		}})
		person, pages := links()
		c := w.client("alice/desktop", mcp.Revision20260728, person)
		done := call(t, c, "geocode", where{"Bern"})
		b := w.browser("alice")
		b.fill(get(t, pages), "submit", "f-value", "mk_1")
		get(t, done)
		for range 4 { // every replica has it in its cache
			if _, err := mcp.CallTool[where](t.Context(), c, "geocode", where{"Bern"}); err != nil {
				t.Fatal(err)
			}
		}
		w.route = apart
		if _, err := mcp.CallTool[where](t.Context(), c, "geocode", where{"Bern"}); err != nil {
			t.Fatal(err)
		}
		p := b.open(w.url + "/connect/")
		b.post(w.url+actionIn(t, p.body, "/revoke"), url.Values{"csrf": {p.csrf()}})
		gone := time.Now()
		asked := false
		for !asked && time.Since(gone) < patience {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			_, err := mcp.CallTool[where](ctx, c, "geocode", where{"Bern"})
			cancel()
			asked = err != nil
		}
		if after := time.Since(gone); after > 3*time.Second { // a second, and what a busy machine takes
			t.Errorf("watched %v: it was used for another %v", watched, after)
		}
	}
}

// unwatched is a store that never tells of anything.
type unwatched struct{ connect.Store }

func (unwatched) Watch(ctx context.Context, _ func(kind, id string)) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestWatchFails: while the store cannot be watched, those who wait are looked after all the same.
func TestWatchFails(t *testing.T) {
	w := newWorld(t, &worldOptions{replicas: 2, wrap: func(_ int, s connect.Store) connect.Store { return deaf{s} }})
	w.route = apart
	person, pages := links()
	c := w.client("alice/desktop", mcp.Revision20260728, person)
	done := call(t, c, "geocode", where{"Bern"})
	link := get(t, pages)
	eventually(t, "the call is held", func() bool { return w.replicas[0].desk.Waiting() > 0 })
	w.browser("alice").fill(link, "submit", "f-value", "mk_1")
	if o := get(t, done); o.err != nil {
		t.Fatal(o.err)
	}
}

// deaf is a store that cannot be watched.
type deaf struct{ connect.Store }

func (deaf) Watch(context.Context, func(kind, id string)) error { return fmt.Errorf("no connection") }

// TestStateless20251125: sessions without a way back are answered -32042, and the call that is made again goes on, with a store and
// without.
func TestStateless20251125(t *testing.T) {
	if !has(mcp.Revision20251125) {
		return
	}
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprintf("store=%v", kept), func(t *testing.T) {
			store := storetest.NewMemory()
			o := &worldOptions{stateless: true, store: store, replicas: 2}
			if kept {
				o.ask.Store = newStates()
			}
			w := newWorld(t, o)
			person, pages := links()
			ready := make(chan struct{}, 10)
			person.Wait = func(ctx context.Context, _ *mcp.OpenQuestion) error {
				select {
				case <-ready:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			c := w.client("alice/desktop", mcp.Revision20251125, person)
			b := w.browser("alice")
			for _, tool := range []struct {
				name string
				args any
				form []string
			}{{"geocode", where{"Bern"}, []string{"f-value", "mk_1"}}, {"pay", pay{2}, nil}, {"pay", pay{2}, nil}} {
				done := call(t, c, tool.name, tool.args)
				link := get(t, pages)
				b.fill(link, "submit", tool.form...)
				ready <- struct{}{}
				if o := get(t, done); o.err != nil {
					t.Fatalf("%s: %v", tool.name, o.err)
				}
			}
			if w.paid() != 2 {
				t.Errorf("%d payments", w.paid())
			}
		})
	}
}
