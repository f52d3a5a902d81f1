package connect_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/mcp"
)

// TestThreat26Flooding: a person is not asked without end. A decline ends the asking of its call; what is open is bounded, and the refusal
// says what to do.
func TestThreat26Flooding(t *testing.T) {
	w := newWorld(t, &worldOptions{desk: func(o *connect.Options) { o.MaxOpenPerTool, o.MaxOpenPerPerson = 2, 3 }, tools: addSecond})
	person, pages := links()
	c := w.client("alice/desktop", mcp.Revision20260728, person)
	done := call(t, c, "geocode", where{"Bern"})
	alice := w.browser("alice")
	alice.fill(get(t, pages), "decline")
	if o := get(t, done); o.err == nil || !strings.Contains(o.err.Error(), "declined") {
		t.Fatalf("%+v", o)
	}
	if len(pages) != 0 {
		t.Error("the person was asked again after they had declined")
	}
	for range 2 {
		call(t, c, "pay", pay{1})
		get(t, pages)
	}
	_, err := mcp.CallTool[where](t.Context(), c, "pay", pay{1})
	if err == nil || !strings.Contains(err.Error(), "2 unanswered requests of this tool") {
		t.Errorf("the cap of the tool: %v", err)
	}
	call(t, c, "pay2", pay{1})
	link := get(t, pages)
	_, err = mcp.CallTool[where](t.Context(), c, "pay2", pay{1})
	if err == nil || !strings.Contains(err.Error(), "3 unanswered requests of Travel desk") {
		t.Errorf("the cap of the person: %v", err)
	}
	other, otherPages := links()
	call(t, w.client("bob/desktop", mcp.Revision20260728, other), "pay", pay{1}) // nobody else is bounded by it
	get(t, otherPages)
	alice.fill(link, "decline")
	call(t, c, "pay2", pay{1})
	get(t, pages)
}

// addSecond adds another paying tool.
func addSecond(srv *mcp.Server, r *replica) {
	mcp.AddTool(srv, &mcp.Tool{Name: "pay2"}, func(ctx context.Context, call *mcp.Call, in pay) (where, error) {
		return connect.Do(ctx, r.desk, call, payment(in.Amount), func(connect.Approved) (where, error) { return where{"paid"}, nil })
	})
}

// TestThreat36Exhaustion: whoever makes a thousand calls at once opens no more than is allowed, and one interaction where they want the
// same.
func TestThreat36Exhaustion(t *testing.T) {
	w := newWorld(t, nil)
	c := w.client("alice/desktop", mcp.Revision20260728, nil) // links: the calls do not wait
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]int{}
	for i := range 300 {
		wg.Go(func() {
			var err error
			if i%3 == 0 {
				_, err = mcp.CallTool[where](t.Context(), c, "pay", pay{1 + i})
			} else {
				_, err = mcp.CallTool[where](t.Context(), c, "geocode", where{"Bern"})
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				seen["done"]++
			case strings.Contains(err.Error(), "unanswered requests"):
				seen["refused"]++
			case i%3 == 0:
				seen["pay"]++
			default:
				seen[linkIn(t, err)]++
			}
		})
	}
	wg.Wait()
	if rows := len(w.rows(connect.RowInteraction)); rows != 6 || seen["done"] != 0 || seen["pay"] != 5 || seen["refused"] != 95 || len(seen) != 3 {
		t.Errorf("%d interactions: %v", rows, seen)
	}
}

// TestThreat27FalseCompletion: a client that says yes to a page that nobody has visited gets nothing for it.
func TestThreat27FalseCompletion(t *testing.T) {
	eras(t, func(t *testing.T, rev mcp.Revision) {
		w := newWorld(t, &worldOptions{ask: mcp.AskOptions{Hold: 20 * time.Millisecond, MaxWaits: 3}})
		for tool, args := range map[string]any{"geocode": where{"x"}, "pay": pay{1}} {
			c := w.client("mallory/desktop", rev, accept(func(string) {}))
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			_, err := mcp.CallTool[where](ctx, c, tool, args)
			cancel()
			if err == nil {
				t.Errorf("%s: it went on", tool)
			}
		}
		if w.paid() != 0 || len(w.rows(connect.RowCredential)) != 0 {
			t.Error("something came of it")
		}
	})
}

