package connect

import (
	"context"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// A renewal is one renewal of one set of tokens, by this process. Who needs the tokens meanwhile waits for it.
type renewal struct {
	done chan struct{}
	c    *credential // afterwards; nil when the person has to be asked
	err  error       // the provider, or the store, does not answer
}

const (
	leaseSlack    = 15 * time.Second       // what a lease lasts beyond the provider's time
	leasePoll     = 250 * time.Millisecond // how often a lease of another process is looked at, beside being told
	renewAttempts = 3
	firstBackoff  = 250 * time.Millisecond
	longestAfter  = 5 * time.Second // more of a provider's Retry-After is not waited for
)

// leaseTime is what the lease lasts: what the provider may take in all, and what saving takes.
func (g *Grant) leaseTime() time.Duration { return g.spec.Timeout + leaseSlack }

// patience bounds a renewal: that of another process, which may have died, and then one's own.
func (g *Grant) patience() time.Duration { return 2 * g.leaseTime() }

// renewed has a set of tokens renewed, unless that is being done or has been done, and returns the credential with the next set. It
// returns nil when the provider refuses and the person has to be asked.
func (g *Grant) renewed(ctx context.Context, c *credential, v *grantValue) (*credential, error) {
	g.mu.Lock()
	r := g.going[c.ID]
	if r == nil {
		r = &renewal{done: make(chan struct{}), err: errors.New("connect: the renewal of a token has panicked")}
		// On a goroutine of its own: what the provider answers must be saved even when nobody waits any more.
		if !g.desk.spawn(func() { g.fly(r, c.ID, v.Generation) }) {
			g.mu.Unlock()
			return nil, errors.New("connect: the desk is closed")
		}
		g.going[c.ID] = r
	}
	g.mu.Unlock()
	select {
	case <-r.done:
		return r.c, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (g *Grant) fly(r *renewal, id, generation string) {
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.going, id)
		close(r.done)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), g.patience())
	defer cancel()
	r.c, r.err = g.renew(ctx, id, generation)
}

// renew renews a generation of tokens, alone among all processes: by the lease. No transaction is open and no lock is held while the
// provider thinks.
func (g *Grant) renew(ctx context.Context, id, generation string) (*credential, error) {
	e, err := g.party.endpoints(ctx) // before the lease: reading metadata may take longer than that lasts
	if err != nil {
		return nil, err
	}
	waiting := g.desk.hub.add(id, nil)
	defer g.desk.hub.remove(waiting)
	for {
		free, err := g.lease(ctx, id)
		if err != nil {
			return nil, err
		}
		if free != nil {
			defer free() //nolint:gocritic // this round is the last
		}
		c, v, err := g.read(ctx, id)
		if err != nil || c == nil || v.Generation != generation {
			return c, err // somebody else has renewed it, or the person has taken it back
		}
		if free != nil {
			return g.exchange(ctx, e, c, v)
		}
		timer := time.NewTimer(leasePoll)
		select {
		case <-waiting.woke:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("another process was renewing the token for too long: %w", ctx.Err())
		}
	}
}

// lease takes the right to talk to the provider about a credential, and returns how to give it back; nil when another process has it. It
// ends by itself should this process die.
func (g *Grant) lease(ctx context.Context, id string) (free func(), err error) {
	row := &Row{Kind: rowLease, ID: randomID(), Key: digest("renew", id), Expires: time.Now().Add(g.leaseTime())}
	existing, err := g.desk.store.Insert(ctx, row)
	if err != nil || existing != nil {
		return nil, err
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
		defer cancel()
		row.Expires = time.Now().Add(-time.Hour)
		if err := g.desk.store.Update(ctx, row); err != nil && !errors.Is(err, ErrNotFound) {
			g.desk.log.Warn("connect: a lease could not be given back, and ends by itself", "error", err)
		}
	}, nil
}

