package mcpauth

import (
	"context"
	"errors"
	"fmt"
)

// A need is why another token is needed.
type need struct {
	challenge *Challenge
	refused   *credential // nil: none was sent
	anew      bool        // nothing that is there already will do
	step      bool        // for more scope
}

// obtain gets a token in the place of one that was refused: anew, or one that is there or can be renewed.
func (t *Transport) obtain(ctx context.Context, n *need) (*credential, error) {
	return t.alone(ctx, n.refused, func(ctx context.Context) error {
		if now := t.cred.Load(); now != n.refused {
			return nil
		}
		if !n.anew && n.refused != nil {
			if done, err := t.renewedElsewhere(ctx, n.refused); done || err != nil {
				return err
			}
		}
		d, err := t.discover(ctx, n.challenge)
		if err != nil {
			return err
		}
		if !n.anew {
			if done, err := t.reuse(ctx, d, n.refused); done || err != nil {
				return err
			}
		}
		w := &want{scopes: t.wanted(d, n.challenge, n.refused)}
		if n.step {
			w.had = n.refused.scopes()
		}
		return t.login(ctx, d, w)
	})
}

// A want is what a login is to give.
type want struct {
	scopes []string
	had    []string // not nil: there is a login, and this is for more than it has
}

// renewedElsewhere takes what another process has got in the place of a token that was refused, if it did.
func (t *Transport) renewedElsewhere(ctx context.Context, refused *credential) (bool, error) {
	have, err := t.storedFor(ctx, refused.Issuer, refused.Resource)
	if err != nil || have == nil || have.AccessToken == refused.AccessToken || have.expired(t.now()) {
		return false, err
	}
	t.cred.Store(have)
	return true, nil
}

// reuse takes what the store has for what was discovered, or renews the token that was refused. It reports whether that is a new token.
func (t *Transport) reuse(ctx context.Context, d *Discovery, refused *credential) (bool, error) {
	have, err := t.storedFor(ctx, d.Metadata.Issuer, d.Resource)
	if err != nil {
		return false, err
	}
	if have == nil {
		return false, nil
	}
	if (refused == nil || have.AccessToken != refused.AccessToken) && !have.expired(t.now()) {
		return true, t.adopt(ctx, have)
	}
	if have.RefreshToken == "" || have.TokenEndpoint != d.Metadata.TokenEndpoint {
		return false, nil // a refresh token goes nowhere else than where it came from
	}
	err = t.renew(ctx, have)
	if err != nil && definite(err) {
		t.log.Info("mcpauth: the token cannot be renewed, a new login is needed", "err", err)
		return false, nil
	}
	return true, err
}

// login gets a new token by the grant, or from the person, who is not asked again for what was declined: no login after a declined login,
// and no more scope after a declined request for more, whatever the server calls it by then.
func (t *Transport) login(ctx context.Context, d *Discovery, w *want) error {
	step := w.had != nil
	t.mu.Lock()
	declined := t.refused[step]
	t.mu.Unlock()
	if declined != nil {
		return declined
	}
	get := t.authorize
	if t.opts.Grant != nil {
		get = t.granted
	}
	c, err := get(ctx, d, w)
	if err != nil {
		if errors.Is(err, ErrLoginDeclined) {
			t.mu.Lock()
			t.refused[step] = fmt.Errorf("%w (asked before; not asked again)", err)
			t.mu.Unlock()
		}
		return err
	}
	return t.keep(ctx, c)
}

// Login logs in anew, as if the server had refused what there is with a challenge, which may be nil. It is for a person who asks for
// that; a declined login can be asked for again.
func (t *Transport) Login(ctx context.Context, ch *Challenge) error {
	t.mu.Lock()
	clear(t.refused)
	clear(t.steps)
	t.mu.Unlock()
	_, err := t.alone(ctx, t.cred.Load(), func(ctx context.Context) error {
		d, err := t.discover(ctx, ch)
		if err != nil {
			return err
		}
		return t.login(ctx, d, &want{scopes: t.wanted(d, ch, nil)})
	})
	return err
}
