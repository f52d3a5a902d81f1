package connect

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"
)

// The statuses of a credential.
const (
	statusActive  = "active"
	statusRevoked = "revoked"
)

// keepRevoked is how long it is remembered that a credential was removed, so that what is late does not bring it back.
const keepRevoked = 24 * time.Hour

// A credential is what a person has handed over for one name: a secret, or the tokens of a grant.
type credential struct {
	ID    string `json:"-"`
	Owner string `json:"-"`
	Row   *Row   `json:"-"`

	Kind   interactionKind `json:"kind"`
	Name   string          `json:"name"`
	From   string          `json:"from"` // the interaction that has brought it
	Since  time.Time       `json:"since"`
	Used   time.Time       `json:"used,omitzero"`
	Label  string          `json:"label,omitzero"` // the account at the provider
	Scopes []string        `json:"scopes,omitzero"`
	Tools  []string        `json:"tools,omitzero"`
	Value  json.RawMessage `json:"value,omitzero"` // the kind's own; empty once it is revoked

	tokens *grantValue // the value of a grant, read: what is cached is not read for each call
}

// credentialKey names a credential: one for each person and name.
func credentialKey(owner string, kind interactionKind, name string) string {
	return digest("credential", owner, string(kind), name)
}

// openCredential opens a row.
func (k *Keys) openCredential(row *Row) (*credential, error) {
	c := &credential{ID: row.ID, Owner: row.Owner, Row: row}
	if err := k.openJSON(row, c); err != nil {
		return nil, err
	}
	return c, nil
}

