package connect

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// A browserSession is a browser that somebody has signed in at. The ID of its row is the digest of the cookie's value, so that the store
// does not hold what would open a session.
type browserSession struct {
	id   string
	row  *Row
	data sessionData
}

// sessionData is the sealed part of the row.
type sessionData struct {
	Person   Person    `json:"person"`
	Name     string    `json:"name,omitzero"` // to show
	SignedIn time.Time `json:"signedIn"`      // when the person proved to the issuer who they are
}

// cookieName is the name of a cookie of the desk. Over TLS nobody but this very host can set one of that name.
func (d *Desk) cookieName(what string) string {
	if d.base.Scheme == "https" {
		return "__Host-parley-" + what
	}
	return "parley-" + what + "-" + d.base.Port() // hosts share cookies between their ports
}

// setCookie sets a cookie of the desk until a time, or removes it when that has passed. Scripts cannot read it, and other sites cannot
// have it sent with their forms.
func (d *Desk) setCookie(w http.ResponseWriter, name, value string, until time.Time) {
	c := &http.Cookie{
		Name: name, Value: value, Path: "/", Expires: until, MaxAge: int(time.Until(until).Seconds()),
		HttpOnly: true, Secure: d.base.Scheme == "https", SameSite: http.SameSiteLaxMode,
	}
	if !c.Secure {
		c.Path = d.base.Path // __Host- cookies must have the root
	}
	if c.MaxAge <= 0 {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// randomCookie returns 256 random bits as text, and the digest under which the store knows them.
func randomCookie() (value, id string) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails: it ends the program rather than return weak bytes
	value = encodeText(b[:])
	return value, cookieID(value)
}

// cookieID is the digest of a cookie's value.
func cookieID(value string) string {
	sum := sha256.Sum256([]byte(value))
	return encodeText(sum[:])
}

// sessionOf returns the session of a browser, nil when there is none.
func (d *Desk) sessionOf(r *http.Request) (*browserSession, error) {
	c, err := r.Cookie(d.cookieName("session"))
	if err != nil || c.Value == "" {
		return nil, nil //nolint:nilerr // no cookie is no session
	}
	row, err := d.store.Get(r.Context(), rowSession, cookieID(c.Value))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &browserSession{id: row.ID, row: row}
	if err := d.keys.openJSON(row, &s.data); err != nil {
		return nil, err
	}
	if s.data.Person.owner() != row.Owner {
		return nil, fmt.Errorf("connect: session row %s is not its owner's", row.ID)
	}
	return s, nil
}

// startSession signs somebody in at a browser. The session is a new one, whatever cookie the browser had: one that was planted there
// stays worthless.
func (d *Desk) startSession(w http.ResponseWriter, r *http.Request, data *sessionData, lifetime time.Duration) error {
	if err := d.endSession(w, r); err != nil {
		return err
	}
	value, id := randomCookie()
	until := time.Now().Add(lifetime)
	row := &Row{Kind: rowSession, ID: id, Owner: data.Person.owner(), Expires: until}
	if err := d.keys.sealJSON(row, data); err != nil {
		return err
	}
	if existing, err := d.store.Insert(r.Context(), row); err != nil || existing != nil {
		return errors.Join(err, errIf(existing != nil, "connect: a session of that name exists"))
	}
	d.setCookie(w, d.cookieName("session"), value, until)
	return nil
}

// errIf is an error where there is one.
func errIf(is bool, text string) error {
	if is {
		return errors.New(text)
	}
	return nil
}

// endSession signs out whoever has signed in at a browser. The row goes first: a copy of the cookie opens nothing afterwards.
func (d *Desk) endSession(w http.ResponseWriter, r *http.Request) error {
	s, err := d.sessionOf(r)
	if err != nil {
		return err
	}
	if s != nil {
		ctx, cancel := d.commit(r.Context())
		defer cancel()
		if err := d.expire(ctx, s.row); err != nil {
			return err
		}
	}
	d.setCookie(w, d.cookieName("session"), "", time.Time{})
	return nil
}

// expire makes a row be gone, and what was in it.
func (d *Desk) expire(ctx context.Context, row *Row) error {
	row.Data, row.Expires = nil, time.Now().Add(-time.Second)
	if err := d.store.Update(ctx, row); err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrConflict) {
		return err
	}
	return nil
}