// TestCaseU04AcceptIsNotDone: the client accepts at once, and retries as early and as often as it likes; no second page is made, and the
// late retry succeeds.
func TestCaseU04AcceptIsNotDone(t *testing.T) {
	w := newWorld(t, &worldOptions{ask: mcp.AskOptions{Hold: 20 * time.Millisecond}})
	params := map[string]any{"name": "geocode", "arguments": map[string]any{"text": "Bern"}}
	first := w.wire("alice/raw", "tools/call", params)
	link, state := asked(t, first)
	params["requestState"], params["inputResponses"] = state, accepted(first)
	for range 5 {
		again := w.wire("alice/raw", "tools/call", params)
		next, state := asked(t, again)
		if next != "" {
			t.Errorf("asked again: %s", next)
		}
		params["requestState"], params["inputResponses"] = state, map[string]any{}
	}
	if n := len(w.rows(connect.RowInteraction)); n != 1 {
		t.Errorf("%d interactions", n)
	}
	w.browser("alice").fill(link, "submit", "f-value", "mk_1")
	last := w.wire("alice/raw", "tools/call", params)
	if text := fmt.Sprint(last); !strings.Contains(text, "Bern with a key") {
		t.Errorf("%v", last)
	}
}

// TestCaseU10OldSignals: a 2026-07-28 client sees none of the signals of 2025-11-25.
func TestCaseU10OldSignals(t *testing.T) {
	w := newWorld(t, &worldOptions{ask: mcp.AskOptions{Hold: 20 * time.Millisecond}})
	for _, tool := range []map[string]any{
		{"name": "geocode", "arguments": map[string]any{"text": "Bern"}}, {"name": "pay", "arguments": map[string]any{"amount": 1}},
	} {
		first := w.wire("alice/raw", "tools/call", tool)
		link, state := asked(t, first)
		tool["requestState"], tool["inputResponses"] = state, accepted(first)
		held := w.wire("alice/raw", "tools/call", tool)
		w.browser("alice").fill(link, "submit", "f-value", "mk_1")
		_, tool["requestState"] = asked(t, held)
		last := w.wire("alice/raw", "tools/call", tool)
		for _, m := range []map[string]any{first, held, last} {
			text := fmt.Sprint(m)
			for _, old := range []string{"elicitationId", "-32042", "-32003", "notifications/elicitation"} {
				if strings.Contains(text, old) {
					t.Errorf("%s in %s", old, text)
				}
			}
		}
		if result, _ := held["result"].(map[string]any); result["resultType"] != "input_required" || fmt.Sprint(result["inputRequests"]) != "map[]" {
			t.Errorf("a held call asks for something: %v", held)
		}
	}
}

// TestRobot: the token of a client itself stands for nobody, and neither does none.
func TestRobot(t *testing.T) {
	w := newWorld(t, nil)
	for _, token := range []string{"alice/robot", "/desktop"} {
		c := w.client(token, mcp.Revision20260728, nil)
		_, err := mcp.CallTool[where](t.Context(), c, "geocode", where{"Bern"})
		if err == nil || !strings.Contains(err.Error(), "does not know who is calling") {
			t.Errorf("%s: %v", token, err)
		}
	}
	if n := len(w.rows(connect.RowInteraction)); n != 0 {
		t.Errorf("%d interactions", n)
	}
}

// TestUnlinked: where a link would not be safe, a client without pages gets none.
func TestUnlinked(t *testing.T) {
	w := newWorld(t, &worldOptions{desk: func(o *connect.Options) { o.Identity = connect.CookieIdentity{Unlinked: true} }})
	for _, rev := range revisions() {
		c := w.client("alice/desktop", rev, nil)
		_, err := mcp.CallTool[where](t.Context(), c, "pay", pay{1})
		if err == nil || strings.Contains(err.Error(), "http") {
			t.Errorf("%v: %v", rev, err)
		}
	}
	if n := len(w.rows(connect.RowInteraction)); n != 0 {
		t.Errorf("%d interactions", n)
	}
}

// TestHostName: on loopback the desk is reached by its own name alone.
func TestHostName(t *testing.T) {
	w := newWorld(t, nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/connect/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "rebound.evil.test"
	if p := w.browser("alice").do(req); p.status != http.StatusMisdirectedRequest {
		t.Errorf("status %d", p.status)
	}
}