// readCredential opens a row, and reads the tokens of a grant.
func (d *Desk) readCredential(row *Row) (*credential, error) {
	c, err := d.keys.openCredential(row)
	if err != nil {
		return nil, err
	}
	if c.Kind == kindGrant {
		if c.tokens, err = readGrantValue(c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// sealCredential seals a credential into its row.
func (k *Keys) sealCredential(c *credential) error { return k.sealJSON(c.Row, c) }

// findCredential reads a credential from the store, a revoked one too; nil when there is none.
func (d *Desk) findCredential(ctx context.Context, key string) (*credential, error) {
	rows, err := d.store.Find(ctx, &Query{Kind: rowCredential, Key: key, Limit: 1})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return d.readCredential(rows[0])
}

// loadCredential returns a credential, nil when there is none, or it was revoked. Unless it has to be fresh, it is as it was a second
// ago at most. It is shared, and must not be changed.
func (d *Desk) loadCredential(ctx context.Context, owner string, kind interactionKind, name string, fresh bool) (*credential, error) {
	at := credentialAt{owner, kind, name}
	if !fresh {
		if c := d.credentials.get(at); c != nil {
			return c, nil
		}
	}
	read := time.Now()
	c, err := d.findCredential(ctx, credentialKey(owner, kind, name))
	if err != nil || c == nil || c.Row.Status == statusRevoked {
		d.credentials.drop(at)
		return nil, err
	}
	d.credentials.put(at, c, read)
	d.touch(c)
	return c, nil
}

// putCredential stores what an interaction has brought. It does nothing when that was done before, or when what is there is newer.
func (d *Desk) putCredential(ctx context.Context, c *credential) error {
	key := credentialKey(c.Owner, c.Kind, c.Name)
	for range maxSteps {
		have, err := d.findCredential(ctx, key)
		if err != nil {
			return err
		}
		next := *c
		if have != nil {
			if have.From == c.From || !have.Since.Before(c.Since) {
				return nil
			}
			next.Row = have.Row
			next.Tools = union(have.Tools, c.Tools)
			next.Row.Status, next.Row.Expires = statusActive, time.Time{}
		} else {
			next.Row = &Row{Kind: rowCredential, ID: randomID(), Owner: c.Owner, Key: key, Status: statusActive}
		}
		if err := d.keys.sealCredential(&next); err != nil {
			return err
		}
		if have != nil {
			err = d.store.Update(ctx, next.Row)
		} else {
			var existing *Row
			if existing, err = d.store.Insert(ctx, next.Row); existing != nil {
				continue
			}
		}
		if errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
			continue
		}
		if err == nil {
			d.credentials.drop(credentialAt{c.Owner, c.Kind, c.Name})
		}
		return err
	}
	return errors.New("connect: a credential is changed by others all the time")
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	return all
}

// listCredentials returns what is stored for a person, newest first.
func (d *Desk) listCredentials(ctx context.Context, owner string) ([]*credential, error) {
	var list []*credential
	query := &Query{Kind: rowCredential, Owner: owner, Limit: maxFindLimit}
	for {
		rows, err := d.store.Find(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if row.Status == statusRevoked {
				continue
			}
			c, err := d.readCredential(row)
			if err != nil {
				return nil, err
			}
			list = append(list, c)
		}
		if len(rows) < maxFindLimit {
			return list, nil
		}
		query.After = rows[len(rows)-1]
	}
}

// revokeCredential removes a credential of a person; ErrNotFound when they have none of that id. What is secret of it is gone with the
// update.
func (d *Desk) revokeCredential(ctx context.Context, owner, id string) error {
	return d.revokeIf(ctx, owner, id, func(*credential) bool { return true })
}

// revokeIf is revokeCredential for one that is still as its caller believes.
func (d *Desk) revokeIf(ctx context.Context, owner, id string, still func(*credential) bool) error {
	for range maxSteps {
		row, err := d.store.Get(ctx, rowCredential, id)
		if err != nil {
			return err
		}
		if row.Owner != owner || row.Status == statusRevoked {
			return ErrNotFound
		}
		c, err := d.readCredential(row)
		if err != nil {
			return err
		}
		if !still(c) {
			return nil
		}
		c.Value, c.Label, c.Scopes = nil, "", nil
		c.Row.Status, c.Row.Expires = statusRevoked, time.Now().Add(keepRevoked)
		if err := d.keys.sealCredential(c); err != nil {
			return err
		}
		err = d.store.Update(ctx, c.Row)
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err == nil {
			d.credentials.drop(credentialAt{owner, c.Kind, c.Name})
			d.auditCredential(ctx, eventRevoked, c)
		}
		return err
	}
	return errors.New("connect: a credential is changed by others all the time")
}

// touchInterval is how often the last use of a credential is written down.
const touchInterval = time.Minute

// touch notes that a credential is used. It is not worth failing for.
func (d *Desk) touch(c *credential) {
	now := time.Now()
	if now.Sub(c.Used) < touchInterval {
		return
	}
	used := *c
	row := *c.Row
	used.Row, used.Used = &row, now
	d.spawn(func() {
		ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
		defer cancel()
		err := d.keys.sealCredential(&used)
		if err == nil {
			err = d.store.Update(ctx, used.Row)
		}
		if err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) {
			d.log.Warn("connect: the use of a credential could not be noted", "error", err)
		}
	})
}

// credentialAt is where a credential stands in the cache.
type credentialAt struct {
	owner string
	kind  interactionKind
	name  string
}

// Bounds of the cache of opened credentials.
const (
	credentialAge  = time.Second // a revocation by another replica is honoured after that at the latest
	maxCredentials = 10_000
)

// A credentialCache keeps opened credentials for a moment.
type credentialCache struct {
	mu  sync.RWMutex
	all map[credentialAt]cachedCredential
}

type cachedCredential struct {
	c    *credential
	read time.Time
}

func newCredentialCache() *credentialCache {
	return &credentialCache{all: make(map[credentialAt]cachedCredential)}
}

func (cc *credentialCache) get(at credentialAt) *credential {
	cc.mu.RLock()
	defer cc.mu.RUnlock()
	if e, ok := cc.all[at]; ok && time.Since(e.read) < credentialAge {
		return e.c
	}
	return nil
}

func (cc *credentialCache) put(at credentialAt, c *credential, read time.Time) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if len(cc.all) >= maxCredentials {
		clear(cc.all)
	}
	cc.all[at] = cachedCredential{c, read}
}

func (cc *credentialCache) drop(at credentialAt) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	delete(cc.all, at)
}

// evict drops the credential with an id: somebody has changed it.
func (cc *credentialCache) evict(id string) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	for at, e := range cc.all {
		if e.c.ID == id {
			delete(cc.all, at)
		}
	}
}

func (cc *credentialCache) clear() {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	clear(cc.all)
}

// currentID names the credential that a person has now, empty when there is none. One that takes the place of another, with another
// account perhaps, has its row and not its name; a renewal by the provider keeps the name.
func (d *Desk) currentID(ctx context.Context, owner string, kind interactionKind, name string) (string, error) {
	c, err := d.loadCredential(ctx, owner, kind, name, false)
	if err != nil || c == nil {
		return "", err
	}
	return c.ID + "/" + c.From, nil
}
