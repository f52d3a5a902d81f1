package idp

import (
	"crypto/rand"
	"maps"
	"time"
)

// maxEntries bounds every table of a provider.
const maxEntries = 10_000

// newID returns 192 random bits as text: codes, tokens, cookies, names of requests.
func newID() string { return rand.Text() + rand.Text()[:12] }

type row[V any] struct {
	value   V
	expires time.Time
}

// A table is a bounded map whose rows expire. Its provider's lock guards it.
type table[V any] struct {
	rows  map[string]row[V]
	order []string // oldest first; may name rows that are gone
}

func (t *table[V]) get(now time.Time, key string) (V, bool) {
	r, ok := t.rows[key]
	if !ok || !now.Before(r.expires) {
		var zero V
		return zero, false
	}
	return r.value, true
}

// put adds a row; the oldest makes room for it.
func (t *table[V]) put(key string, value V, expires time.Time) {
	if t.rows == nil {
		t.rows = map[string]row[V]{}
	}
	if _, ok := t.rows[key]; !ok {
		t.order = append(t.order, key)
	}
	t.rows[key] = row[V]{value, expires}
	for len(t.order) > maxEntries {
		delete(t.rows, t.order[0])
		t.order = t.order[1:]
	}
}

// take returns a row and removes it.
func (t *table[V]) take(now time.Time, key string) (V, bool) {
	v, ok := t.get(now, key)
	delete(t.rows, key)
	return v, ok
}

// drop removes the rows that match.
func (t *table[V]) drop(match func(V) bool) {
	maps.DeleteFunc(t.rows, func(_ string, r row[V]) bool { return match(r.value) })
}

// A once tells what was seen before. Unlike a table it forgets nothing before its time: when it is full it takes nothing new.
type once map[string]time.Time

// first reports whether key is new; it is remembered until expires.
func (o once) first(now time.Time, key string, expires time.Time) bool {
	if until, ok := o[key]; ok && now.Before(until) {
		return false
	}
	if len(o) >= maxEntries {
		maps.DeleteFunc(o, func(_ string, until time.Time) bool { return !now.Before(until) })
		if len(o) >= maxEntries {
			return false
		}
	}
	o[key] = expires
	return true
}
