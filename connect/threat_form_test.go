package connect_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/mcp"
)

// TestThreat03ForgedForms: a form that another site sends, or that was not made for this browser and this interaction, is refused, and a
// GET does nothing.
func TestThreat03ForgedForms(t *testing.T) { forgedForms(t) }

// TestCaseW03ApprovalPostCanBeForged is the same, as it was found in the field.
func TestCaseW03ApprovalPostCanBeForged(t *testing.T) { forgedForms(t) }

func forgedForms(t *testing.T) {
	w := newWorld(t, nil)
	all := w.begin("alice/desktop")
	alice := w.browser("alice")
	for i, b := range all {
		good := alice.open(b.link).csrf()
		other := alice.open(all[1-i].link).csrf()
		account := alice.open(w.url + "/connect/").csrf()
		attacker := w.browser("mallory").open(w.url + "/connect/").csrf()
		second := w.browser("alice") // the same person, at another browser
		second.http.Jar.SetCookies(second.base, []*http.Cookie{{Name: connect.TestCookie, Value: "alice:s2", Path: "/"}})
		elsewhere := second.open(b.link).csrf()
		form := func(token string) url.Values {
			return url.Values{"csrf": {token}, "do": {"submit"}, "f-value": {"mk_forged"}}
		}
		for name, token := range map[string]string{
			"no token": "", "of another interaction": other, "of the account": account, "of the attacker": attacker, "of another browser": elsewhere,
			"made up": strings.Repeat("A", 120), "cut": good[:len(good)-1],
		} {
			if p := alice.post(b.link, form(token)); p.status != http.StatusForbidden {
				t.Errorf("%s, token %s: status %d", b.tool, name, p.status)
			}
		}
		for _, header := range [][]string{
			{"Origin", "https://evil.test", "Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.test", "Sec-Fetch-Site", ""},
			{"Origin", "null", "Sec-Fetch-Site", ""}, {"Origin", "http://other.localhost", "Sec-Fetch-Site", "same-site"},
			{"Origin", "", "Sec-Fetch-Site", "cross-site"},
		} {
			if p := alice.post(b.link, form(good), header...); p.status != http.StatusForbidden {
				t.Errorf("%s, with %q: status %d", b.tool, header, p.status)
			}
		}
		for _, query := range []string{form(good).Encode(), "do=decline&csrf=" + url.QueryEscape(good)} {
			alice.open(b.link + "?" + query)
		}
		w.untouched(b)
		if p := alice.post(b.link, url.Values{"csrf": {good}, "do": {"else"}}); p.status != http.StatusForbidden {
			t.Errorf("%s: status %d", b.tool, p.status)
		}
		w.untouched(b)
	}
	for _, b := range all {
		form := url.Values{"csrf": {alice.open(b.link).csrf()}, "do": {"submit"}, "f-value": {"mk_own"}}
		if p := alice.post(b.link, form); p.status != http.StatusOK {
			t.Errorf("%s: the page's own form: status %d", b.tool, p.status)
		}
		if o := get(t, b.done); o.err != nil {
			t.Error(o.err)
		}
	}
}

// TestThreat04Replays: a form that is sent again changes nothing more.
func TestThreat04Replays(t *testing.T) {
	w := newWorld(t, nil)
	alice := w.browser("alice")
	for _, b := range w.begin("alice/desktop") {
		token := alice.open(b.link).csrf()
		form := url.Values{"csrf": {token}, "do": {"submit"}, "f-value": {"mk_first"}}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if p := alice.post(b.link, form); p.status != http.StatusOK {
					t.Errorf("%s: status %d", b.tool, p.status)
				}
			})
		}
		wg.Wait()
		get(t, b.done)
		for _, do := range []string{"submit", "decline"} {
			p := alice.post(b.link, url.Values{"csrf": {token}, "do": {do}, "f-value": {"mk_second"}})
			if p.status != http.StatusOK || !strings.Contains(p.body, "return to") {
				t.Errorf("%s, %s again: status %d: %s", b.tool, do, p.status, p.body)
			}
		}
	}
	if w.paid() != 1 {
		t.Errorf("%d payments", w.paid())
	}
	c := w.client("alice/desktop", mcp.Revision20260728, nil)
	if res, err := mcp.CallTool[where](t.Context(), c, "geocode", where{"Bern"}); err != nil || !strings.HasSuffix(res.Text, strings.Repeat("x", len("mk_first"))) {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestCaseW05PageLoadedTwice: a page that is loaded several times, by scanners and by impatient people, works until one has succeeded.
func TestCaseW05PageLoadedTwice(t *testing.T) {
	w := newWorld(t, nil)
	alice, scanner := w.browser("alice"), w.browser("")
	for _, b := range w.begin("alice/desktop") {
		scanner.open(b.link)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, b.link, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p := alice.do(req); p.status != http.StatusOK || p.body != "" {
			t.Errorf("HEAD: status %d, %q", p.status, p.body)
		}
		first := alice.open(b.link)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { alice.open(b.link) })
		}
		wg.Wait()
		w.untouchedStatus(b)
		form := url.Values{"csrf": {first.csrf()}, "do": {"submit"}, "f-value": {"mk_1"}}
		if p := alice.post(b.link, form); p.status != http.StatusOK {
			t.Errorf("%s: the first page: status %d", b.tool, p.status)
		}
		get(t, b.done)
		for range 2 { // reload, back button
			if p := alice.open(b.link); p.status != http.StatusOK || !strings.Contains(p.body, "return to") {
				t.Errorf("%s, afterwards: status %d: %s", b.tool, p.status, p.body)
			}
		}
	}
	if w.paid() != 1 {
		t.Errorf("%d payments", w.paid())
	}
}

