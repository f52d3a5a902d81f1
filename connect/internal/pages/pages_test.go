package pages_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/connect/internal/pages"
)

var now = time.Date(2026, 11, 30, 16, 0, 0, 0, time.UTC)

// gallery has one of each page, with everything that it can show.
func gallery() map[string]pages.Page {
	in := func(kind pages.Kind, change func(*pages.Interaction)) *pages.Interaction {
		i := &pages.Interaction{
			Kind: kind, Reason: "To look up the stations near you.", Client: "Desk Assistant", Tool: "book", Account: "alice (login.travel.example)",
			Expires: now.Add(14*time.Minute + 10*time.Second), Now: now, Action: "/connect/i/abc", CSRF: "token",
		}
		change(i)
		return i
	}
	field := pages.Field{Name: "value", Label: "API key", Help: "40 characters, begins with mk_.", MaxLength: 200}
	wrong := field
	wrong.Error = "Maps did not accept it: no such key"
	all := map[string]pages.Page{
		"secret": in(pages.Secret, func(i *pages.Interaction) {
			i.Title, i.Fields, i.Help = "Maps API key", []pages.Field{field}, &pages.Link{URL: "https://maps.example/keys", Host: "maps.example"}
		}),
		"secret-error": in(pages.Secret, func(i *pages.Interaction) {
			i.Title, i.Error = "Maps API key", "Nothing was saved."
			i.Fields = []pages.Field{{Name: "user", Label: "User", Plain: true, Value: `a"b`}, wrong, {Name: "note", Label: "Note", Plain: true, Optional: true}}
		}),
		"grant": in(pages.Grant, func(i *pages.Interaction) {
			i.Title, i.Host = "Rail account", "login.rail.example"
			i.Scopes = []pages.Scope{{Name: "seats:read", Description: "See free seats"}, {Name: "offline_access"}}
		}),
		"approval": in(pages.Approval, func(i *pages.Interaction) {
			i.Title = "Pay 42.00 EUR to Rail AG"
			i.Details = []pages.Detail{{Label: "From", Value: "Bern"}, {Label: "To", Value: "Wien"}, {Label: "Seat", Value: "Second class,\nquiet coach"}}
		}),
		"custom":     in(pages.Custom, func(i *pages.Interaction) { i.Title, i.Host = "Payment", "pay.example" }),
		"signin":     &pages.SignIn{Host: "login.travel.example", Action: "/connect/signin", CSRF: "token", Back: "/connect/i/abc"},
		"signin-own": &pages.SignIn{Host: "login.travel.example", Action: "/connect/signin", CSRF: "token", Back: "/connect/", Own: true},
		"code":       &pages.Code{Action: "/connect/i/abc/claim", CSRF: "token"},
		"code-wrong": &pages.Code{Action: "/connect/i/abc/claim", CSRF: "token", Wrong: true, Left: 3},
		"connections": &pages.Connections{CSRF: "token", List: []pages.Connection{
			{Title: "Rail account", Kind: pages.Grant, Account: "alice@rail.example", Scopes: []string{"seats:read", "offline_access"}, Tools: []string{"book", "seats"}, Since: now.Add(-72 * time.Hour), LastUsed: now, Action: "/connect/grants/1/revoke"},
			{Title: "Maps API key", Kind: pages.Secret, Since: now, Reauth: true, Action: "/connect/grants/2/revoke"},
		}},
		"connections-none": &pages.Connections{CSRF: "token"},
		"audit": &pages.Audit{Days: 90, Older: "/connect/audit?before=x", Entries: []pages.Entry{
			{When: now, Event: "completed", Title: "Rail account", Tool: "book", Client: "Desk Assistant"},
			{When: now.Add(-time.Minute), Event: "wrong-person", Title: "Maps API key"},
		}},
		"audit-none": &pages.Audit{Days: 90},
	}
	for _, name := range []pages.MessageName{
		pages.Declined, pages.Expired, pages.WrongPerson, pages.Attempts, pages.NotFound, pages.Failed, pages.Refused, pages.SignedOut, pages.Done,
	} {
		all["message-"+string(name)] = &pages.Message{Name: name, Client: "Desk Assistant"}
	}
	for _, kind := range []pages.Kind{pages.Secret, pages.Grant, pages.Approval, pages.Custom} {
		all["done-"+string(kind)] = &pages.Message{Name: pages.Done, Kind: kind, Account: "alice@rail.example"}
	}
	return all
}