// read returns a grant as it is stored now; nil when the person has to be asked.
func (g *Grant) read(ctx context.Context, id string) (*credential, *grantValue, error) {
	row, err := g.desk.store.Get(ctx, rowCredential, id)
	if errors.Is(err, ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if row.Status != statusActive {
		return nil, nil, nil
	}
	c, err := g.desk.readCredential(row)
	if err != nil {
		return nil, nil, err
	}
	v := *c.tokens
	return c, &v, nil
}

// exchange renews a set of tokens at the provider, and saves what comes of it.
func (g *Grant) exchange(ctx context.Context, e *endpoints, c *credential, v *grantValue) (*credential, error) {
	if v.Refresh == "" {
		return g.spent(ctx, c.ID, v.Generation)
	}
	a, err := g.attempts(ctx, e, v.Refresh)
	switch {
	case refused(err):
		return g.spent(ctx, c.ID, v.Generation)
	case err != nil:
		return nil, err
	}
	return g.save(ctx, c.ID, v, a)
}

// attempts asks the provider, and again when it has certainly not acted: a refresh token that was used may be good for nothing.
func (g *Grant) attempts(ctx context.Context, e *endpoints, refresh string) (*tokenAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, g.spec.Timeout)
	defer cancel()
	backoff := firstBackoff
	for n := 1; ; n++ {
		a, err := g.party.renew(ctx, e, refresh)
		again, after := untouched(err)
		if err == nil || !again || n == renewAttempts || after > longestAfter {
			return a, err
		}
		pause(ctx, max(backoff, after))
		if ctx.Err() != nil {
			return nil, err
		}
		backoff *= 4
	}
}

// save stores what the provider has issued, over the set that it was issued for and over nothing else. What nobody can use is given
// back.
func (g *Grant) save(ctx context.Context, id string, before *grantValue, a *tokenAnswer) (*credential, error) {
	next := a.value(before.Origin, before)
	for {
		c, err := g.change(ctx, id, func(c *credential, v *grantValue) bool {
			if v.Generation != before.Generation {
				return false
			}
			c.Scopes = a.scopes(c.Scopes)
			*v = *next
			return true
		})
		switch {
		case err == nil && c == nil: // taken back, or refused
			g.abandon(next)
			return nil, nil
		case err == nil:
			if c.tokens.Generation == next.Generation {
				g.desk.auditCredential(ctx, eventRenewed, c)
			}
			return c, nil
		case ctx.Err() != nil:
			return nil, err
		}
		g.desk.log.Warn("connect: a renewed token could not be saved; it is tried again", "provider", g.spec.Name, "credential", id, "error", err)
		pause(ctx, watchRetry)
	}
}

// eventRenewed is the audit's name of a renewal.
const eventRenewed = "refreshed"

// spent notes that a set of tokens is good for nothing, unless there is a newer one by now.
func (g *Grant) spent(ctx context.Context, id, generation string) (*credential, error) {
	c, err := g.change(ctx, id, func(c *credential, v *grantValue) bool {
		if v.Generation != generation {
			return false
		}
		c.Row.Status = statusReauth
		v.Access, v.Refresh, v.Expiry = "", "", time.Time{}
		return true
	})
	if err != nil || c == nil {
		return nil, err
	}
	if c.Row.Status == statusReauth {
		g.desk.auditCredential(ctx, statusReauth, c)
		return nil, nil
	}
	return c, nil
}

// change changes a grant by one conditional update, and returns it as it is then; nil when it is no longer in force. Where somebody else
// was faster, fn is asked again; it returns false when there is nothing to change.
func (g *Grant) change(ctx context.Context, id string, fn func(c *credential, v *grantValue) bool) (*credential, error) {
	d := g.desk
	for range maxSteps {
		c, v, err := g.read(ctx, id)
		if err != nil || c == nil {
			return nil, err
		}
		if !fn(c, v) {
			return c, nil
		}
		raw, err := jsonv2.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("connect: encoding tokens: %w", err)
		}
		c.Value, c.tokens = raw, v
		if err := d.keys.sealCredential(c); err != nil {
			return nil, err
		}
		err = d.store.Update(ctx, c.Row)
		if errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		d.credentials.drop(credentialAt{c.Owner, c.Kind, c.Name})
		return c, nil
	}
	return nil, errors.New("connect: a grant is changed by others all the time")
}
