//go:build !mcp_modern_only

package connect_test

import (
	"context"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
)

// TestCompletionIsTold: at 2025-11-25 each asking has an id of its own, and its client, no other, is told when the page is done.
func TestCompletionIsTold(t *testing.T) {
	w := newWorld(t, nil)
	told := make(chan string, 10)
	asking := make(chan *mcp.OpenQuestion, 10)
	for _, client := range []string{"alice/desktop", "alice/desktop", "bob/desktop"} {
		c := w.client(client, mcp.Revision20251125, &mcp.Interactor{
			Open: func(_ context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
				asking <- q
				return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
			},
			Completed: func(_ context.Context, q *mcp.OpenQuestion) { told <- q.ID },
		})
		call(t, c, "geocode", where{"Bern"})
	}
	first, second, third := get(t, asking), get(t, asking), get(t, asking)
	links := map[string]int{first.URL: 1}
	links[second.URL]++
	links[third.URL]++
	if len(links) != 2 || first.ID == second.ID || second.ID == third.ID || first.ID == third.ID {
		t.Fatalf("%+v %+v %+v", first, second, third)
	}
	eventually(t, "the calls wait", func() bool { return w.replicas[0].desk.Waiting() == 3 })
	shared := ""
	for link, n := range links {
		if n == 2 {
			shared = link
		}
	}
	w.browser("alice").fill(shared, "submit", "f-value", "mk_1")
	got := map[string]bool{get(t, told): true, get(t, told): true}
	for _, q := range []*mcp.OpenQuestion{first, second, third} {
		if got[q.ID] != (q.URL == shared) {
			t.Errorf("told %v: %s is for %s", got, q.ID, q.URL)
		}
	}
	if len(told) != 0 {
		t.Error("somebody else was told")
	}
	for link := range links {
		if link != shared {
			w.browser("bob").fill(link, "submit", "f-value", "mk_1")
		}
	}
	get(t, told)
}

// TestQuestionIsLeftOpen: a client whose person has finished the page, and that never answers whether they agree to open it, goes on.
func TestQuestionIsLeftOpen(t *testing.T) {
	w := newWorld(t, nil)
	pages := make(chan string, 1)
	c := w.client("alice/desktop", mcp.Revision20251125, &mcp.Interactor{
		Open: func(ctx context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
			pages <- q.URL
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	done := call(t, c, "pay", pay{1})
	w.browser("alice").fill(get(t, pages), "submit")
	if o := get(t, done); o.err != nil || w.paid() != 1 {
		t.Errorf("%+v, %d", o, w.paid())
	}
}

// TestCaseU02RequiredAgain: a client that comes back too early is sent to the same page again, under another id, and not to a second one; it
// gives up by itself.
func TestCaseU02RequiredAgain(t *testing.T) {
	w := newWorld(t, &worldOptions{stateless: true})
	var asked []*mcp.OpenQuestion
	c := w.client("alice/desktop", mcp.Revision20251125, &mcp.Interactor{
		Open: func(_ context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
			asked = append(asked, q)
			return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
		},
		Wait: func(context.Context, *mcp.OpenQuestion) error { return nil }, // "I am done", which is not true
	})
	for range 2 {
		if _, err := mcp.CallTool[where](t.Context(), c, "geocode", where{"Bern"}); err == nil {
			t.Fatal("it succeeded")
		}
	}
	if len(asked) < 2 || len(asked) > 6 {
		t.Fatalf("asked %d times", len(asked))
	}
	ids := map[string]bool{}
	for _, q := range asked {
		if q.URL != asked[0].URL {
			t.Errorf("a second page: %s, %s", q.URL, asked[0].URL)
		}
		ids[q.ID] = true
	}
	if len(ids) != len(asked) {
		t.Errorf("%d ids for %d askings", len(ids), len(asked))
	}
	w.browser("alice").fill(asked[0].URL, "submit", "f-value", "mk_1")
	if _, err := mcp.CallTool[where](t.Context(), c, "geocode", where{"Bern"}); err != nil {
		t.Errorf("the finished step is not recognised: %v", err)
	}
}
