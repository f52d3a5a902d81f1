package connect_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// asked starts a call that needs access, and returns its page and its end.
func (w *rail) asked(token, tool string) (link string, done chan outcome) {
	w.t.Helper()
	person, pages := links()
	done = call(w.t, w.client(token, revisions()[len(revisions())-1], person), tool, where{})
	return get(w.t, pages), done
}

// atProvider has a browser agree to go to the provider, and returns where it is sent, and where the provider sends it back to.
func (w *rail) atProvider(b *browser, link string) (there, back *url.URL) {
	w.t.Helper()
	there = b.to(link, "submit")
	res := w.noRedirect(there.String())
	back, err := url.Parse(res.Header.Get("Location"))
	if err != nil || back.Path != "/connect/callback/rail" {
		w.t.Fatalf("the provider sends to %q, %v", back, err)
	}
	return there, back
}

func (w *rail) noRedirect(address string) *http.Response {
	w.t.Helper()
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Get(address)
	if err != nil {
		w.t.Fatal(err)
	}
	res.Body.Close()
	return res
}

// TestCaseW02Threat09CallbackInAnotherBrowser: an answer counts in the browser that went to the provider, and in no other, whoever has
// signed in there.
func TestCaseW02Threat09CallbackInAnotherBrowser(t *testing.T) {
	w := newRail(t, nil)
	link, done := w.asked("alice/app", "seats")
	a := w.browser("alice")
	there, _ := w.atProvider(a, link)
	for _, who := range []string{"", "mallory", "alice"} {
		b := w.browser(who)
		if p := b.open(there.String()); p.status != http.StatusForbidden {
			t.Errorf("browser of %q without the cookie: %d at %s", who, p.status, p.url)
		}
	}
	// With a way of its own under way, too.
	other, _ := w.asked("mallory/app", "seats")
	b := w.browser("mallory")
	w.atProvider(b, other)
	if p := b.open(there.String()); p.status != http.StatusForbidden {
		t.Errorf("the intruder's browser: %d", p.status)
	}
	if w.idp.Count(idp.Token) != 0 || len(w.rows(connect.RowCredential)) != 0 {
		t.Error("a code was redeemed")
	}
	if p := a.open(there.String()); p.status != http.StatusOK || !strings.Contains(p.body, "Connected") {
		t.Errorf("the right browser: %d %s", p.status, p.body)
	}
	if out := get(t, done); out.err != nil {
		t.Error(out.err)
	}
}

// TestCaseW01Threat01StarterIsFinisher: who started is who finishes. A victim that follows the starter's link, or has the starter's cookie
// and the provider's answer planted, gives nothing away.
func TestCaseW01Threat01StarterIsFinisher(t *testing.T) {
	w := newRail(t, nil)
	link, _ := w.asked("mallory/app", "seats")
	victim := w.browser("alice")
	if p := victim.open(link); p.status != http.StatusForbidden || strings.Contains(p.body, "Rail AG") {
		t.Errorf("the victim sees %d %s", p.status, p.body)
	}
	p := victim.post(link, url.Values{"csrf": {"x"}, "do": {"submit"}})
	if p.status != http.StatusForbidden {
		t.Errorf("the victim's form: %d", p.status)
	}
	attacker := w.browser("mallory")
	_, back := w.atProvider(attacker, link)
	desk := &url.URL{Scheme: "http", Host: attacker.base.Host, Path: "/connect/callback/rail"}
	var planted []*http.Cookie
	for _, c := range attacker.http.Jar.Cookies(desk) {
		if c.Name != connect.TestCookie {
			planted = append(planted, &http.Cookie{Name: c.Name, Value: c.Value, Path: "/"})
		}
	}
	if len(planted) != 1 {
		t.Fatalf("%d cookies to plant", len(planted))
	}
	victim.http.Jar.SetCookies(desk, planted)
	if p := victim.open(back.String()); p.status != http.StatusForbidden || !strings.Contains(p.body, "not yours") {
		t.Errorf("the victim with everything planted: %d %s", p.status, p.body)
	}
	if w.idp.Count(idp.Token) != 0 || len(w.rows(connect.RowCredential)) != 0 {
		t.Error("a code was redeemed")
	}
}

