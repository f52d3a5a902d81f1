package connect

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"golang.org/x/oauth2"

	"github.com/seed38e7925c/parley/connect/internal/pages"
	"github.com/seed38e7925c/parley/mcp"
)

// A Provider is another company at which people have accounts, and whose API tools use for them: an OAuth 2 authorization server or an
// OpenID provider. Register the server there as a client with the redirect URI BaseURL + "callback/" + Name; for [OpenLocal] it is
// http://127.0.0.1/callback/ + Name, with any port.
type Provider struct {
	// Name tells it from what else the desk asks for: 1 to 64 letters, digits, dots, dashes and underscores. It must not change.
	Name string
	// Title is what people know it as: "Rail AG".
	Title string
	// Reason is what access is needed for. It may be empty.
	Reason string

	// Issuer names it; its endpoints and keys are found in its metadata (OpenID Connect Discovery or RFC 8414). Where a provider has
	// none, leave it empty and set AuthURL and TokenURL.
	Issuer string
	// AuthURL, TokenURL, RevokeURL and UserInfoURL are its endpoints, where its metadata lack or misname them.
	AuthURL, TokenURL, RevokeURL, UserInfoURL string
	// ClientID and ClientSecret are the server's own registration there. A public client has no secret.
	ClientID     string
	ClientSecret Value
	// AuthMethod is how the secret is sent: "client_secret_basic" or "client_secret_post". The default is what the metadata say, and
	// basic where they say nothing.
	AuthMethod string
	// Resource names the API that tokens are for (RFC 8707), where the provider wants that.
	Resource string
	// AuthParams are sent to AuthURL beside what OAuth needs, such as access_type=offline where refresh tokens need it.
	AuthParams url.Values

	// Scopes are asked for in any case, with those that the first call needs.
	Scopes []string
	// ScopeTexts say what scopes are, for the page.
	ScopeTexts map[string]string
	// Covers reports whether the granted scopes include one. The default is that it is among them, letter by letter; some providers
	// answer with other names than they were asked for.
	Covers func(granted []string, scope string) bool

	// AllowLoopback permits this computer as a place that metadata name; AllowNetworks does so for private networks. An Issuer or URL
	// that the program itself names on loopback or in a private network is permitted as it is.
	AllowLoopback bool
	AllowNetworks []netip.Prefix
	// TLS are settings for connections to the provider. nil: the defaults of crypto/tls.
	TLS *tls.Config
	// Timeout bounds each request to the provider. The default is 15 s, and more than 2 minutes are taken for 2 minutes.
	Timeout time.Duration
}

// A Grant has people give access to their account at one provider, and hands tokens for it to handlers. Its methods may be called
// concurrently.
type Grant struct {
	desk  *Desk
	spec  Provider
	party *party

	mu    sync.Mutex
	going map[string]*renewal // by credential
}

// OAuth makes a provider known that tools may need access at. It is called when the program starts, and asks the provider nothing yet. A
// bad Provider is a mistake of the program, and panics.
func (d *Desk) OAuth(p *Provider) *Grant {
	g := &Grant{desk: d, spec: *p, going: make(map[string]*renewal)}
	if err := g.spec.resolve(); err != nil {
		panic(fmt.Sprintf("connect: Provider %q: %v", p.Name, err))
	}
	g.party = newParty(&g.spec, d.log)
	d.register(kindGrant, p.Name, g)
	return g
}

