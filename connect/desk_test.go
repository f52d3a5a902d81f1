package connect_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/mcp"
)

// TestSecret: a tool needs a key, the person types it on a page, and the tool goes on; the next call needs nobody.
func TestSecret(t *testing.T) {
	eras(t, func(t *testing.T, rev mcp.Revision) {
		w := newWorld(t, nil)
		person, pages := links()
		c := w.client("alice/desktop", rev, person)
		done := call(t, c, "geocode", where{"Bern"})
		link := get(t, pages)
		b := w.browser("alice")
		p := b.open(link)
		for _, text := range []string{"Maps API key", "Travel desk", "Desk Assistant", "geocode", "alice"} {
			if !strings.Contains(p.body, text) {
				t.Errorf("the page does not say %q", text)
			}
		}
		if p = b.fill(link, "submit", "f-value", "wrong"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "keys begin with mk_") {
			t.Fatalf("a wrong key: status %d, %s", p.status, p.body)
		}
		if strings.Contains(p.body, `"wrong"`) {
			t.Error("the page sends back what was typed")
		}
		if p = b.fill(link, "submit", "f-value", "mk_12345"); p.status != http.StatusOK || !strings.Contains(p.body, "Saved") {
			t.Fatalf("status %d: %s", p.status, p.body)
		}
		if o := get(t, done); o.err != nil || o.res.Text != "Bern with a key of xxxxxxxx" {
			t.Fatalf("%+v", o)
		}
		res, err := mcp.CallTool[where](t.Context(), c, "geocode", where{"Wien"})
		if err != nil || res.Text != "Wien with a key of xxxxxxxx" {
			t.Fatalf("%+v, %v", res, err)
		}
		if len(pages) != 0 {
			t.Error("the person was asked again")
		}
	})
}

// TestApproval: an action is approved on a page, and runs once.
func TestApproval(t *testing.T) {
	eras(t, func(t *testing.T, rev mcp.Revision) {
		w := newWorld(t, nil)
		person, pages := links()
		c := w.client("alice/desktop", rev, person)
		for n := range int64(2) { // two calls that say the same are two actions
			done := call(t, c, "pay", pay{3})
			link := get(t, pages)
			b := w.browser("alice")
			if p := b.open(link); !strings.Contains(p.body, "III EUR") || !strings.Contains(p.body, "Pay Rail AG") {
				t.Fatalf("the page does not say what will be done: %s", p.body)
			}
			if w.paid() != n {
				t.Fatal("it was done before it was approved")
			}
			if p := b.fill(link, "submit"); !strings.Contains(p.body, "Approved") {
				t.Fatalf("status %d: %s", p.status, p.body)
			}
			if o := get(t, done); o.err != nil || !strings.HasPrefix(o.res.Text, "III EUR paid, alice, ") {
				t.Fatalf("%+v", o)
			}
			if w.paid() != n+1 {
				t.Fatalf("it was done %d times", w.paid())
			}
		}
	})
}

// TestDecline: a no on the page, and a no in the client, end the call, and nobody is asked again within it.
func TestDecline(t *testing.T) {
	eras(t, func(t *testing.T, rev mcp.Revision) {
		for _, tool := range []string{"geocode", "pay"} {
			t.Run(tool+"/page", func(t *testing.T) {
				w := newWorld(t, nil)
				person, pages := links()
				c := w.client("alice/desktop", rev, person)
				args := map[string]any{"text": "Bern"}
				if tool == "pay" {
					args = map[string]any{"amount": 3}
				}
				done := call(t, c, tool, args)
				if p := w.browser("alice").fill(get(t, pages), "decline"); !strings.Contains(p.body, "Declined") {
					t.Fatalf("status %d: %s", p.status, p.body)
				}
				if o := get(t, done); o.err == nil || !strings.Contains(o.err.Error(), "declined") {
					t.Fatalf("%+v", o)
				}
				if len(pages) != 0 || w.paid() != 0 {
					t.Error("the person was asked again, or it was done all the same")
				}
			})
		}
		t.Run("client", func(t *testing.T) {
			w := newWorld(t, nil)
			c := w.client("alice/desktop", rev, &mcp.Interactor{
				Open: func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: mcp.ActionDecline}, nil
				},
			})
			_, err := mcp.CallTool[where](t.Context(), c, "geocode", where{"Bern"})
			if err == nil || !strings.Contains(err.Error(), "declined") {
				t.Fatalf("%v", err)
			}
			rows := w.rows(connect.RowInteraction)
			if len(rows) != 1 || rows[0].Status != connect.StatusDeclined {
				t.Errorf("%+v", rows)
			}
		})
	})
}

// TestClientWithoutPages: a client that cannot open pages gets a link that it can read, and the same call goes on afterwards.
func TestClientWithoutPages(t *testing.T) {
	for _, rev := range revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			w := newWorld(t, nil)
			c := w.client("alice/desktop", rev, nil)
			_, err := mcp.CallTool[where](t.Context(), c, "geocode", where{"Bern"})
			link := linkIn(t, err)
			_, err = mcp.CallTool[where](t.Context(), c, "geocode", where{"Bern"})
			if again := linkIn(t, err); again != link {
				t.Errorf("another link: %s, %s", link, again)
			}
			w.browser("alice").fill(link, "submit", "f-value", "mk_1")
			if res, err := mcp.CallTool[where](t.Context(), c, "geocode", where{"Bern"}); err != nil || res.Text == "" {
				t.Fatalf("%+v, %v", res, err)
			}

			_, err = mcp.CallTool[where](t.Context(), c, "pay", pay{2})
			link = linkIn(t, err)
			w.browser("alice").fill(link, "submit")
			res, err := mcp.CallTool[where](t.Context(), c, "pay", pay{2})
			if err != nil || !strings.HasPrefix(res.Text, "II EUR paid") || w.paid() != 1 {
				t.Fatalf("%+v, %v, %d", res, err, w.paid())
			}
			_, err = mcp.CallTool[where](t.Context(), c, "pay", pay{2})
			if again := linkIn(t, err); again == link || w.paid() != 1 {
				t.Error("a second payment needs a second approval")
			}
			w.browser("alice").fill(linkIn(t, err), "decline")
			_, err = mcp.CallTool[where](t.Context(), c, "pay", pay{2})
			if err == nil || !strings.Contains(err.Error(), "declined") {
				t.Errorf("after a decline: %v", err)
			}
		})
	}
}

// linkIn returns the link in a tool's failure.
func linkIn(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		t.Fatal("no link: it succeeded")
	}
	for _, word := range strings.Fields(err.Error()) {
		if strings.HasPrefix(word, "http") {
			return word
		}
	}
	t.Fatalf("no link in %q", err.Error())
	return ""
}