// TestThreat04CallbackTwice: an answer counts once; who sends it again, or goes back, sees how it went.
func TestThreat04CallbackTwice(t *testing.T) {
	w := newRail(t, nil)
	link, done := w.asked("alice/app", "seats")
	b := w.browser("alice")
	_, back := w.atProvider(b, link)
	if p := b.open(back.String()); !strings.Contains(p.body, "Connected") {
		t.Fatalf("%d %s", p.status, p.body)
	}
	for range 2 { // the cookie is gone
		if p := b.open(back.String()); p.status != http.StatusForbidden {
			t.Errorf("again: %d", p.status)
		}
	}
	if p := b.open(link); !strings.Contains(p.body, "Connected") {
		t.Errorf("the page afterwards: %s", p.body)
	}
	if n := w.idp.Count(idp.Token); n != 1 || len(w.rows(connect.RowCredential)) != 1 {
		t.Errorf("%d codes redeemed", n)
	}
	get(t, done)
}

// TestCaseW05TwoTabs: two tabs on the way at once; each can finish, and one does.
func TestCaseW05TwoTabs(t *testing.T) {
	w := newRail(t, nil)
	link, done := w.asked("alice/app", "seats")
	b := w.browser("alice")
	_, first := w.atProvider(b, link)
	_, second := w.atProvider(b, link)
	if p := b.open(second.String()); !strings.Contains(p.body, "Connected") {
		t.Errorf("the second tab: %d %s", p.status, p.body)
	}
	if p := b.open(first.String()); !strings.Contains(p.body, "Connected") {
		t.Errorf("the first tab, late: %d %s", p.status, p.body)
	}
	if n := w.idp.Count(idp.Token); n != 1 {
		t.Errorf("%d codes redeemed", n)
	}
	get(t, done)
}

// TestThreat08MixUp: an answer counts from the provider that was asked, at the address that is that provider's alone.
func TestThreat08MixUp(t *testing.T) {
	o := &railOptions{}
	o.tools = func(_ *mcp.Server, r *replica) {
		r.desk.OAuth(&connect.Provider{Name: "evil", Title: "Evil AG", AuthURL: "https://evil.test/a", TokenURL: "https://evil.test/t", ClientID: "x"})
	}
	w := newRail(t, o)
	for name, lie := range map[string]func(url.Values){
		"another issuer": func(q url.Values) { q.Set("iss", "https://evil.test") },
		"a slash more":   func(q url.Values) { q.Set("iss", q.Get("iss")+"/") },
		"no issuer":      func(q url.Values) { q.Del("iss") },
		"two issuers":    func(q url.Values) { q.Add("iss", "https://evil.test") },
		"two codes":      func(q url.Values) { q.Add("code", "x") },
		"two states":     func(q url.Values) { q.Add("state", q.Get("state")) },
		"another state":  func(q url.Values) { q.Set("state", q.Get("state")[:32]+strings.Repeat("A", 43)) },
		"a short state":  func(q url.Values) { q.Set("state", q.Get("state")[:40]) },
		"no state":       func(q url.Values) { q.Del("state") },
		"a state of air": func(q url.Values) { q.Set("state", strings.Repeat("A", 75)) },
	} {
		t.Run(name, func(t *testing.T) {
			link, _ := w.asked("alice/"+strings.ReplaceAll(name, " ", "-"), "seats")
			b := w.browser("alice")
			_, back := w.atProvider(b, link)
			q := back.Query()
			lie(q)
			back.RawQuery = q.Encode()
			if p := b.open(back.String()); p.status != http.StatusForbidden && p.status != http.StatusNotFound {
				t.Errorf("%d at %s", p.status, p.url)
			}
		})
	}
	link, _ := w.asked("alice/evil", "seats")
	b := w.browser("alice")
	_, back := w.atProvider(b, link)
	back.Path = "/connect/callback/evil"
	if p := b.open(back.String()); p.status != http.StatusForbidden {
		t.Errorf("at another provider's address: %d", p.status)
	}
	if w.idp.Count(idp.Token) != 0 || len(w.rows(connect.RowCredential)) != 0 {
		t.Error("a code was redeemed")
	}
}

// TestProviderSaysNo: the person says no at the provider, and the asking ends.
func TestProviderSaysNo(t *testing.T) {
	o := &railOptions{}
	o.idp.Auto = idp.Auto{SignIn: "u-anna", Consent: idp.Decline}
	w := newRail(t, o)
	link, done := w.asked("alice/app", "seats")
	if p := w.browser("alice").fill(link, "submit"); !strings.Contains(p.body, "Declined") {
		t.Errorf("%d %s", p.status, p.body)
	}
	if out := get(t, done); out.err == nil || !strings.Contains(out.err.Error(), "declined") {
		t.Errorf("the tool: %+v", out)
	}
}

