package connect_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/mcp"
)

// begun is a call that waits for its person at a page.
type begun struct {
	tool string
	link string
	form []string
	done chan outcome
	c    *mcp.Client
}

// begin makes a call of each kind for somebody, and returns the pages that they are asked to visit.
func (w *world) begin(token string) []*begun {
	w.t.Helper()
	var all []*begun
	for _, b := range []*begun{{tool: "geocode", form: []string{"f-value", "mk_" + token[:3]}}, {tool: "pay"}} {
		person, pages := links()
		b.c = w.client(token, mcp.Revision20260728, person)
		args := any(where{"Bern"})
		if b.tool == "pay" {
			args = pay{3}
		}
		b.done = call(w.t, b.c, b.tool, args)
		b.link = get(w.t, pages)
		all = append(all, b)
	}
	return all
}

// untouched makes sure that nobody has answered an interaction.
func (w *world) untouched(b *begun) {
	w.t.Helper()
	for _, row := range w.rows(connect.RowInteraction) {
		if strings.HasSuffix(b.link, row.ID) && row.Status != "created" {
			w.t.Errorf("%s: the interaction is %s", b.tool, row.Status)
		}
	}
	if n := len(w.rows(connect.RowCredential)); n != 0 {
		w.t.Errorf("%s: %d credentials", b.tool, n)
	}
	if w.paid() != 0 {
		w.t.Errorf("%s: the action ran", b.tool)
	}
}

// TestThreat01SomebodyElseFinishes: the starter sends the link to a victim. Whoever is not the starter gets a page that says so, whatever
// they do there, and nothing comes of it; the starter's own browser gets on.
func TestThreat01SomebodyElseFinishes(t *testing.T) { attackByLink(t) }

// TestCaseW01TheStarterSendsAVictimTheLink is the same attack, as it was found in the field.
func TestCaseW01TheStarterSendsAVictimTheLink(t *testing.T) { attackByLink(t) }

func attackByLink(t *testing.T) {
	w := newWorld(t, nil)
	all := w.begin("mallory/desktop")
	victim, nobody := w.browser("alice"), w.browser("")
	for _, b := range all {
		if p := nobody.open(b.link); p.status != http.StatusUnauthorized || strings.Contains(p.body, "Maps") || strings.Contains(p.body, "Rail") {
			t.Errorf("%s, without a session: status %d: %s", b.tool, p.status, p.body)
		}
		p := victim.open(b.link)
		if p.status != http.StatusForbidden || !strings.Contains(p.body, "not yours") || strings.Contains(p.body, "Rail") {
			t.Errorf("%s, the victim: status %d: %s", b.tool, p.status, p.body)
		}
		own := w.browser("mallory").open(b.link).csrf()
		for _, token := range []string{p.csrf(), own, ""} {
			form := url.Values{"csrf": {token}, "do": {"submit"}, "f-value": {"mk_victim"}}
			if p := victim.post(b.link, form); p.status != http.StatusForbidden {
				t.Errorf("%s, the victim submits: status %d", b.tool, p.status)
			}
			if p := nobody.post(b.link, form); p.status != http.StatusUnauthorized {
				t.Errorf("%s, without a session: status %d", b.tool, p.status)
			}
		}
		for _, edited := range []string{b.link + "?user=alice", b.link + "?as=mallory&sub=mallory", b.link + "#mallory"} {
			if p := victim.open(edited); p.status != http.StatusForbidden {
				t.Errorf("%s: status %d", edited, p.status)
			}
		}
		w.untouched(b)
	}
	other := w.begin("alice/desktop") // the victim has an open page of their own
	if p := victim.open(all[0].link); p.status != http.StatusForbidden {
		t.Errorf("status %d", p.status)
	}
	for i, b := range all {
		w.browser("mallory").fill(b.link, "submit", b.form...)
		if o := get(t, b.done); o.err != nil {
			t.Errorf("the starter: %v", o.err)
		}
		victim.fill(other[i].link, "submit", other[i].form...)
		get(t, other[i].done)
	}
	// The person whose request it was learns that somebody else was there, once.
	audit := w.browser("mallory").open(w.url + "/connect/audit").body
	if n := strings.Count(audit, "Opened by somebody else"); n != len(all) {
		t.Errorf("the audit has it %d times: %s", n, audit)
	}
}

