package connect

import (
	"context"
	"net/http"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// TokenOf is Token for a person, without asking them: nil when they would be asked.
func (g *Grant) TokenOf(ctx context.Context, p Person, scopes ...string) (*Token, error) {
	t, _, err := g.current(ctx, p.owner(), scopes, false)
	return t, err
}

// Through has a provider reached through something else than the network.
func (g *Grant) Through(rt http.RoundTripper) { g.party.http.Transport = rt }

// Give gives a person a set of tokens, as a finished interaction would. The access token ends after some time, or never.
func (g *Grant) Give(ctx context.Context, p Person, access, refresh string, lasts time.Duration) error {
	v := &grantValue{Generation: randomID(), Origin: g.spec.origin(), Access: access, Refresh: refresh, Obtained: time.Now()}
	if lasts > 0 {
		v.Expiry = v.Obtained.Add(lasts)
	}
	raw, err := jsonv2.Marshal(v)
	if err != nil {
		return err
	}
	return g.desk.putCredential(ctx, &credential{
		Owner: p.owner(), Kind: kindGrant, Name: g.spec.Name, From: randomID(), Since: time.Now(), Scopes: g.spec.Scopes, Value: raw,
	})
}

// Expire has a person's access token end now.
func (g *Grant) Expire(ctx context.Context, p Person) error {
	c, err := g.desk.loadCredential(ctx, p.owner(), kindGrant, g.spec.Name, true)
	if err != nil || c == nil {
		return err
	}
	_, err = g.change(ctx, c.ID, func(_ *credential, v *grantValue) bool {
		v.Expiry = time.Now()
		return true
	})
	return err
}

// Held takes the lease of a person's credential, as a process that then dies.
func (g *Grant) Held(ctx context.Context, p Person) error {
	c, err := g.desk.loadCredential(ctx, p.owner(), kindGrant, g.spec.Name, true)
	if err != nil || c == nil {
		return err
	}
	_, err = g.lease(ctx, c.ID)
	return err
}

// Tokens says what is stored for a person: the status, the tokens.
func (g *Grant) Tokens(ctx context.Context, p Person) (status, access, refresh string, err error) {
	c, err := g.desk.findCredential(ctx, credentialKey(p.owner(), kindGrant, g.spec.Name))
	if err != nil || c == nil {
		return "", "", "", err
	}
	return c.Row.Status, c.tokens.Access, c.tokens.Refresh, nil
}

// Remove takes a person's grant back, as its page does.
func (g *Grant) Remove(ctx context.Context, p Person) error {
	c, err := g.desk.loadCredential(ctx, p.owner(), kindGrant, g.spec.Name, true)
	if err != nil || c == nil {
		return err
	}
	if err := g.desk.revokeCredential(ctx, p.owner(), c.ID); err != nil {
		return err
	}
	g.revoked(nil, c)
	return nil
}

// Move has the provider's tokens come from elsewhere, as a changed configuration would.
func (g *Grant) Move(tokenURL string) { g.spec.TokenURL = tokenURL }

// ForgetOf is Forget for a person.
func (g *Grant) ForgetOf(ctx context.Context, p Person, access string) error {
	return g.forget(ctx, p.owner(), access)
}

// Discover reads the provider's metadata, and returns who they say it is.
func (g *Grant) Discover(ctx context.Context) (issuer string, err error) {
	e, err := g.party.endpoints(ctx)
	if err != nil {
		return "", err
	}
	return e.Issuer, nil
}
