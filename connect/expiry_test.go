package connect_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/mcp"
)

// TestExpiry: what nobody answers in time is over: for the call, on the page, and for the bounds of what may be open; the next call asks
// anew.
func TestExpiry(t *testing.T) {
	eras(t, func(t *testing.T, rev mcp.Revision) {
		w := newWorld(t, &worldOptions{desk: func(o *connect.Options) { o.Lifetime, o.MaxOpenPerTool = 300*time.Millisecond, 1 }})
		person, pages := links()
		c := w.client("alice/desktop", rev, person)
		alice := w.browser("alice")
		for _, tool := range []string{"geocode", "pay"} {
			args := any(where{"Bern"})
			if tool == "pay" {
				args = pay{1}
			}
			done := call(t, c, tool, args)
			link := get(t, pages)
			token := alice.open(link).csrf()
			if o := get(t, done); o.err == nil || !strings.Contains(o.err.Error(), "did not finish in time") {
				t.Fatalf("%s: %+v", tool, o)
			}
			for range 2 {
				p := alice.open(link)
				if p.status != http.StatusGone || !strings.Contains(p.body, "This request is over") {
					t.Errorf("%s: status %d: %s", tool, p.status, p.body)
				}
				alice.post(link, url.Values{"csrf": {token}, "do": {"submit"}, "f-value": {"mk_late"}})
			}
			if len(w.rows(connect.RowCredential)) != 0 || w.paid() != 0 {
				t.Error("something came of it")
			}
			done = call(t, c, tool, args)
			if again := get(t, pages); again == link {
				t.Errorf("%s: the same page again", tool)
			}
			get(t, done)
		}
	})
}

// TestHeldPastSignIn: a call whose token runs out while it is held does not go on with it: it ends before, and its person's approval waits
// for the call that comes with another one.
func TestHeldPastSignIn(t *testing.T) {
	w := newWorld(t, &worldOptions{expiry: 400 * time.Millisecond})
	params := map[string]any{"name": "pay", "arguments": map[string]any{"amount": 1}}
	first := w.wire("alice/raw", "tools/call", params)
	link, state := asked(t, first)
	params["requestState"], params["inputResponses"] = state, accepted(first)
	begun := time.Now()
	again := w.wire("alice/raw", "tools/call", params)
	if _, state = asked(t, again); time.Since(begun) > patience/2 {
		t.Error("it was held beyond its token")
	}
	w.browser("alice").fill(link, "submit")
	if w.paid() != 0 {
		t.Error("it went on without a token")
	}
	params["requestState"], params["inputResponses"] = state, map[string]any{}
	if m := w.wire("alice/raw", "tools/call", params); !strings.Contains(fmt.Sprint(m), "I EUR paid") || w.paid() != 1 {
		t.Errorf("%v", m)
	}
}

// TestStoreUnreachable: where the store does not answer, nothing is granted and everybody is told to try again.
func TestStoreUnreachable(t *testing.T) {
	var down atomic.Bool
	w := newWorld(t, &worldOptions{wrap: func(_ int, s connect.Store) connect.Store { return mortal{s, func() bool { return !down.Load() }} }})
	b := w.begin("alice/desktop")
	eventually(t, "the calls are held", func() bool { return w.replicas[0].desk.Waiting() == 2 })
	alice := w.browser("alice")
	token := alice.open(b[0].link).csrf()
	down.Store(true)
	for name, p := range map[string]*page{
		"page": alice.open(b[0].link), "form": alice.post(b[0].link, url.Values{"csrf": {token}, "do": {"submit"}, "f-value": {"mk_1"}}),
		"connections": alice.open(w.url + "/connect/"), "audit": alice.open(w.url + "/connect/audit"),
	} {
		if p.status != http.StatusServiceUnavailable || !strings.Contains(p.body, "did not work") || strings.Contains(p.body, "killed") {
			t.Errorf("%s: status %d: %s", name, p.status, p.body)
		}
	}
	if _, err := mcp.CallTool[where](t.Context(), b[0].c, "geocode", where{"Bern"}); err == nil || strings.Contains(err.Error(), "killed") {
		t.Errorf("%v", err)
	}
	down.Store(false)
	for _, b := range b {
		alice.fill(b.link, "submit", b.form...)
		if o := get(t, b.done); o.err != nil {
			t.Error(o.err)
		}
	}
}
