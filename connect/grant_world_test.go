package connect_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcptest/idp"
	"github.com/seed38e7925c/parley/mcptest/railway"
)

// A rail is a world whose tools use the API of another company.
type rail struct {
	*world
	idp    *idp.Server
	api    *railway.Server
	grants []*connect.Grant // of each replica

	mu     sync.Mutex
	tokens []string // that tools have seen, for canary hunts
}

type railOptions struct {
	worldOptions
	idp      idp.Options
	provider func(p *connect.Provider)
}

const railSecret = "secret-of-the-desk-77"

// newRail starts one. Whoever goes to the provider is Anna there, and agrees, unless the options say otherwise.
func newRail(t *testing.T, o *railOptions) *rail {
	t.Helper()
	if o == nil {
		o = &railOptions{}
	}
	w := &rail{}
	if o.idp.Users == nil {
		o.idp.Users = []idp.User{{Subject: "u-anna", Name: "Anna", Email: "anna@rail.test"}, {Subject: "u-mallory", Name: "Mallory"}}
	}
	if o.idp.Auto == (idp.Auto{}) {
		o.idp.Auto = idp.Auto{SignIn: "u-anna", Consent: idp.Approve}
	}
	w.idp = idp.Start(t, &o.idp)
	w.api = railway.Start(t, &railway.Options{Check: w.idp.Check})
	more := o.tools
	o.tools = func(srv *mcp.Server, r *replica) {
		p := &connect.Provider{
			Name: "rail", Title: "Rail AG", Issuer: w.idp.Issuer(), ClientID: "desk", ClientSecret: connect.NewSecret(railSecret),
			Resource: w.api.URL(), Scopes: []string{"openid", "email", railway.ScopeRead}, ScopeTexts: map[string]string{railway.ScopeRead: "See free seats"},
		}
		if o.provider != nil {
			o.provider(p)
		}
		g := r.desk.OAuth(p)
		w.grants = append(w.grants, g)
		mcp.AddTool(srv, &mcp.Tool{Name: "seats"}, w.seats(g, railway.ScopeRead))
		mcp.AddTool(srv, &mcp.Tool{Name: "book"}, w.seats(g, railway.ScopeRead, railway.ScopeBook))
		if more != nil {
			more(srv, r)
		}
	}
	w.world = newWorld(t, &o.worldOptions)
	if err := w.idp.AddClient(&idp.Client{ID: "desk", Name: "Travel desk", Secret: railSecret, RedirectURIs: []string{w.url + "/connect/callback/rail"}}); err != nil {
		t.Fatal(err)
	}
	return w
}

// seats is a tool that says whose token it got.
func (w *rail) seats(g *connect.Grant, scopes ...string) func(context.Context, *mcp.Call, where) (where, error) {
	return func(ctx context.Context, call *mcp.Call, _ where) (where, error) {
		token, err := g.Token(ctx, call, scopes...)
		if err != nil {
			return where{}, err
		}
		w.mu.Lock()
		w.tokens = append(w.tokens, token.Access.Reveal())
		w.mu.Unlock()
		owner, granted, err := w.idp.Check(token.Access.Reveal(), w.api.URL())
		if err != nil {
			return where{}, err
		}
		return where{Text: owner + " " + strings.Join(granted, ",") + " " + token.Account}, nil
	}
}

// connected has somebody give access, and returns what the tool said.
func (w *rail) connected(subject string) {
	w.t.Helper()
	rev := revisions()[len(revisions())-1]
	person, pages := links()
	done := call(w.t, w.client(subject+"/app", rev, person), "seats", where{})
	w.browser(subject).fill(get(w.t, pages), "submit")
	if out := get(w.t, done); out.err != nil {
		w.t.Fatal(out.err)
	}
}

// ask makes a call that asks nobody, and returns its text.
func (w *rail) ask(token string) string {
	w.t.Helper()
	c := w.client(token, revisions()[len(revisions())-1], &mcp.Interactor{Open: func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ActionDecline}, nil
	}})
	res, err := mcp.CallTool[where](w.t.Context(), c, "seats", where{})
	if err != nil {
		return "error: " + err.Error()
	}
	return res.Text
}

// to returns where a form has led, without following.
func (b *browser) to(address, do string) *url.URL {
	b.t.Helper()
	follow := b.http.CheckRedirect
	b.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer func() { b.http.CheckRedirect = follow }()
	p := b.fill(address, do)
	u, err := url.Parse(p.header.Get("Location"))
	if err != nil || p.status != http.StatusSeeOther {
		b.t.Fatalf("status %d, Location %q", p.status, p.header.Get("Location"))
	}
	return u
}