// TestProviderFails: whatever goes wrong at the provider, nothing is saved, the person sees so and can try again; the call goes on then.
func TestProviderFails(t *testing.T) {
	o := &railOptions{provider: func(p *connect.Provider) { p.Timeout = time.Second }}
	w := newRail(t, o)
	link, done := w.asked("alice/app", "seats")
	b := w.browser("alice")
	stop := make(chan struct{})
	defer close(stop)
	for name, breakIt := range map[string]func(){
		"error":    func() { w.idp.Break(idp.Token, idp.Fail(500, "server_error")) },
		"html":     func() { w.idp.Break(idp.Token, idp.Fail(502, "")) },
		"refusal":  func() { w.idp.Break(idp.Token, idp.Fail(400, "invalid_grant")) },
		"redirect": func() { w.idp.Break(idp.Token, idp.Redirect(w.url+"/elsewhere")) },
		"huge":     func() { w.idp.Break(idp.Token, idp.Huge(4<<20)) },
		"slow":     func() { w.idp.Break(idp.Token, idp.Slow(2*time.Second)) },
		"lost":     func() { w.idp.Break(idp.Token, idp.Lost()) },
		"type":     func() { w.idp.Lie(idp.Lies{TokenAnswer: func(d map[string]any) { d["token_type"] = "DPoP" }}) },
		"no token": func() { w.idp.Lie(idp.Lies{TokenAnswer: func(d map[string]any) { delete(d, "access_token") }}) },
		"nonce":    func() { w.idp.Lie(idp.Lies{IDToken: func(c map[string]any) { c["nonce"] = "other" }}) },
		"no nonce": func() { w.idp.Lie(idp.Lies{IDToken: func(c map[string]any) { delete(c, "nonce") }}) },
		"audience": func() { w.idp.Lie(idp.Lies{IDToken: func(c map[string]any) { c["aud"] = "other" }}) },
		"issuer":   func() { w.idp.Lie(idp.Lies{IDToken: func(c map[string]any) { c["iss"] = "https://evil.test" }}) },
		"expired":  func() { w.idp.Lie(idp.Lies{IDToken: func(c map[string]any) { c["exp"] = 1000 }}) },
		"no id":    func() { w.idp.Lie(idp.Lies{TokenAnswer: func(d map[string]any) { delete(d, "id_token") }}) },
		"odd error": func() {
			w.idp.Lie(idp.Lies{Callback: func(q url.Values) { q.Del("code"); q.Set("error", "\x1b[31m<b>") }})
		},
		"nothing": func() { w.idp.Lie(idp.Lies{Callback: func(q url.Values) { q.Del("code") }}) },
	} {
		breakIt()
		p := b.fill(link, "submit")
		if p.status != http.StatusOK || p.url.String() != link || !strings.Contains(p.body, "did not give access") {
			t.Errorf("%s: %d %s %s", name, p.status, p.url, p.body)
		}
		w.idp.Repair()
		if n := len(w.rows(connect.RowCredential)); n != 0 {
			t.Fatalf("%s: %d credentials", name, n)
		}
	}
	if p := b.fill(link, "submit"); !strings.Contains(p.body, "Connected") {
		t.Errorf("in the end: %d %s", p.status, p.body)
	}
	if out := get(t, done); out.err != nil {
		t.Errorf("the tool: %v", out.err)
	}
	w.hunt(b)
}

// TestDeclinedMeanwhile: what was declined in one window is not granted by another that was on its way.
func TestDeclinedMeanwhile(t *testing.T) {
	w := newRail(t, nil)
	link, done := w.asked("alice/app", "seats")
	b := w.browser("alice")
	_, back := w.atProvider(b, link)
	b.fill(link, "decline")
	if p := b.open(back.String()); !strings.Contains(p.body, "Declined") {
		t.Errorf("%d %s", p.status, p.body)
	}
	if w.idp.Count(idp.Token) != 0 || len(w.rows(connect.RowCredential)) != 0 {
		t.Error("a code was redeemed")
	}
	if out := get(t, done); out.err == nil {
		t.Error("the tool went on")
	}
}

