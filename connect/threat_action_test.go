package connect_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/mcp"
)

// TestThreat28ChangedAction: what runs is what was approved. An action that says something else when the call comes back, other arguments,
// and another credential need another approval.
func TestThreat28ChangedAction(t *testing.T) {
	eras(t, func(t *testing.T, rev mcp.Revision) {
		var price, ran atomic.Int64
		w := newWorld(t, &worldOptions{ask: mcp.AskOptions{Hold: 50 * time.Millisecond}, tools: func(srv *mcp.Server, r *replica) {
			mcp.AddTool(srv, &mcp.Tool{Name: "drift"}, func(ctx context.Context, call *mcp.Call, _ pay) (where, error) {
				a := payment(int(price.Load()))
				a.Uses = []connect.Credential{r.key}
				return connect.Do(ctx, r.desk, call, a, func(a connect.Approved) (where, error) {
					ran.Add(1)
					return where{a.Action.Details[0].Value}, nil
				})
			})
		}})
		alice := w.browser("alice")
		c := w.client("alice/desktop", rev, nil) // links: each call is a run of the handler
		try := func(amount int) (where, string) {
			res, err := mcp.CallTool[where](t.Context(), c, "drift", pay{amount})
			if err != nil {
				return res, linkIn(t, err)
			}
			return res, ""
		}
		price.Store(1)
		_, first := try(1)
		alice.fill(first, "submit")
		price.Store(9) // the action is edited after it was approved
		if _, link := try(1); link == "" || link == first {
			t.Fatal("an edited action needed no approval")
		}
		price.Store(1)
		if _, link := try(2); link == "" || link == first { // other arguments
			t.Fatal("other arguments needed no approval")
		}
		alice.fill(w.linkFor(c), "submit", "f-value", "mk_1") // another credential
		if _, link := try(1); link == "" || link == first {
			t.Fatal("another credential needed no approval")
		}
		if ran.Load() != 0 {
			t.Fatal("it ran without its approval")
		}
		_, link := try(1)
		alice.fill(link, "submit")
		if res, _ := try(1); res.Text != "I EUR" || ran.Load() != 1 {
			t.Errorf("%+v, %d", res, ran.Load())
		}
	})
}

// linkFor has somebody without pages asked for the maps key.
func (w *world) linkFor(c *mcp.Client) string {
	w.t.Helper()
	_, err := mcp.CallTool[where](w.t.Context(), c, "geocode", where{"x"})
	return linkIn(w.t, err)
}

// TestThreat28EditedBetweenRounds: the same, within one call of a client with pages: the handler says something else after the yes.
func TestThreat28EditedBetweenRounds(t *testing.T) {
	var price, ran atomic.Int64
	price.Store(1)
	w := newWorld(t, &worldOptions{tools: func(srv *mcp.Server, r *replica) {
		mcp.AddTool(srv, &mcp.Tool{Name: "drift"}, func(ctx context.Context, call *mcp.Call, _ pay) (where, error) {
			return connect.Do(ctx, r.desk, call, payment(int(price.Load())), func(a connect.Approved) (where, error) {
				ran.Add(1)
				return where{a.Action.Details[0].Value}, nil
			})
		})
	}})
	alice := w.browser("alice")
	params := map[string]any{"name": "drift", "arguments": map[string]any{"amount": 1}}
	first := w.wire("alice/raw", "tools/call", params)
	link, state := asked(t, first)
	alice.fill(link, "submit")
	price.Store(9)
	params["requestState"], params["inputResponses"] = state, accepted(first)
	second := w.wire("alice/raw", "tools/call", params)
	other, state := asked(t, second)
	if other == "" || other == link || ran.Load() != 0 {
		t.Fatalf("it ran, or was not asked for: %v", second)
	}
	if p := alice.open(other); !strings.Contains(p.body, "IIIIIIIII EUR") {
		t.Errorf("the page does not show the new action: %s", p.body)
	}
	alice.fill(other, "decline")
	params["requestState"], params["inputResponses"] = state, accepted(second)
	if last := w.wire("alice/raw", "tools/call", params); !strings.Contains(fmt.Sprint(last), "declined") || ran.Load() != 0 {
		t.Errorf("%v", last)
	}
}

