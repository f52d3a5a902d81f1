package browser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/seed38e7925c/parley/browser/internal/tab"
)

// A walk is one way through the pages: every page that it meets is held against the rules, and pictured.
type walk struct {
	*tab.Tab
	t        *testing.T
	axe      string
	pictures string // a folder, empty for none
	look     string
}

// seen holds the page against the rules of accessibility, and takes a picture of it when PARLEY_PICTURES names a folder.
func (w *walk) seen(name string) {
	w.t.Helper()
	if w.axe != "" {
		w.Accessible(w.axe)
		if w.Overflows() {
			w.t.Errorf("%s is wider than its window", name)
		}
	}
	if w.pictures != "" {
		w.Screenshot(filepath.Join(w.pictures, name+"-"+w.look+".png"))
	}
}

// signIn goes through the sign-in with the keyboard alone.
func (w *walk) signIn(h *house, who string) {
	w.t.Helper()
	host := strings.TrimPrefix(h.issuer.Issuer(), "http://")
	w.WaitFor("Sign in to continue")
	w.seen("sign-in")
	w.TabTo("Continue to " + host)
	w.Type(kb.Enter)
	w.WaitFor("Sign in")
	w.seen("issuer-sign-in")
	w.Press("Continue as " + who)
	w.WaitFor("Allow access?")
	w.seen("issuer-consent")
	w.Press("Allow")
}

// TestDesk goes the whole way for each kind, in each look, with the keyboard.
func TestDesk(t *testing.T) {
	axe := rules(t)
	b := tab.Start(t)
	for look, options := range map[string]*tab.Options{"light": {}, "dark": {Dark: true}, "narrow": {Width: 320, Height: 640}} {
		t.Run(look, func(t *testing.T) {
			h := newHouse(t)
			w := &walk{Tab: b.Tab(t, options), t: t, axe: axe, pictures: os.Getenv("PARLEY_PICTURES"), look: look}

			link, ended := h.call("alice", "stations")
			w.Open(link)
			w.signIn(h, "Alice")
			w.WaitFor("Travel desk needs your Maps API key")
			w.seen("secret")
			w.Type("wrong" + kb.Enter) // the field has the focus
			w.WaitVisible(`[role=alert], .field .error`)
			w.seen("secret-refused")
			w.Fill("#f-value", "mk_12345")
			w.TabTo("Save")
			w.Type(kb.Enter)
			w.WaitFor("Saved")
			w.seen("saved")
			if o := h.wait(ended); o.err != nil || o.text != "a key of 8" {
				t.Errorf("%+v", o)
			}

			link, ended = h.call("alice", "book")
			w.Open(link)
			w.WaitFor("Travel desk asks for your approval")
			w.seen("approval")
			w.TabTo("Approve")
			w.Type(kb.Enter)
			w.WaitFor("Approved")
			w.seen("approved")
			if o := h.wait(ended); o.err != nil || o.text != "booked for alice" {
				t.Errorf("%+v", o)
			}
			w.Back() // to the form, which counts no more
			w.Open(link)
			w.WaitFor("Approved")

			link, ended = h.call("alice", "shop")
			w.Open(link)
			w.WaitFor("Travel desk asks you to continue: Payment")
			w.seen("page")
			w.TabTo("Continue")
			w.Type(kb.Enter)
			w.WaitFor("Pay")
			w.Follow("Paid")
			w.WaitFor("Done")
			w.seen("done")
			if o := h.wait(ended); o.err != nil || o.text != `"paid"` {
				t.Errorf("%+v", o)
			}

			link, ended = h.call("alice", "book")
			w.Open(link)
			w.WaitFor("Travel desk asks for your approval")
			w.TabTo("Decline")
			w.Type(kb.Enter)
			w.WaitFor("Declined")
			w.seen("declined")
			if o := h.wait(ended); o.err == nil || !strings.Contains(o.err.Error(), "declined") {
				t.Errorf("%+v", o)
			}

			w.Open(h.url + "/connect/")
			w.WaitFor("Your connections at Travel desk")
			w.seen("connections")
			w.Follow("Activity")
			w.WaitFor("Activity at Travel desk")
			w.seen("activity")
			w.Open(h.url + "/connect/")
			w.Press("Remove")
			w.WaitGone("article")
			if !strings.Contains(w.Text("main"), "Nothing is stored for you") {
				t.Errorf("removed, and the page says %q", w.Text("main"))
			}
			w.seen("connections-none")
			w.Press("Sign out")
			w.WaitFor("Signed out")
			w.seen("signed-out")
			w.Open(h.url + "/connect/i/nothing")
			w.WaitFor("There is nothing here")
			w.seen("nothing")
		})
	}
}

// TestDeskWithoutScript: the pages of the desk need no script.
func TestDeskWithoutScript(t *testing.T) {
	h := newHouse(t)
	w := &walk{Tab: tab.Start(t).Tab(t, &tab.Options{NoScript: true}), t: t}
	link, ended := h.call("alice", "stations")
	w.Open(link)
	w.Press("Continue to " + strings.TrimPrefix(h.issuer.Issuer(), "http://"))
	w.Press("Continue as Alice")
	w.Press("Allow")
	w.Fill("#f-value", "mk_12345")
	w.Press("Save")
	w.WaitFor("Saved")
	if o := h.wait(ended); o.err != nil {
		t.Error(o.err)
	}
}

// TestIntruder: somebody else, with a browser of their own, follows the link that alice was shown. They see that it is not theirs, and
// what alice types afterwards is hers.
func TestIntruder(t *testing.T) {
	axe := rules(t)
	b := tab.Start(t)
	h := newHouse(t)
	link, ended := h.call("alice", "stations")
	intruder := &walk{Tab: b.Tab(t, nil), t: t, axe: axe, pictures: os.Getenv("PARLEY_PICTURES"), look: "light"}
	intruder.Open(link)
	intruder.signIn(h, "Bob")
	intruder.WaitFor("This request is not yours")
	intruder.seen("wrong-person")
	if intruder.Has("#f-value") {
		t.Error("somebody else is shown the form")
	}
	alice := &walk{Tab: b.Tab(t, nil), t: t, axe: axe}
	alice.Open(link)
	alice.signIn(h, "Alice")
	alice.Fill("#f-value", "mk_12345")
	alice.Press("Save")
	alice.WaitFor("Saved")
	if o := h.wait(ended); o.err != nil {
		t.Error(o.err)
	}
	intruder.Open(h.url + "/connect/")
	intruder.WaitFor("Your connections at Travel desk")
	if strings.Contains(intruder.Text("main"), "Maps") {
		t.Error("somebody else sees her key's entry")
	}
}
