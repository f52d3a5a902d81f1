package connect_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/mcp"
)

// TestThreat22ForgedStatus: who can write to the store, and has no keys, cannot approve for somebody.
func TestThreat22ForgedStatus(t *testing.T) {
	w := newWorld(t, nil)
	c := w.client("alice/desktop", revisions()[len(revisions())-1], nil) // links
	try := func() error {
		_, err := mcp.CallTool[where](t.Context(), c, "pay", pay{3})
		return err
	}
	linkIn(t, try())
	row := w.rows(connect.RowInteraction)[0]
	row.Status = "approved"
	if err := w.store.Update(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	if err := try(); err == nil || w.paid() != 0 {
		t.Errorf("an approval was forged in the store: paid %d times, %v", w.paid(), err)
	}
}

// TestThreat28ReplacedCredential: an approval of an action with one secret is none for the action with another that has taken its place.
func TestThreat28ReplacedCredential(t *testing.T) {
	var ran atomic.Int64
	w := newWorld(t, &worldOptions{tools: func(srv *mcp.Server, r *replica) {
		mcp.AddTool(srv, &mcp.Tool{Name: "charge"}, func(ctx context.Context, call *mcp.Call, _ pay) (where, error) {
			a := payment(1)
			a.Uses = []connect.Credential{r.key}
			return connect.Do(ctx, r.desk, call, a, func(connect.Approved) (where, error) {
				ran.Add(1)
				return where{}, nil
			})
		})
	}})
	alice := w.browser("alice")
	c := w.client("alice/desktop", revisions()[len(revisions())-1], nil)
	alice.fill(w.linkFor(c), "submit", "f-value", "mk_1")
	try := func() error {
		_, err := mcp.CallTool[where](t.Context(), c, "charge", pay{1})
		return err
	}
	alice.fill(linkIn(t, try()), "submit") // approved, with mk_1
	p := alice.open(w.url + "/connect/")
	alice.post(w.url+actionIn(t, p.body, "/revoke"), url.Values{"csrf": {p.csrf()}})
	alice.fill(w.linkFor(c), "submit", "f-value", "mk_another_account")
	if err := try(); err == nil || ran.Load() != 0 {
		t.Errorf("it ran with another secret than was approved: %v", err)
	}
}

// TestThreat04FinishOnce: coming back twice at once, by a double click, finishes a visit once.
func TestThreat04FinishOnce(t *testing.T) {
	var finishes atomic.Int64
	hold, at := make(chan struct{}), newCashier(t)
	w := newWorld(t, &worldOptions{page: func(s *connect.PageSpec) {
		at.spec(s)
		s.Finish = func(context.Context, *connect.Visit, url.Values) (any, error) {
			if finishes.Add(1) == 1 {
				<-hold
			}
			return "captured", nil
		}
	}, tools: addPageTool})
	person, pages := links()
	c := w.client("alice/app", revisions()[len(revisions())-1], person)
	done := call(t, c, "buy", pay{7})
	link := get(t, pages)
	alice := w.browser("alice")
	alice.fill(link, "submit")
	at.mu.Lock()
	var back string
	for _, url := range at.begun {
		back = url
	}
	at.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() { alice.open(back) })
	eventually(t, "Finish is called", func() bool { return finishes.Load() == 1 })
	alice.open(back)
	close(hold)
	wg.Wait()
	get(t, done)
	if n := finishes.Load(); n != 1 {
		t.Errorf("Finish ran %d times", n)
	}
}

// TestThreat36SignIns: whoever begins sign-ins without end, without being anybody, does not fill the store.
func TestThreat36SignIns(t *testing.T) {
	p := issuer(t, nil)
	w := newWorld(t, &worldOptions{issuer: p})
	b := w.browser("")
	b.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for range 50 {
		b.post(b.desk("signin"), url.Values{"back": {"/connect/"}})
	}
	if n := len(w.rows("signin")); n != 0 {
		t.Errorf("%d rows of nobody", n)
	}
}

// TestClientNames: what a client calls itself does not keep its person from being asked.
func TestClientNames(t *testing.T) {
	w := newWorld(t, nil)
	person, pages := links()
	c := w.clientCalled(strings.Repeat("€", 60), "alice/app", revisions()[len(revisions())-1], person)
	done := call(t, c, "geocode", where{"x"})
	select {
	case link := <-pages:
		w.browser("alice").fill(link, "decline")
	case o := <-done:
		t.Errorf("%+v", o)
	}
}

// TestThreat28WhatIsSeen: what a person approves is all there on the page: nothing is cut, and nothing is there that nobody sees.
func TestThreat28WhatIsSeen(t *testing.T) {
	hidden := "DE12\u200b3456\u202e\u00ad"
	w := newWorld(t, &worldOptions{tools: func(srv *mcp.Server, r *replica) {
		mcp.AddTool(srv, &mcp.Tool{Name: "long"}, func(ctx context.Context, call *mcp.Call, in where) (where, error) {
			a := connect.Action{Title: in.Text, Details: []connect.Detail{{Label: "IBAN", Value: hidden}, {Label: "Name", Value: "می\u200cخواهم"}}}
			return connect.Do(ctx, r.desk, call, a, func(connect.Approved) (where, error) { return where{}, nil })
		})
	}})
	c := w.client("alice/desktop", revisions()[len(revisions())-1], nil) // links
	try := func(title string) error {
		_, err := mcp.CallTool[where](t.Context(), c, "long", where{title})
		return err
	}
	if err := try("Pay 1 EUR" + strings.Repeat(" to Rail AG", 20) + " and sell the house"); err == nil || len(w.rows(connect.RowInteraction)) != 0 {
		t.Errorf("a title that the page would cut: %v", err)
	}
	p := w.browser("alice").open(linkIn(t, try("Pay")))
	if !strings.Contains(p.body, "DE12\ufffd3456\ufffd\ufffd") {
		t.Error("hidden characters stay hidden")
	}
	if strings.Count(p.body, "\ufffd") != 3 {
		t.Error("a joiner that belongs to its script is shown")
	}
}