// resolve fills in defaults and says what is wrong.
func (p *Provider) resolve() error {
	if p.Timeout <= 0 {
		p.Timeout = defaultProviderTimeout
	}
	p.Timeout = min(p.Timeout, maxProviderTimeout)
	if p.Covers == nil {
		p.Covers = func(granted []string, scope string) bool { return slices.Contains(granted, scope) }
	}
	switch {
	case strings.TrimSpace(p.Title) == "":
		return errors.New("Title is empty: people must know where they go")
	case p.ClientID == "":
		return errors.New("ClientID is empty")
	case p.Issuer == "" && (p.AuthURL == "" || p.TokenURL == ""):
		return errors.New("it needs an Issuer, or AuthURL and TokenURL")
	case p.AuthMethod != "" && p.AuthMethod != authBasic && p.AuthMethod != authPost:
		return fmt.Errorf("AuthMethod %q is neither %s nor %s", p.AuthMethod, authBasic, authPost)
	}
	return errors.Join(named("Issuer", p.Issuer), named("AuthURL", p.AuthURL), named("TokenURL", p.TokenURL),
		named("RevokeURL", p.RevokeURL), named("UserInfoURL", p.UserInfoURL))
}

// named refuses an address of an option that is not safe; empty ones are not set.
func named(option, raw string) error {
	u, err := url.Parse(raw)
	switch {
	case raw == "", err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname())):
		return nil
	}
	return fmt.Errorf("%s %q must begin with https://", option, raw)
}

// A Token gives access to a person's account at a provider. It shows itself to nobody who does not ask for it.
type Token struct {
	Access  Value
	Expiry  time.Time // zero where the provider does not say
	Scopes  []string  // that were granted
	Account string    // the account, as the provider calls it, to show; never an identity
	renew   func() (*Token, error)
}

var _ oauth2.TokenSource = (*Token)(nil)

// SetAuthHeader sets the Authorization header of a request to the API.
func (t *Token) SetAuthHeader(r *http.Request) {
	r.Header.Set("Authorization", "Bearer "+t.Access.Reveal())
}

// Token implements [oauth2.TokenSource], for oauth2.NewClient and for clients of APIs that take one. Once the token is about to end, it
// is renewed; where that needs the person, there is an error, and the handler's next [Grant.Token] asks them.
func (t *Token) Token() (*oauth2.Token, error) {
	now := t
	if t.renew != nil {
		var err error
		if now, err = t.renew(); err != nil {
			return nil, err
		}
	}
	return &oauth2.Token{AccessToken: now.Access.Reveal(), TokenType: "Bearer", Expiry: now.Expiry}, nil
}

// Token returns a token for the account of the person behind the call, with the scopes. Where there is none, or it can no longer be
// renewed, or lacks a scope, the person is asked, for these scopes and all that they gave before; what [SecretSource.Get] says about
// waiting and errors holds.
//
// A token that is known costs a look into a cache, whose entries are a second old at most. One that is about to end is renewed, by one of
// all who need it, on all replicas. A provider that does not answer is no reason to ask the person: the error says so, and the next call
// tries again.
func (g *Grant) Token(ctx context.Context, call *mcp.Call, scopes ...string) (*Token, error) {
	who, err := g.desk.caller(call)
	if err != nil {
		return nil, err
	}
	for nth, fresh := 0, false; nth < maxRenewals; nth, fresh = nth+1, true {
		t, have, err := g.current(ctx, who.owner, scopes, fresh)
		if t != nil || err != nil {
			return t, err
		}
		asked := union(union(g.spec.Scopes, scopes), have)
		if _, err := g.desk.obtain(ctx, call, g.want(asked, nth)); err != nil {
			return nil, err
		}
		if err := g.enough(ctx, who.owner, scopes); err != nil {
			return nil, err
		}
	}
	return nil, told(ErrFailed, "%s: the access was removed as soon as it was given", g.spec.Title)
}

// want is what the person is asked for.
func (g *Grant) want(scopes []string, nth int) *want {
	w := &want{
		kind: kindGrant, name: g.spec.Name, title: g.spec.Title, message: g.words(g.desk), purpose: scopes, nth: nth,
		part: &grantPart{Scopes: scopes},
	}
	if !slices.Equal(scopes, union(nil, g.spec.Scopes)) {
		w.variant = digest(scopes...)[:16]
	}
	return w
}