// TestThreat10MetadataThatLie: endpoints that metadata name are reached only where a provider can be.
func TestThreat10MetadataThatLie(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(doc map[string]any)
		says string
	}{
		"another issuer":   {func(d map[string]any) { d["issuer"] = "https://evil.test" }, "are about"},
		"no PKCE":          {func(d map[string]any) { d["code_challenge_methods_supported"] = []string{"plain"} }, "PKCE"},
		"no token URL":     {func(d map[string]any) { delete(d, "token_endpoint") }, "token endpoint"},
		"plain http":       {func(d map[string]any) { d["token_endpoint"] = "http://rail.example/token" }, "https://"},
		"a script":         {func(d map[string]any) { d["authorization_endpoint"] = "javascript:alert(1)" }, "authorization endpoint"},
		"somebody's name":  {func(d map[string]any) { d["authorization_endpoint"] = "https://a@rail.example/" }, "authorization endpoint"},
		"no secret method": {func(d map[string]any) { d["token_endpoint_auth_methods_supported"] = []string{"tls_client_auth"} }, "takes no client secret"},
		"cloud metadata":   {func(d map[string]any) { d["token_endpoint"] = "https://169.254.169.254/token" }, "is reserved"},
		"embedded":         {func(d map[string]any) { d["token_endpoint"] = "https://[::ffff:a9fe:a9fe]/token" }, "is reserved"},
		"private network":  {func(d map[string]any) { d["token_endpoint"] = "https://10.0.0.1/token" }, "private network"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRail(t, nil)
			w.idp.Lie(idp.Lies{Metadata: c.edit})
			link, _ := w.asked("alice/app", "seats")
			b := w.browser("alice")
			if p := b.open(link); p.status == http.StatusOK {
				b.fill(link, "submit")
			}
			if !strings.Contains(w.logs.String(), c.says) || len(w.rows(connect.RowCredential)) != 0 {
				t.Errorf("the log does not say %q:\n%s", c.says, w.logs.String())
			}
		})
	}
}

// TestThreat23Tenants: the same person of two tenants is two, whatever they have connected.
func TestThreat23Tenants(t *testing.T) {
	o := &railOptions{}
	o.desk = func(o *connect.Options) {
		o.Tenant = func(p *mcp.Principal) string { return strings.TrimPrefix(p.ClientID, "app") }
		o.Identity = connect.CookieIdentity{Tenant: "1"}
	}
	w := newRail(t, o)
	w.connectedAs("alice", "alice/app1")
	if got := w.ask("alice/app1"); !strings.HasPrefix(got, "u-anna ") {
		t.Errorf("their own tenant: %s", got)
	}
	if got := w.ask("alice/app2"); strings.Contains(got, "u-anna") {
		t.Errorf("another tenant: %s", got)
	}
}

// TestMoreScopes: who needs more asks for what was given and for what is missing, once, and both stay.
func TestMoreScopes(t *testing.T) {
	w := newRail(t, nil)
	w.connected("alice")
	link, done := w.asked("alice/app", "book")
	b := w.browser("alice")
	if p := b.open(link); !strings.Contains(p.body, "seats.read") || !strings.Contains(p.body, "seats.book") {
		t.Errorf("the page asks for %s", p.body)
	}
	b.fill(link, "submit")
	if out := get(t, done); out.err != nil || !strings.Contains(out.res.Text, "seats.book") || !strings.Contains(out.res.Text, "seats.read") {
		t.Errorf("%+v", out)
	}
	if got := w.ask("alice/app"); !strings.Contains(got, "seats.book") {
		t.Errorf("what needs less: %s", got)
	}
	if n := len(w.rows(connect.RowCredential)); n != 1 {
		t.Errorf("%d credentials", n)
	}
}

// TestFewerScopes: who gives less than is needed is not asked again and again.
func TestFewerScopes(t *testing.T) {
	w := newRail(t, nil)
	w.idp.Lie(idp.Lies{TokenAnswer: func(d map[string]any) { d["scope"] = "openid email seats.read" }})
	link, done := w.asked("alice/app", "book")
	w.browser("alice").fill(link, "submit")
	if out := get(t, done); out.err == nil || !strings.Contains(out.err.Error(), "missing: seats.book") {
		t.Errorf("%+v", out)
	}
}

