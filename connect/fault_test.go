package connect_test

import (
	"context"
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

// TestKilledBetweenSteps kills the first replica before its first use of the store, before its second, and so on until it lives through all of
// it. Person and client try again at the second one. Nothing that the person has done is lost or done twice.
func TestKilledBetweenSteps(t *testing.T) {
	for _, tool := range []string{"geocode", "pay"} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/lost=%v", tool, lost), func(t *testing.T) {
				for cut := int64(1); ; cut++ {
					if lived := killedAt(t, tool, cut, lost); lived {
						if cut < 10 {
							t.Errorf("it took %d steps only", cut)
						}
						return
					}
				}
			})
		}
	}
}

// killedAt plays a call with a replica that dies at its nth step, and reports whether it has lived. Where the answer is lost, the step at
// which it dies is done all the same.
func killedAt(t *testing.T, tool string, cut int64, lost bool) (lived bool) {
	var used atomic.Int64
	used.Store(-1 << 40) // opening the desk does not count
	alive := func() bool { return used.Add(1) < cut }
	w := newWorld(t, &worldOptions{
		replicas: 2, ask: mcp.AskOptions{Hold: 100 * time.Millisecond},
		wrap: func(i int, s connect.Store) connect.Store {
			switch {
			case i == 1:
				return s
			case lost:
				return forgetful{mortal{s, func() bool { return used.Load() < cut }}, func() bool { return used.Add(1) == cut }}
			}
			return mortal{s, alive}
		},
		tools: func(_ *mcp.Server, r *replica) {
			r.desk.SetLease(150 * time.Millisecond)
			r.desk.SetGrace(200 * time.Millisecond)
		},
	})
	used.Store(0)
	w.route = func(*http.Request) int {
		if used.Load() < cut {
			return 0
		}
		return 1
	}
	args := map[string]any{"text": "Bern"}
	if tool == "pay" {
		args = map[string]any{"amount": 2}
	}
	params := map[string]any{"name": tool, "arguments": args}
	alice := w.browser("alice")
	for range 60 {
		m := w.wire("alice/raw", "tools/call", params)
		result, _ := m["result"].(map[string]any)
		switch {
		case result["resultType"] == "input_required":
			link, state := asked(t, m)
			params["requestState"], params["inputResponses"] = state, accepted(m)
			if link != "" {
				alice.insist(t, link)
			}
			continue
		case result["isError"] == true && strings.Contains(fmt.Sprint(result), "internal error"), result == nil:
			continue // the client makes the call again
		}
		w.judge(tool, m, cut)
		return used.Load() < cut
	}
	t.Errorf("cut at %d: it never ended", cut)
	return true
}

// TestKilledAndForgotten: the process dies right after a person has handed a secret over, and no call comes back for it. It is kept all the
// same, and another replica puts it where it belongs.
func TestKilledAndForgotten(t *testing.T) {
	var dead atomic.Bool
	w := newWorld(t, &worldOptions{
		replicas: 2,
		wrap: func(i int, s connect.Store) connect.Store {
			if i == 1 {
				return s
			}
			return dying{mortal{s, func() bool { return !dead.Load() }}, &dead}
		},
		tools: func(_ *mcp.Server, r *replica) { r.desk.SetGrace(200 * time.Millisecond) },
	})
	w.route = func(*http.Request) int { return 0 }
	link, _ := asked(t, w.wire("alice/raw", "tools/call", map[string]any{"name": "geocode", "arguments": map[string]any{"text": "Bern"}}))
	alice := w.browser("alice")
	alice.fill(link, "submit", "f-value", "mk_1")
	w.route = func(*http.Request) int { return 1 }
	if n := len(w.rows(connect.RowCredential)); n != 0 || !dead.Load() {
		t.Fatalf("%d credentials, dead %v", n, dead.Load())
	}
	if p := alice.open(link); !strings.Contains(p.body, "Saved") {
		t.Errorf("%s", p.body)
	}
	for range 2 {
		if err := w.replicas[1].desk.SettleAll(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n := len(w.rows(connect.RowCredential)); n != 1 {
		t.Errorf("%d credentials", n)
	}
	if p := alice.open(w.url + "/connect/"); !strings.Contains(p.body, "Maps API key") {
		t.Errorf("%s", p.body)
	}
}

// dying dies with the update that completes an interaction.
type dying struct {
	mortal
	dead *atomic.Bool
}

func (d dying) Update(ctx context.Context, r *connect.Row) error {
	err := d.mortal.Update(ctx, r)
	if err == nil && r.Kind == connect.RowInteraction && r.Status == "completed" {
		d.dead.Store(true)
	}
	return err
}

// judge makes sure that a call has ended as it must.
func (w *world) judge(tool string, m map[string]any, cut int64) {
	w.t.Helper()
	text := fmt.Sprint(m)
	if tool == "geocode" {
		if !strings.Contains(text, "Bern with a key of xxxxxxxx") {
			w.t.Errorf("cut at %d: %s", cut, text)
		}
		eventually(w.t, fmt.Sprintf("cut at %d: one credential", cut), func() bool {
			n := w.rows(connect.RowCredential)
			return len(n) == 1 && n[0].Status == "active"
		})
		return
	}
	paid, unknown := strings.Contains(text, "II EUR paid"), strings.Contains(text, "is unknown")
	if !paid && !unknown || w.paid() > 1 || paid && w.paid() != 1 {
		w.t.Errorf("cut at %d: paid %d times: %s", cut, w.paid(), text)
	}
}

// insist answers a page until it says that it is answered.
func (b *browser) insist(t *testing.T, link string) {
	for range 10 {
		p := b.open(link)
		if p.status == http.StatusOK && strings.Contains(p.body, "return to") {
			return
		}
		if p.status != http.StatusOK {
			continue
		}
		b.post(link, url.Values{"csrf": {p.csrf()}, "do": {"submit"}, "f-value": {"mk_12345"}})
	}
	t.Errorf("the page never took the answer: %s", b.open(link).body)
}

// forgetful is what a process sees of a store whose answer is lost: the step is done, and the process dies before it knows.
type forgetful struct {
	mortal
	now func() bool // asked after each step
}

func (f forgetful) Insert(ctx context.Context, r *connect.Row) (*connect.Row, error) {
	existing, err := f.mortal.Insert(ctx, r)
	if f.now() && err == nil {
		return nil, errKilled
	}
	return existing, err
}

func (f forgetful) Update(ctx context.Context, r *connect.Row) error {
	err := f.mortal.Update(ctx, r)
	if f.now() && err == nil {
		return errKilled
	}
	return err
}

func (f forgetful) Get(ctx context.Context, kind, id string) (*connect.Row, error) {
	row, err := f.mortal.Get(ctx, kind, id)
	if f.now() && err == nil {
		return nil, errKilled
	}
	return row, err
}

func (f forgetful) Find(ctx context.Context, q *connect.Query) ([]*connect.Row, error) {
	rows, err := f.mortal.Find(ctx, q)
	if f.now() && err == nil {
		return nil, errKilled
	}
	return rows, err
}