// enough refuses what a person has given when it is less than what is needed. To ask at once again would be to nag.
func (g *Grant) enough(ctx context.Context, owner string, scopes []string) error {
	c, err := g.desk.loadCredential(ctx, owner, kindGrant, g.spec.Name, true)
	if err != nil || c == nil {
		return err
	}
	if missing := g.missing(c, scopes); len(missing) > 0 {
		return told(ErrFailed, "%s: the person gave access, but not all that this needs; missing: %s", g.spec.Title, strings.Join(missing, ", "))
	}
	return nil
}

func (g *Grant) missing(c *credential, scopes []string) (missing []string) {
	for _, s := range scopes {
		if !g.spec.Covers(c.Scopes, s) {
			missing = append(missing, s)
		}
	}
	return missing
}

// current returns a token, if there is one without asking anybody, and what scopes the person gave before, if any.
func (g *Grant) current(ctx context.Context, owner string, scopes []string, fresh bool) (*Token, []string, error) {
	c, err := g.desk.loadCredential(ctx, owner, kindGrant, g.spec.Name, fresh)
	if err != nil || c == nil {
		return nil, nil, err
	}
	for range maxRenewals {
		if c.Row.Status != statusActive || len(g.missing(c, scopes)) > 0 {
			return nil, c.Scopes, nil
		}
		v := c.tokens
		if v.Origin != g.spec.origin() { // what another provider issued is not sent to this one
			return nil, nil, nil
		}
		if !v.stale(time.Now()) {
			return g.token(c, v), c.Scopes, nil
		}
		next, err := g.renewed(ctx, c, v)
		switch {
		case err != nil && ctx.Err() == nil && v.valid(time.Now()):
			g.desk.log.Warn("connect: a token could not be renewed, and counts for a while", "provider", g.spec.Name, "credential", c.ID, "error", err)
			return g.token(c, v), c.Scopes, nil
		case err != nil:
			return nil, nil, g.unreachable(ctx, err)
		case next == nil:
			return nil, c.Scopes, nil
		}
		c = next
	}
	return nil, nil, fmt.Errorf("connect: the tokens of %s end as soon as they are renewed", g.spec.Name)
}

// unreachable is the error of a provider that does not do what it should.
func (g *Grant) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return told(fmt.Errorf("connect: provider %s: %w", g.spec.Name, err),
		"%s does not answer as it should; the access that the person gave is kept: try again later", g.spec.Title)
}

// token is what a handler gets.
func (g *Grant) token(c *credential, v *grantValue) *Token {
	t := &Token{Access: NewSecret(v.Access), Expiry: v.Expiry, Scopes: slices.Clone(c.Scopes), Account: c.Label}
	owner := c.Owner
	t.renew = func() (*Token, error) {
		ctx, cancel := context.WithTimeout(context.Background(), g.patience())
		defer cancel()
		now, _, err := g.current(ctx, owner, t.Scopes, false)
		if now == nil && err == nil {
			err = told(ErrFailed, "%s: the access is no longer valid; the person is asked when the tool is called again", g.spec.Title)
		}
		return now, err
	}
	return t
}

// Forget is for a token that the API has refused, with status 401: the next Token renews it, or asks the person where it was renewed a
// moment ago or cannot be renewed. One that has taken its place in the meantime stays.
func (g *Grant) Forget(ctx context.Context, call *mcp.Call, used *Token) error {
	who, err := g.desk.caller(call)
	if err != nil {
		return err
	}
	return g.forget(ctx, who.owner, used.Access.Reveal())
}

func (g *Grant) forget(ctx context.Context, owner, access string) error {
	c, err := g.desk.loadCredential(ctx, owner, kindGrant, g.spec.Name, true)
	if err != nil || c == nil {
		return err
	}
	_, err = g.change(ctx, c.ID, func(c *credential, v *grantValue) bool {
		if v.Access == "" || v.Access != access {
			return false
		}
		if v.Refresh == "" || v.Renewed && time.Since(v.Obtained) < time.Minute {
			c.Row.Status = statusReauth
			v.Refresh = ""
		}
		v.Access, v.Expiry = "", time.Time{}
		return true
	})
	return err
}

