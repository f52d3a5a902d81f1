package connect_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// TestLocalGrant: a server on standard input and output is registered at a provider with a redirect URI that stays the same, although
// the path of its pages does not. Only who knows an interaction is led from there to that path.
func TestLocalGrant(t *testing.T) {
	provider := idp.Start(t, &idp.Options{Auto: idp.Auto{SignIn: "alice", Consent: idp.Ask}})
	if err := provider.AddClient(&idp.Client{ID: "desk", RedirectURIs: []string{"http://127.0.0.1/callback/rail"}}); err != nil {
		t.Fatal(err)
	}
	w := newLocalWorld(t)
	rail := w.desk.OAuth(&connect.Provider{Name: "rail", Title: "Rail AG", Issuer: provider.Issuer(), ClientID: "desk", Scopes: []string{"openid"}})
	srv := mcp.NewServer("travel", "1", nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "who"}, func(ctx context.Context, call *mcp.Call, in where) (where, error) {
		token, err := rail.Token(ctx, call)
		if err != nil {
			return where{}, err
		}
		owner, _, err := provider.Check(token.Access.Reveal(), provider.Issuer())
		return where{Text: owner}, err
	})
	person, asked := codes()
	c, err := mcp.Connect(t.Context(), mcp.Pipe(srv.ServeConn), &mcp.ClientOptions{Interactor: person})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	done := call(t, c, "who", where{})
	q := get(t, asked)
	b := w.browser(q.link)
	b.http.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/callback/rail" {
			return http.ErrUseLastResponse
		}
		return nil
	}
	b.post(q.link+"/code", url.Values{"code": {q.code}})
	consent := b.fill(q.link, "submit")
	values := url.Values{"request": {consent.url.Query().Get("request")}, "csrf": {consent.csrf()}, "answer": {"allow"}}
	b.base = &url.URL{Scheme: consent.url.Scheme, Host: consent.url.Host}
	back := b.post(actionAt(t, consent), values).header.Get("Location")

	secretPath, _, _ := strings.Cut(strings.TrimPrefix(q.link, "http://"), "/i/")
	_, secretPath, _ = strings.Cut(secretPath, "/")
	for what, address := range map[string]string{
		"no state":      strings.SplitAfter(back, "/callback/rail")[0],
		"unknown state": strings.SplitAfter(back, "/callback/rail")[0] + "?code=1&state=" + strings.Repeat("a", 54),
		"other name":    strings.Replace(back, "/callback/rail", "/callback/tram", 1),
	} {
		if p := w.browser(q.link).open(address); p.status != http.StatusNotFound || strings.Contains(p.body, secretPath) || strings.Contains(p.url.Path, secretPath) {
			t.Errorf("%s: status %d at %s", what, p.status, p.url)
		}
	}
	if p := b.open(back); !strings.Contains(p.body, "Connected") {
		t.Errorf("status %d: %s", p.status, p.body)
	}
	if out := get(t, done); out.err != nil || out.res.Text != "alice" {
		t.Errorf("%+v", out)
	}
}

// actionAt is where the first form of a page leads.
func actionAt(t *testing.T, p *page) string {
	t.Helper()
	u, err := p.url.Parse(actionIn(t, p.body, ""))
	if err != nil {
		t.Fatal(err)
	}
	return u.String()
}