// TestThreat35ApprovedOnceRunOnce: however often and wherever the approved call comes back, the action runs once, and each gets its result.
func TestThreat35ApprovedOnceRunOnce(t *testing.T) {
	w := newWorld(t, &worldOptions{replicas: 3, ask: mcp.AskOptions{Hold: 300 * time.Millisecond}, tools: addSlow(time.Second, nil)})
	params := map[string]any{"name": "slow", "arguments": map[string]any{"amount": 2}}
	first := w.wire("alice/raw", "tools/call", params)
	link, state := asked(t, first)
	w.browser("alice").fill(link, "submit")
	answers := accepted(first)
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			p := map[string]any{"name": "slow", "arguments": map[string]any{"amount": 2}, "requestState": state, "inputResponses": answers}
			for range 60 {
				m := w.wire("alice/raw", "tools/call", p)
				if text := fmt.Sprint(m); strings.Contains(text, "II EUR paid") {
					return
				}
				_, p["requestState"] = asked(t, m)
				p["inputResponses"] = map[string]any{}
			}
			t.Error("no result")
		})
	}
	wg.Wait()
	if w.paid() != 1 {
		t.Errorf("it ran %d times", w.paid())
	}
}

// addSlow adds a tool whose action takes a while, longer than a run may be silent.
func addSlow(lease time.Duration, during func(ctx context.Context) error) func(*mcp.Server, *replica) {
	return func(srv *mcp.Server, r *replica) {
		r.desk.SetLease(lease)
		r.desk.SetGrace(time.Second)
		mcp.AddTool(srv, &mcp.Tool{Name: "slow"}, func(ctx context.Context, call *mcp.Call, in pay) (where, error) {
			return connect.Do(ctx, r.desk, call, payment(in.Amount), func(a connect.Approved) (where, error) {
				r.pays.Add(1)
				if during != nil {
					if err := during(ctx); err != nil {
						return where{}, err
					}
				}
				<-time.After(2 * lease)
				return where{a.Action.Details[0].Value + " paid"}, nil
			})
		})
	}
}

// TestThreat35Unknown: an action whose process died on it, that panicked or was cancelled is not run again; who calls again is told so,
// and what to do.
func TestThreat35Unknown(t *testing.T) {
	for name, during := range map[string]func(kill func()) func(ctx context.Context) error{
		"killed": func(kill func()) func(context.Context) error {
			return func(context.Context) error { kill(); return nil }
		},
		"panic": func(func()) func(context.Context) error { return func(context.Context) error { panic("boom") } },
		"cancelled": func(func()) func(context.Context) error {
			return func(context.Context) error { return fmt.Errorf("sending: %w", context.DeadlineExceeded) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			var dead atomic.Bool
			w := newWorld(t, &worldOptions{
				replicas: 2, ask: mcp.AskOptions{Hold: 300 * time.Millisecond},
				wrap: func(i int, s connect.Store) connect.Store {
					if i == 0 {
						return mortal{s, func() bool { return !dead.Load() }}
					}
					return s
				},
				tools: addSlow(150*time.Millisecond, during(func() { dead.Store(true) })),
			})
			w.route = func(*http.Request) int { return 0 }
			params := map[string]any{"name": "slow", "arguments": map[string]any{"amount": 2}}
			first := w.wire("alice/raw", "tools/call", params)
			link, state := asked(t, first)
			w.browser("alice").fill(link, "submit")
			params["requestState"], params["inputResponses"] = state, accepted(first)
			w.wire("alice/raw", "tools/call", params)
			w.route = func(*http.Request) int { return 1 }
			for range 3 {
				m := w.wire("alice/raw", "tools/call", params)
				for range 20 {
					if result, _ := m["result"].(map[string]any); result["resultType"] != "input_required" {
						break
					}
					_, params["requestState"] = asked(t, m)
					params["inputResponses"] = map[string]any{}
					m = w.wire("alice/raw", "tools/call", params)
				}
				if text := fmt.Sprint(m); !strings.Contains(text, "whether it took effect is unknown") || !strings.Contains(text, "Find out first") {
					t.Errorf("%s", text)
				}
			}
			if w.paid() != 1 {
				t.Errorf("it ran %d times", w.paid())
			}
		})
	}
}

// errKilled is what the store says to a process that is dead.
var errKilled = errors.New("killed")

// mortal is what a process sees of a store as long as it lives.
type mortal struct {
	connect.Store
	alive func() bool // asked before each call of the process; it may count them
}

func (m mortal) Insert(ctx context.Context, r *connect.Row) (*connect.Row, error) {
	if !m.alive() {
		return nil, errKilled
	}
	return m.Store.Insert(ctx, r)
}

func (m mortal) Update(ctx context.Context, r *connect.Row) error {
	if !m.alive() {
		return errKilled
	}
	return m.Store.Update(ctx, r)
}

func (m mortal) Get(ctx context.Context, kind, id string) (*connect.Row, error) {
	if !m.alive() {
		return nil, errKilled
	}
	return m.Store.Get(ctx, kind, id)
}

func (m mortal) Find(ctx context.Context, q *connect.Query) ([]*connect.Row, error) {
	if !m.alive() {
		return nil, errKilled
	}
	return m.Store.Find(ctx, q)
}
