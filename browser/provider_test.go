package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/seed38e7925c/parley/browser/internal/tab"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// TestProvider signs a person in at the provider of tests and demonstrations with the keyboard alone and without script, and holds its pages
// against the rules of accessibility.
func TestProvider(t *testing.T) {
	axe := rules(t)
	b := tab.Start(t)
	// The client redirects once more, to an address without the code: the browser holds that against the form's policy too.
	client := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); r.URL.Path == "/callback" {
			http.Redirect(w, r, "/done?"+url.Values{"answered": {fmt.Sprint(q.Has("code"), q.Get("error"))}}.Encode(), http.StatusSeeOther)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, "<!DOCTYPE html><title>Client</title><h1>Back at the client</h1>")
	}))
	t.Cleanup(client.Close)
	p := idp.Start(t, &idp.Options{Name: "Northern Railways sign-in",
		Clients:   []idp.Client{{ID: "travel", Name: "Travel desk", RedirectURIs: []string{client.URL + "/callback"}}},
		Resources: []idp.Resource{{URI: "https://rail.example/api", Name: "Seats and bookings", Scopes: []string{"seats.book"}}},
		Users:     []idp.User{{Subject: "alice", Name: "Alice", Email: "alice@example.com"}, {Subject: "carol", Name: "Carol", Password: "s3cret"}}})
	ask := p.Issuer() + idp.Authorize + "?" + url.Values{"response_type": {"code"}, "client_id": {"travel"}, "redirect_uri": {client.URL + "/callback"}, "scope": {"openid seats.book"},
		"resource": {"https://rail.example/api"}, "code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"}}.Encode()
	for name, look := range map[string]*tab.Options{"light": {}, "dark": {Dark: true}, "narrow": {Width: 320, Height: 640}, "without script": {NoScript: true}} {
		t.Run(name, func(t *testing.T) {
			person := b.Tab(t, look)
			check := func(heading string) {
				t.Helper()
				person.WaitFor(heading)
				if look.NoScript {
					return // the rules are a script
				}
				person.Accessible(axe)
				if person.Overflows() {
					t.Errorf("%s: the page is wider than its window", heading)
				}
			}
			person.Open(ask)
			check("Sign in")
			if look.NoScript { // what finds the way by keyboard is a script too
				person.Press("Continue as Alice")
				person.WaitFor("Allow access?")
				person.Press("Decline")
				person.WaitFor("Back at the client")
				return
			}
			person.TabTo("Password of Carol")
			person.Type("wrong" + kb.Enter)
			person.WaitVisible(".problem")
			check("Sign in")
			person.TabTo("Password of Carol")
			person.Type("s3cret" + kb.Enter)
			check("Allow access?")
			person.TabTo("Allow")
			person.Type(kb.Enter)
			person.WaitFor("Back at the client")
			if at := person.Address(); !strings.Contains(at, "answered=true") {
				t.Errorf("at %s", at)
			}
			person.Open(p.Issuer() + idp.EndSession)
			check("Sign out?")
			person.TabTo("Sign out")
			person.Type(kb.Enter)
			check("Signed out")
			person.Open(strings.Replace(ask, "travel", "ghost", 1))
			check("This does not work")
		})
	}
}