func frame() *pages.Frame {
	return &pages.Frame{Server: "Travel desk", Base: "/connect/", Person: "alice", CSRF: "token", Sessions: true}
}

func render(t *testing.T, lang string, p pages.Page) string {
	t.Helper()
	r, err := pages.New()
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequest(http.MethodGet, "/connect/", nil)
	req.Header.Set("Accept-Language", lang)
	w := httptest.NewRecorder()
	if err := r.Render(w, req, http.StatusOK, frame(), p); err != nil {
		t.Fatal(err)
	}
	return w.Body.String()
}

// TestPages renders every page in every language, and holds what must be true of each: nothing inline that a strict content security
// policy refuses, every field with a label, every id once, one heading, the language declared. With PARLEY_PAGES set to a folder it
// leaves the pages there, to be looked at.
func TestPages(t *testing.T) {
	dir := os.Getenv("PARLEY_PAGES")
	for name, page := range gallery() {
		for _, lang := range []string{"en", "de"} {
			t.Run(name+"/"+lang, func(t *testing.T) {
				html := render(t, lang, page)
				check(t, lang, html)
				if dir == "" {
					return
				}
				if err := os.WriteFile(filepath.Join(dir, name+"-"+lang+".html"), []byte(strings.Replace(html, "/connect/style.css", "style.css", 1)), 0o600); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

var (
	inline     = regexp.MustCompile(`(?i)<script|<style|\sstyle=|\son[a-z]+=|javascript:`)
	ids        = regexp.MustCompile(`\sid="([^"]+)"`)
	labels     = regexp.MustCompile(`<label for="([^"]+)"`)
	inputs     = regexp.MustCompile(`<input [^>]*>`)
	references = regexp.MustCompile(`aria-(?:describedby|labelledby)="([^"]*)"`)
	unresolved = regexp.MustCompile(`%!|%\[|<no value>|ZgotmplZ`)
)

func check(t *testing.T, lang, html string) {
	t.Helper()
	if bad := inline.FindString(html); bad != "" {
		t.Errorf("inline %q", bad)
	}
	if bad := unresolved.FindString(html); bad != "" {
		t.Errorf("unresolved %q", bad)
	}
	if !strings.Contains(html, `<html lang="`+lang+`">`) {
		t.Error("the page does not say its language")
	}
	if n := strings.Count(html, "<h1"); n != 1 {
		t.Errorf("%d main headings", n)
	}
	seen := map[string]bool{}
	for _, m := range ids.FindAllStringSubmatch(html, -1) {
		if seen[m[1]] {
			t.Errorf("id %q twice", m[1])
		}
		seen[m[1]] = true
	}
	labelled := map[string]bool{}
	for _, m := range labels.FindAllStringSubmatch(html, -1) {
		labelled[m[1]] = true
	}
	for _, input := range inputs.FindAllString(html, -1) {
		if strings.Contains(input, `type="hidden"`) {
			continue
		}
		if id := ids.FindStringSubmatch(input); id == nil || !labelled[id[1]] {
			t.Errorf("no label for %s", input)
		}
	}
	for _, m := range references.FindAllStringSubmatch(html, -1) {
		for id := range strings.FieldsSeq(m[1]) {
			if !seen[id] {
				t.Errorf("reference to id %q, which is not there", id)
			}
		}
	}
	if strings.Contains(html, "<form") && !strings.Contains(html, `name="csrf" value="token"`) {
		t.Error("a form without its token")
	}
}

// TestHostileText: what a server, a client or a provider says cannot become markup, nor read differently from what it is.
func TestHostileText(t *testing.T) {
	const evil = "<script>alert(1)</script>\u202egpj.exe\u200b\x1b[31m\"onload=x"
	pagesWith := []pages.Page{
		&pages.Interaction{
			Kind: pages.Secret, Title: evil, Reason: evil, Client: evil, Tool: evil, Account: evil, Host: evil, Error: evil, Now: now, Expires: now,
			Action: "/connect/i/abc", CSRF: "token",
			Fields:  []pages.Field{{Name: "value", Label: evil, Help: evil, Error: evil, Plain: true, Value: evil}},
			Scopes:  []pages.Scope{{Name: evil, Description: evil}},
			Details: []pages.Detail{{Label: evil, Value: evil}},
			Help:    &pages.Link{URL: "javascript:alert(1)", Host: evil},
		},
		&pages.Message{Name: pages.Done, Client: evil, Account: evil},
		&pages.Connections{CSRF: "token", List: []pages.Connection{{Title: evil, Kind: pages.Grant, Account: evil, Scopes: []string{evil}, Tools: []string{evil}}}},
		&pages.Audit{Entries: []pages.Entry{{Event: "created", Title: evil, Tool: evil, Client: evil}}},
		&pages.SignIn{Host: evil, Action: "/connect/signin", CSRF: "token", Back: evil},
	}
	for _, page := range pagesWith {
		html := render(t, "en", page)
		for _, bad := range []string{"<script", "javascript:", `"onload`} {
			if strings.Contains(html, bad) {
				t.Errorf("%T: %q came through", page, bad)
			}
		}
		// What a person typed comes back as it was; everything else is made safe to read.
		shown := strings.ReplaceAll(html, ` value="`, "\x00")
		shown = regexp.MustCompile("\x00[^\"]*\"").ReplaceAllString(shown, "")
		if strings.ContainsAny(shown, "\u202e\u200b\x1b") {
			t.Errorf("%T: a character that hides or reorders came through", page)
		}
	}
}

// TestHiddenValue: what was typed into a hidden field is never sent back.
func TestHiddenValue(t *testing.T) {
	html := render(t, "en", &pages.Interaction{
		Kind: pages.Secret, Title: "Key", Now: now, Expires: now, Fields: []pages.Field{{Name: "value", Label: "Key", Value: "canary-1234"}},
	})
	if strings.Contains(html, "canary-1234") {
		t.Error("the page contains what was typed into a hidden field")
	}
}

// TestLanguages: the reader's language is chosen where it is there, and absurd headers choose the fallback.
func TestLanguages(t *testing.T) {
	for accept, want := range map[string]string{
		"": "en", "de": "de", "de-CH, en;q=0.5": "de", "fr, de;q=0.4": "de", "fr": "en", "en, de;q=0.9": "en", strings.Repeat("de,", 200): "en", "\xff;q=": "en",
	} {
		if html := render(t, accept, &pages.Audit{}); !strings.Contains(html, `<html lang="`+want+`">`) {
			t.Errorf("Accept-Language %.20q did not choose %q", accept, want)
		}
	}
}

var verbs = regexp.MustCompile(`%(?:\[\d+\][sd]|.?)`)

// TestTexts: every language has every text, with the same things put in.
func TestTexts(t *testing.T) {
	raw, err := os.ReadFile("texts.json")
	if err != nil {
		t.Fatal(err)
	}
	var texts map[string]map[string]string
	if err := json.Unmarshal(raw, &texts); err != nil {
		t.Fatal(err)
	}
	for lang, have := range texts {
		for key, text := range texts["en"] {
			other, found := have[key]
			if !found || other == "" {
				t.Errorf("%s: no text for %q", lang, key)
				continue
			}
			want, got := verbs.FindAllString(text, -1), verbs.FindAllString(other, -1)
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(want, got) {
				t.Errorf("%s: %q puts in %v, the original %v", lang, key, got, want)
			}
			for _, verb := range got {
				if !strings.HasPrefix(verb, "%[") {
					t.Errorf("%s: %q has %q; texts use numbered verbs, so that languages can reorder them", lang, key, verb)
				}
			}
		}
		if len(have) != len(texts["en"]) {
			t.Errorf("%s has texts that the original lacks", lang)
		}
	}
}
