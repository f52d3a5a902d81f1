package connect

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Vault is what desks keep in a store, for whoever operates them: a command, a job. It serves no pages, and may be used while desks
// are. It never shows a secret. Its methods may be called concurrently.
type Vault struct {
	store Store
	keys  *Keys
	audit auditor
}

// OpenVault opens the vault of a store. What it does is remembered for people's activity pages as long as desks do by default.
func OpenVault(store Store, keys *Keys) (*Vault, error) {
	if store == nil {
		return nil, errors.New("connect: a vault needs a store")
	}
	if _, err := keys.ring(); err != nil {
		return nil, err
	}
	return &Vault{store, keys, auditor{store, keys, defaultAuditRetention}}, nil
}

// A Stored is a secret or a grant in a vault, without what is secret of it.
type Stored struct {
	ID       string
	Owner    string // a digest of the person; [Person.Owner] compares
	Kind     string // "secret" or "grant"
	Name     string
	Account  string // at the provider, as it calls it
	Scopes   []string
	Tools    []string
	Since    time.Time
	LastUsed time.Time // to the minute; zero: never
	Valid    bool      // false when the provider no longer honours it
}

// Owner is the digest under which what belongs to the person is stored.
func (p Person) Owner() string { return p.owner() }

// List calls fn for what is stored for a person, or for everybody with nil, newest first, until it returns an error, which List returns.
func (v *Vault) List(ctx context.Context, of *Person, fn func(*Stored) error) error {
	q := &Query{Kind: rowCredential}
	if of != nil {
		q.Owner = of.owner()
	}
	return v.each(ctx, q, func(r *Row) error {
		if r.Status == statusRevoked {
			return nil
		}
		c, err := v.keys.openCredential(r)
		if err != nil {
			return err
		}
		return fn(&Stored{
			ID: c.ID, Owner: c.Owner, Kind: string(c.Kind), Name: c.Name, Account: c.Label, Scopes: c.Scopes, Tools: c.Tools,
			Since: c.Since, LastUsed: c.Used, Valid: r.Status == statusActive,
		})
	})
}

// each calls fn for every row of a query.
func (v *Vault) each(ctx context.Context, q *Query, fn func(*Row) error) error {
	page := *q
	page.Limit = maxFindLimit
	for {
		rows, err := v.store.Find(ctx, &page)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := fn(r); err != nil {
				return err
			}
		}
		if len(rows) < maxFindLimit {
			return nil
		}
		page.After = rows[len(rows)-1]
	}
}

// errKeep is returned by a change that leaves a row as it is.
var errKeep = errors.New("connect: nothing to change")

// change changes a row by conditional updates until one counts. change leaves the row as it is with errKeep.
func (v *Vault) change(ctx context.Context, r *Row, change func(r *Row) error) error {
	for range maxSteps {
		err := change(r)
		if errors.Is(err, errKeep) {
			return nil
		}
		if err != nil {
			return err
		}
		if err = v.store.Update(ctx, r); !errors.Is(err, ErrConflict) {
			return err
		}
		if r, err = v.store.Get(ctx, r.Kind, r.ID); err != nil {
			return err
		}
	}
	return fmt.Errorf("connect: row %s of kind %q is changed by others all the time: %w", r.ID, r.Kind, ErrConflict)
}

// Revoke removes what is stored under an id, on every replica within a second; ErrNotFound when there is nothing. The provider of a grant
// is not told, since a vault knows none: a person who removes it on their page has it told.
func (v *Vault) Revoke(ctx context.Context, id string) error {
	r, err := v.store.Get(ctx, rowCredential, id)
	if err != nil {
		return err
	}
	var gone *credential
	err = v.change(ctx, r, func(r *Row) error {
		if r.Status == statusRevoked {
			return ErrNotFound
		}
		c, err := v.keys.openCredential(r)
		if err != nil {
			return err
		}
		c.Value, c.Label, c.Scopes = nil, "", nil
		r.Status, r.Expires = statusRevoked, time.Now().Add(keepRevoked)
		gone = c
		return v.keys.sealCredential(c)
	})
	if err != nil {
		return err
	}
	return v.audit.write(ctx, gone.Owner, "", &auditData{Event: eventRevoked, About: id, Kind: gone.Kind, Name: gone.Name})
}

// Reseal seals everything under the primary key, and returns how much it was. It can be interrupted at any time and begun again: what is
// done stays done. Something that cannot be opened is left as it is, the rest is done, and the error says so.
func (v *Vault) Reseal(ctx context.Context) (done int, err error) {
	ring, err := v.keys.ring()
	if err != nil {
		return 0, err
	}
	var damaged []error
	err = v.each(ctx, &Query{}, func(r *Row) error {
		changed := false
		err := v.change(ctx, r, func(r *Row) error {
			fresh, err := ring.Fresh(r.Data)
			if err != nil || fresh || len(r.Data) == 0 {
				return errors.Join(err, errKeep)
			}
			plain, err := v.keys.open(r)
			if err != nil {
				return &damagedError{err}
			}
			changed = true
			return v.keys.seal(r, plain)
		})
		var bad *damagedError
		switch {
		case errors.As(err, &bad):
			damaged = append(damaged, bad.error)
			return nil
		case errors.Is(err, ErrNotFound): // it has expired
			return nil
		case err == nil && changed:
			done++
		}
		return err
	})
	return done, errors.Join(append([]error{err}, shortened(damaged)...)...)
}