// TestThreat02Planting: an attacker has the victim's browser save what is the attacker's.
func TestThreat02Planting(t *testing.T) {
	w := newWorld(t, nil)
	attacker, victim := w.begin("mallory/desktop")[0], w.begin("alice/desktop")[0]
	stolen := w.browser("mallory").open(attacker.link).csrf()
	alice := w.browser("alice")
	form := url.Values{"csrf": {stolen}, "do": {"submit"}, "f-value": {"mk_of_mallory"}}
	if p := alice.post(victim.link, form); p.status != http.StatusForbidden {
		t.Errorf("the victim's own page took the attacker's form: status %d", p.status)
	}
	if p := alice.post(attacker.link, form); p.status != http.StatusForbidden {
		t.Errorf("the attacker's page took the victim's browser: status %d", p.status)
	}
	w.untouched(victim)
	w.untouched(attacker)
	if p := alice.open(victim.link); !strings.Contains(p.body, "Your account") || !strings.Contains(p.body, ">alice<") {
		t.Errorf("the page does not say for which account: %s", p.body)
	}
}

// TestThreat06GuessedIDs: an id that is guessed, malformed or somebody else's says nothing about what exists.
func TestThreat06GuessedIDs(t *testing.T) {
	w := newWorld(t, nil)
	b := w.begin("alice/desktop")
	w.browser("alice").fill(b[0].link, "submit", b[0].form...)
	get(t, b[0].done)
	mallory := w.browser("mallory")
	missing := mallory.open(w.url + "/connect/i/" + strings.Repeat("A", 32))
	for _, id := range []string{"x", strings.Repeat("B", 32), strings.Repeat("A", 31), "..%2f..%2faudit", strings.Repeat("A", 5000), "%00", "%ff"} {
		if p := mallory.open(w.url + "/connect/i/" + id); p.status != http.StatusNotFound || p.body != missing.body {
			t.Errorf("%.40q: status %d", id, p.status)
		}
	}
	credential := w.rows(connect.RowCredential)[0]
	own := mallory.open(w.url + "/connect/")
	if strings.Contains(own.body, "Maps API key") || strings.Contains(mallory.open(w.url+"/connect/audit").body, "geocode") {
		t.Error("somebody sees what is somebody else's")
	}
	for _, id := range []string{credential.ID, strings.Repeat("A", 32), "x"} {
		p := mallory.post(w.url+"/connect/grants/"+id+"/revoke", url.Values{"csrf": {own.csrf()}})
		if p.status != http.StatusNotFound || p.body != missing.body {
			t.Errorf("revoking %q: status %d", id, p.status)
		}
	}
	if row := w.rows(connect.RowCredential)[0]; row.Status != "active" {
		t.Errorf("the credential is %s", row.Status)
	}
	// A client other than the one that has begun does not get on with it either.
	if _, err := mcp.CallTool[where](t.Context(), w.client("alice/other", mcp.Revision20260728, nil), "pay", pay{3}); err == nil ||
		strings.Contains(err.Error(), b[1].link) {
		t.Errorf("another client got the same interaction: %v", err)
	}
}

// TestThreat23TenantsOfOneDesk: who has the same name in two tenants is two people: neither finds, finishes or uses what is the other's.
func TestThreat23TenantsOfOneDesk(t *testing.T) {
	w := newWorld(t, &worldOptions{desk: func(o *connect.Options) {
		o.Tenant = func(p *mcp.Principal) string { return p.ClientID }
	}})
	in := func(tenant string) *browser {
		b := w.browser("")
		b.http.Jar.SetCookies(b.base, []*http.Cookie{{Name: connect.TestCookie, Value: "alice:s:" + tenant, Path: "/"}})
		return b
	}
	first, second := w.begin("alice/a"), w.begin("alice/b")
	for i := range first {
		if p := in("b").open(first[i].link); p.status != http.StatusForbidden {
			t.Errorf("%s: status %d", first[i].tool, p.status)
		}
		if p := w.browser("alice").open(first[i].link); p.status != http.StatusForbidden {
			t.Errorf("%s, without a tenant: status %d", first[i].tool, p.status)
		}
		in("a").fill(first[i].link, "submit", first[i].form...)
		if o := get(t, first[i].done); o.err != nil {
			t.Error(o.err)
		}
		w.pending(second[i])
	}
	if p := in("b").open(w.url + "/connect/"); strings.Contains(p.body, "Maps API key") {
		t.Error("one tenant sees what is the other's")
	}
	for _, b := range second {
		in("b").fill(b.link, "submit", b.form...)
		if o := get(t, b.done); o.err != nil {
			t.Error(o.err)
		}
	}
	if n := len(w.rows(connect.RowCredential)); n != 2 {
		t.Errorf("%d credentials", n)
	}
}

// pending makes sure that an interaction is open.
func (w *world) pending(b *begun) {
	w.t.Helper()
	for _, row := range w.rows(connect.RowInteraction) {
		if strings.HasSuffix(b.link, row.ID) && row.Status != "created" {
			w.t.Errorf("%s: the interaction is %s", b.tool, row.Status)
		}
	}
}