// statusReauth is the status of a grant that its provider no longer honours.
const statusReauth = "reauth"

// credentialID names the row of the person's grant, for approvals.
func (g *Grant) credentialID(ctx context.Context, owner string) (string, error) {
	return g.desk.currentID(ctx, owner, kindGrant, g.spec.Name)
}

func (g *Grant) title(*interaction) string { return g.spec.Title }

func (g *Grant) words(d *Desk) string {
	return fmt.Sprintf("%s needs access to your account at %s. You sign in and decide there; this app and its model do not see your password or the access.",
		d.opts.ServerName, g.spec.Title)
}

// grantPart is what an interaction remembers of the way to the provider and back.
type grantPart struct {
	Scopes   []string       `json:"scopes,omitzero"` // that are asked for
	Attempts []grantAttempt `json:"attempts,omitzero"`
	Problem  string         `json:"problem,omitzero"` // why the last attempt came to nothing
}

func grantPartOf(in *interaction) (*grantPart, error) {
	part := &grantPart{}
	if err := jsonv2.Unmarshal(in.data.Part, part); err != nil {
		return nil, fmt.Errorf("connect: the data of interaction %s cannot be read: %w", in.ID, err)
	}
	return part, nil
}

// put changes the part of an interaction.
func (part *grantPart) put(in *interaction) error {
	raw, err := jsonv2.Marshal(part)
	in.data.Part = json.RawMessage(raw)
	return err
}

func (g *Grant) view(ctx context.Context, v *visit) (*pages.Interaction, error) {
	e, err := g.party.endpoints(ctx)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(e.Authorize)
	if err != nil {
		return nil, err
	}
	part, err := grantPartOf(v.in)
	if err != nil {
		return nil, err
	}
	v.allowTarget(at)
	page := &pages.Interaction{Title: g.spec.Title, Reason: g.spec.Reason, Host: at.Host}
	for _, s := range part.Scopes {
		page.Scopes = append(page.Scopes, pages.Scope{Name: s, Description: g.spec.ScopeTexts[s]})
	}
	if part.Problem != "" {
		page.Error, err = g.desk.pages.Text(v.r, "grant.problem", g.spec.Title)
	}
	return page, err
}

func (g *Grant) applies() bool { return true }

// grantPayload is what a finished interaction has brought.
type grantPayload struct {
	Value  *grantValue `json:"value"`
	Scopes []string    `json:"scopes,omitzero"`
	Label  string      `json:"label,omitzero"`
}

func (g *Grant) apply(ctx context.Context, in *interaction) error {
	var p grantPayload
	if err := jsonv2.Unmarshal(in.data.Payload, &p); err != nil || p.Value == nil {
		return fmt.Errorf("connect: what interaction %s has brought cannot be read", in.ID)
	}
	value, err := jsonv2.Marshal(p.Value)
	if err != nil {
		return err
	}
	return g.desk.putCredential(ctx, &credential{
		Owner: in.row.Owner, Kind: kindGrant, Name: g.spec.Name, From: in.ID, Since: in.data.Finished, Tools: toolsOf(in),
		Label: p.Label, Scopes: p.Scopes, Value: value,
	})
}

// revoked has the provider forget what a person has taken back.
func (g *Grant) revoked(_ *http.Request, c *credential) {
	g.abandon(c.tokens)
}

// abandon has the provider forget tokens that nobody uses any more. They are gone from the store already, whatever comes of it.
func (g *Grant) abandon(v *grantValue) {
	g.desk.spawn(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*g.spec.Timeout)
		defer cancel()
		if err := g.party.revoke(ctx, v); err != nil {
			g.desk.log.Warn("connect: a provider could not be told that a grant was taken back", "provider", g.spec.Name, "error", err)
		}
	})
}