// damagedError is about one row, not about the store.
type damagedError struct{ error }

// shortened is the beginning of many errors.
func shortened(errs []error) []error {
	const most = 10
	if len(errs) <= most {
		return errs
	}
	return append(errs[:most:most], fmt.Errorf("connect: and %d more", len(errs)-most))
}

// settleTime is what replicas get to notice a key file that was changed.
const settleTime = 2 * time.Second

// Rotate changes the keys: a new one seals, everything is sealed under it, and then the old ones are dropped, so that a stolen copy of
// them opens nothing that the store has from then on. It returns how much was sealed anew. Interrupted, it leaves everything readable;
// Rotate begins with another new key, and Reseal goes on with this one. It is for replicas that share the key file; where machines have
// copies of it, see [Keys.Add].
func (v *Vault) Rotate(ctx context.Context) (resealed int, err error) {
	if _, err := v.keys.Rotate(ctx); err != nil {
		return 0, err
	}
	// What a replica seals with the old key until it notices is found by another round.
	for {
		pause(ctx, settleTime)
		if err := ctx.Err(); err != nil {
			return resealed, err
		}
		n, err := v.Reseal(ctx)
		resealed += n
		if err != nil {
			return resealed, err
		}
		if n == 0 {
			break
		}
	}
	keys, err := v.keys.List()
	if err != nil {
		return resealed, err
	}
	for _, k := range keys {
		if !k.Primary {
			if err := v.keys.Drop(ctx, k.ID); err != nil {
				return resealed, err
			}
		}
	}
	return resealed, nil
}

// eventRebound is the audit's name of a move.
const eventRebound = "rebound"

// Rebind moves what is stored for one person to another, since the same human being has got another identity: a new issuer, a new subject.
// Both find it in their activity. What the other person has already of a kind and name stays, and so does the one that cannot be moved
// then; kept counts those. It can be interrupted and begun again. Nothing checks that the two are the same human being: that is
// the operator's word.
func (v *Vault) Rebind(ctx context.Context, from, to Person) (moved, kept int, err error) {
	if from == to || to.Issuer == "" || to.Subject == "" {
		return 0, 0, errors.New("connect: what is stored moves from one person to another one, who has an issuer and a subject")
	}
	err = v.each(ctx, &Query{Kind: rowCredential, Owner: from.owner()}, func(r *Row) error {
		if r.Status == statusRevoked {
			return nil
		}
		c, err := v.rebind(ctx, r, from, to)
		switch {
		case errors.Is(err, ErrNotFound): // it was moved or removed meanwhile
			return nil
		case err != nil:
			return err
		case c == nil:
			kept++
			return nil
		}
		moved++
		entry := &auditData{Event: eventRebound, About: c.ID, Kind: c.Kind, Name: c.Name}
		return errors.Join(v.audit.write(ctx, from.owner(), "", entry), v.audit.write(ctx, to.owner(), "", entry))
	})
	return moved, kept, err
}

// rebind moves one credential; nil when the other person has one.
func (v *Vault) rebind(ctx context.Context, r *Row, from, to Person) (moved *credential, err error) {
	err = v.change(ctx, r, func(r *Row) error {
		moved = nil
		if r.Owner != from.owner() {
			return ErrNotFound
		}
		c, err := v.keys.openCredential(r)
		if err != nil {
			return err
		}
		key := credentialKey(to.owner(), c.Kind, c.Name)
		taken, err := v.store.Find(ctx, &Query{Kind: rowCredential, Key: key, Limit: 1})
		if err != nil {
			return err
		}
		if len(taken) > 0 && taken[0].Status != statusRevoked {
			return errKeep
		}
		if len(taken) > 0 { // what is remembered of one that was removed makes room
			taken[0].Expires, taken[0].Data = time.Now().Add(-time.Hour), nil
			if err := v.store.Update(ctx, taken[0]); err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		r.Owner, r.Key = to.owner(), key
		moved = c
		return v.keys.sealCredential(c)
	})
	return moved, err
}

// Prune removes what has expired, and returns how many rows that was. Desks do so by themselves.
func (v *Vault) Prune(ctx context.Context) (int, error) {
	const batch = 1000
	for total := 0; ; {
		n, err := v.store.Prune(ctx, batch)
		total += n
		if err != nil || n < batch {
			return total, err
		}
	}
}