// TestCaseW08Revoked: what was taken back at the provider leads to a new page, and not to errors without an end; what is taken back at the
// desk is taken back at the provider.
func TestCaseW08Revoked(t *testing.T) {
	w := newRail(t, nil)
	w.connected("alice")
	w.idp.Revoke("u-anna")
	if err := w.grants[0].Expire(t.Context(), person("alice")); err != nil {
		t.Fatal(err)
	}
	if got := w.ask("alice/app"); !strings.Contains(got, "declined") { // was asked, and said no
		t.Errorf("after the revocation at the provider: %s", got)
	}
	b := w.browser("alice")
	if p := b.open(w.url + "/connect/"); !strings.Contains(p.body, "No longer valid") {
		t.Errorf("the connections: %s", p.body)
	}
	w.connectedAs("alice", "alice/app2")
	if got := w.ask("alice/app"); !strings.HasPrefix(got, "u-anna ") {
		t.Errorf("connected anew: %s", got)
	}
	p := b.open(w.url + "/connect/")
	at := strings.Index(p.body, "/connect/grants/")
	action, _, _ := strings.Cut(p.body[at:], `"`)
	b.post(w.url+action, url.Values{"csrf": {p.csrf()}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for w.idp.Count(idp.Revoke) < 2 { // both tokens, in the background
		if ctx.Err() != nil {
			t.Fatal("the provider was not told")
		}
		w.ask("alice/app3")
	}
	if got := w.ask("alice/app4"); strings.HasPrefix(got, "u-anna") {
		t.Errorf("after the removal: %s", got)
	}
	w.hunt(b)
}

// connectedAs is connected, through a certain client.
func (w *rail) connectedAs(subject, token string) {
	w.t.Helper()
	link, done := w.asked(token, "seats")
	w.browser(subject).fill(link, "submit")
	if out := get(w.t, done); out.err != nil {
		w.t.Fatal(out.err)
	}
}

// TestCaseW09EachTheirOwn: people who need tokens at once, each an expired one, get their own.
func TestCaseW09EachTheirOwn(t *testing.T) {
	o := &railOptions{worldOptions: worldOptions{replicas: 2}}
	o.idp.Users = []idp.User{{Subject: "u-anna"}, {Subject: "u-ben"}}
	w := newRail(t, o)
	who := map[string]string{"alice": "u-anna", "bob": "u-ben"}
	for subject, account := range who {
		w.idp.SetAuto(idp.Auto{SignIn: account, Consent: idp.Approve})
		w.connected(subject)
	}
	for round := 1; round <= 3; round++ {
		clients := map[string]*mcp.Client{}
		for subject := range who {
			if err := w.grants[0].Expire(t.Context(), person(subject)); err != nil {
				t.Fatal(err)
			}
			clients[subject] = w.client(subject+"/app", revisions()[len(revisions())-1], nil)
		}
		all := map[string][]chan outcome{}
		for range 25 {
			for subject := range who {
				all[subject] = append(all[subject], call(t, clients[subject], "seats", where{}))
			}
		}
		for subject, calls := range all {
			for _, done := range calls {
				if out := get(t, done); out.err != nil || !strings.HasPrefix(out.res.Text, who[subject]+" ") {
					t.Fatalf("%s got %+v", subject, out)
				}
			}
		}
		if n := w.idp.Count(idp.GrantRefresh); n > 2*round || w.idp.Events()["reuse"] != 0 {
			t.Fatalf("%d renewals, %d refresh tokens used twice", n, w.idp.Events()["reuse"])
		}
	}
}

// TestDeclinedWhileRedeeming: who says no in one window while another one's answer is being redeemed has said no, and the provider takes
// back what it has issued.
func TestDeclinedWhileRedeeming(t *testing.T) {
	w := newRail(t, nil)
	link, done := w.asked("alice/app", "seats")
	b, other := w.browser("alice"), w.browser("alice")
	w.idp.Break(idp.Token, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			other.fill(link, "decline")
			next.ServeHTTP(rw, r)
		})
	})
	if p := b.fill(link, "submit"); !strings.Contains(p.body, "Declined") {
		t.Errorf("%d %s", p.status, p.body)
	}
	if out := get(t, done); out.err == nil || !strings.Contains(out.err.Error(), "declined") {
		t.Errorf("the tool: %+v", out)
	}
	if err := w.replicas[0].desk.Close(); err != nil { // which waits for what is done in the background
		t.Fatal(err)
	}
	if n := w.idp.Count(idp.Revoke); n != 2 || w.idp.Count(idp.GrantCode) != 1 || len(w.rows(connect.RowCredential)) != 0 {
		t.Errorf("%d tokens taken back, %d codes redeemed, %d credentials", n, w.idp.Count(idp.GrantCode), len(w.rows(connect.RowCredential)))
	}
}