// untouchedStatus makes sure that looking at a page has changed nothing.
func (w *world) untouchedStatus(b *begun) {
	w.t.Helper()
	for _, row := range w.rows(connect.RowInteraction) {
		if strings.HasSuffix(b.link, row.ID) && (row.Status != "created" || row.Version != 1) {
			w.t.Errorf("%s: the interaction is %s, version %d", b.tool, row.Status, row.Version)
		}
	}
}

// TestThreat07OpenRedirect: nothing in a request chooses where a browser is sent.
func TestThreat07OpenRedirect(t *testing.T) {
	w := newWorld(t, &worldOptions{page: func(s *connect.PageSpec) {
		s.Host = "pay.test"
		s.Start = func(context.Context, *connect.Visit) (string, error) { return "https://pay.test.evil.test/", nil }
		s.Finish = func(context.Context, *connect.Visit, url.Values) (any, error) { return "done", nil }
	}, tools: addPageTool})
	alice := w.browser("alice")
	alice.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	b := w.begin("alice/desktop")[0]
	evil := "https://evil.test/"
	query := "?" + url.Values{"back": {evil}, "return_to": {evil}, "redirect_uri": {evil}, "next": {evil}}.Encode()
	p := alice.open(b.link + query)
	form := url.Values{"csrf": {p.csrf()}, "do": {"submit"}, "f-value": {"mk_1"}, "back": {evil}, "return_to": {evil}}
	for _, p := range []*page{
		alice.post(b.link+query, form), alice.open(w.url + "//evil.test/connect/"), alice.open(w.url + "/connect//evil.test/"),
		alice.open(w.url + "/connect/../../evil.test"), alice.open(w.url + `/connect/\evil.test`),
		alice.post(w.url+"/connect/signout"+query, url.Values{"csrf": {alice.open(w.url + "/connect/").csrf()}, "back": {evil}}),
	} {
		if to := p.header.Get("Location"); to != "" && (!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.HasPrefix(to, `/\`)) {
			t.Errorf("redirected to %s", to)
		}
	}
	get(t, b.done)
	person, pages := links()
	call(t, w.client("alice/desktop", mcp.Revision20260728, person), "buy", pay{1})
	alice = w.browser("alice")
	alice.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if p := alice.fill(get(t, pages), "submit"); p.status != http.StatusServiceUnavailable || p.header.Get("Location") != "" {
		t.Errorf("a page whose start leads elsewhere: status %d, %s", p.status, p.header.Get("Location"))
	}
}

// TestThreat13Framing: no page may be framed, nothing runs in one, and none is kept.
func TestThreat13Framing(t *testing.T) {
	w := newWorld(t, nil)
	b := w.begin("alice/desktop")
	alice, mallory := w.browser("alice"), w.browser("mallory")
	for name, p := range map[string]*page{
		"secret": alice.open(b[0].link), "approval": alice.open(b[1].link), "wrong person": mallory.open(b[0].link),
		"not found": alice.open(w.url + "/connect/i/x"), "connections": alice.open(w.url + "/connect/"), "audit": alice.open(w.url + "/connect/audit"),
		"refused": alice.post(b[0].link, url.Values{}), "cross-site": alice.post(b[0].link, nil, "Sec-Fetch-Site", "cross-site"),
		"style": alice.open(w.url + "/connect/style.css"), "done": alice.fill(b[0].link, "submit", "f-value", "mk_1"),
	} {
		csp := p.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: no %s in %q", name, want, csp)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "script-src") {
			t.Errorf("%s: %q", name, csp)
		}
		for header, want := range map[string]string{"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff"} {
			if got := p.header.Get(header); got != want {
				t.Errorf("%s: %s is %q", name, header, got)
			}
		}
		if got := p.header.Get("Cache-Control"); got != "no-store" && name != "style" {
			t.Errorf("%s: Cache-Control is %q", name, got)
		}
		want := "no-referrer"
		if strings.Contains(p.body, "<form") {
			want = "same-origin"
		}
		if got := p.header.Get("Referrer-Policy"); got != want && name != "style" {
			t.Errorf("%s: Referrer-Policy is %q, want %q", name, got, want)
		}
	}
}

// TestThreat25StoredMarkup: what a server, a client or an action says is text on the pages.
func TestThreat25StoredMarkup(t *testing.T) {
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(2)>`
	w := newWorld(t, &worldOptions{
		desk:   func(o *connect.Options) { o.ServerName = evil },
		secret: func(s *connect.SecretSpec) { s.Title, s.Reason, s.Hint = evil, evil, evil },
		tools: func(srv *mcp.Server, r *replica) {
			mcp.AddTool(srv, &mcp.Tool{Name: "evil"}, func(ctx context.Context, c *mcp.Call, _ where) (where, error) {
				a := connect.Action{Title: evil, Reason: evil, Details: []connect.Detail{{Label: evil, Value: evil}}}
				return connect.Do(ctx, r.desk, c, a, func(connect.Approved) (where, error) { return where{"done"}, nil })
			})
		},
	})
	person, pages := links()
	c := w.clientCalled(evil, "alice/desktop", mcp.Revision20260728, person)
	alice := w.browser("alice")
	for _, tool := range []string{"geocode", "evil"} {
		done := call(t, c, tool, where{evil})
		link := get(t, pages)
		bodies := []string{
			alice.open(link).body, alice.post(link, url.Values{"do": {evil}, "csrf": {evil}}).body, w.browser("mallory").open(link).body,
			alice.fill(link, "submit", "f-value", "x"+evil).body, alice.fill(link, "submit", "f-value", "mk_"+evil).body,
			alice.open(w.url + "/connect/").body, alice.open(w.url + "/connect/audit").body,
		}
		for i, body := range bodies {
			if strings.Contains(body, "<script") || strings.Contains(body, "<img") {
				t.Errorf("%s, page %d: %s", tool, i, body)
			}
		}
		get(t, done)
	}
}

// TestThreat21Canary: a secret is in no log, no error, no address, no page, no row of the store and no answer to a client; interactions'
// addresses are in no log either.
func TestThreat21Canary(t *testing.T) {
	const canary = "canary+7/f3=q&9"
	w := newWorld(t, &worldOptions{secret: func(s *connect.SecretSpec) {
		s.Validate = func(ctx context.Context, v connect.Value) error {
			switch {
			case strings.HasPrefix(v.Reveal(), "refused"):
				return connect.Refuse("we know no %s", v.Reveal())
			case strings.HasPrefix(v.Reveal(), "down"):
				return fmt.Errorf("Get \"https://maps.test/?key=%s&raw=%s\": %v: no route, %q", url.QueryEscape(v.Reveal()), v.Reveal(), v, v)
			}
			return nil
		}
	}, tools: func(srv *mcp.Server, r *replica) {
		mcp.AddTool(srv, &mcp.Tool{Name: "leak"}, func(ctx context.Context, c *mcp.Call, _ where) (map[string]any, error) {
			v, err := r.key.Get(ctx, c)
			if err != nil {
				return nil, err
			}
			if err := c.Progress(ctx, 1, 0, fmt.Sprint("key ", v)); err != nil {
				return nil, err
			}
			return map[string]any{"value": v, "text": fmt.Sprintf("%v %s %q %#v %d %+v", v, v, v, v, v, &v)}, nil
		})
		mcp.AddTool(srv, &mcp.Tool{Name: "fail"}, func(ctx context.Context, c *mcp.Call, _ where) (where, error) {
			v, err := r.key.Get(ctx, c)
			if err != nil {
				return where{}, err
			}
			return where{}, fmt.Errorf("failed with %v", v)
		})
	}})
	person, pages := links()
	c := w.client("alice/desktop", mcp.Revision20260728, person)
	done := call(t, c, "geocode", where{"Bern"})
	link := get(t, pages)
	alice := w.browser("alice")
	for _, prefix := range []string{"refused", "down", "\x01", ""} {
		alice.fill(link, "submit", "f-value", prefix+canary)
	}
	get(t, done)
	alice.open(link)
	alice.open(w.url + "/connect/")
	alice.open(w.url + "/connect/audit")
	var said strings.Builder
	res, err := mcp.CallTool[map[string]any](t.Context(), c, "leak", where{"Bern"})
	fmt.Fprint(&said, res, err)
	_, err = mcp.CallTool[where](t.Context(), c, "fail", where{"Bern"})
	fmt.Fprint(&said, err)
	if !strings.Contains(said.String(), "[secret]") {
		t.Errorf("the tool said %s", said.String())
	}
	for _, kind := range []string{connect.RowInteraction, connect.RowCredential, connect.RowAudit} {
		for _, row := range w.rows(kind) {
			fmt.Fprintf(&said, "%+v %s", row, row.Data)
		}
	}
	for _, form := range []string{canary, url.QueryEscape(canary), url.PathEscape(canary), "canary"} {
		for name, text := range map[string]string{"a log": w.logs.String(), "a page": alice.seen.String(), "an answer or a row": said.String()} {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("%s has it: %s", name, text[max(0, i-80):min(len(text), i+80)])
			}
		}
	}
	id := link[strings.LastIndex(link, "/")+1:]
	if strings.Contains(w.logs.String(), id) {
		t.Error("a log has the address of an interaction")
	}
}
