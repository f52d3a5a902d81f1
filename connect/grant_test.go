package connect_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// TestGrant is the way: a tool needs access, the person goes to the provider and back, the tool goes on; afterwards nobody is asked.
func TestGrant(t *testing.T) {
	eras(t, func(t *testing.T, rev mcp.Revision) {
		o := &railOptions{}
		if rev == mcp.Revision20260728 {
			o.replicas = 3 // the retry, the page and the answer of the provider come to different ones
		}
		w := newRail(t, o)
		person, pages := links()
		c := w.client("alice/app", rev, person)
		done := call(t, c, "seats", where{})
		link := get(t, pages)
		b := w.browser("alice")
		p := b.open(link)
		for _, want := range []string{"Rail AG", "See free seats", strings.TrimPrefix(w.idp.Issuer(), "http://"), "Desk Assistant"} {
			if !strings.Contains(p.body, want) {
				t.Errorf("the page does not say %q", want)
			}
		}
		if !strings.Contains(p.header.Get("Content-Security-Policy"), w.idp.Issuer()) {
			t.Errorf("the form may not lead to the provider: %s", p.header.Get("Content-Security-Policy"))
		}
		p = b.fill(link, "submit")
		if p.status != http.StatusOK || p.url.String() != link || !strings.Contains(p.body, "Connected account: anna@rail.test") {
			t.Fatalf("%s: %d %s", p.url, p.status, p.body)
		}
		if out := get(t, done); out.err != nil || !strings.HasPrefix(out.res.Text, "u-anna ") || !strings.HasSuffix(out.res.Text, " anna@rail.test") {
			t.Fatalf("the tool: %+v", out)
		}
		if got := w.ask("alice/other-app"); !strings.HasPrefix(got, "u-anna ") { // W08: another client of the same person
			t.Errorf("another client: %s", got)
		}
		if n := w.idp.Count(idp.Authorize); n != 1 {
			t.Errorf("%d visits at the provider", n)
		}
		if got := w.ask("bob/app"); strings.Contains(got, "u-anna") || !strings.Contains(got, "declined") {
			t.Errorf("somebody else: %s", got)
		}
		rows := w.rows(connect.RowCredential)
		if len(rows) != 1 || strings.Contains(string(rows[0].Data), w.tokens[0]) {
			t.Errorf("%d credentials, or the token is not sealed", len(rows))
		}
		w.hunt(b)
	})
}

// hunt looks for tokens and secrets where they must not be: logs and pages.
func (w *rail) hunt(browsers ...*browser) {
	w.t.Helper()
	places := map[string]string{"the log": w.logs.String()}
	for _, b := range browsers {
		places["what a browser was sent"] += b.seen.String()
	}
	for place, text := range places {
		for _, secret := range append(w.tokens, railSecret) {
			if secret == "" || strings.Contains(text, secret) {
				w.t.Errorf("a secret is in %s", place)
			}
		}
	}
}
