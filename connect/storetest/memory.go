package storetest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/connect"
)

// errClosed is what a closed store answers.
var errClosed = errors.New("storetest: the store is closed")

// A Memory is a [connect.Store] in memory, for tests: nothing bounds it and nothing survives the process.
type Memory struct {
	now func() time.Time

	mu       sync.Mutex
	rows     map[rowID]*connect.Row            // by ID
	keys     map[rowID]*connect.Row            // by Key: the row that had it last
	owners   map[string]map[rowID]*connect.Row // by Owner, those that have one
	watchers map[*watcher]struct{}
	closed   chan struct{}
}

type rowID struct{ kind, id string }

// NewMemory makes an empty store with the clock of package time, which is a test's own inside testing/synctest.
func NewMemory() *Memory {
	return &Memory{now: time.Now, rows: map[rowID]*connect.Row{}, keys: map[rowID]*connect.Row{},
		owners: map[string]map[rowID]*connect.Row{}, watchers: map[*watcher]struct{}{}, closed: make(chan struct{})}
}

// Close makes every further call fail and ends every Watch. It is what a store looks like that cannot be reached.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.isClosed() {
		close(m.closed)
	}
	return nil
}

func (m *Memory) isClosed() bool {
	select {
	case <-m.closed:
		return true
	default:
		return false
	}
}

// enter locks the store for a call.
func (m *Memory) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	if m.isClosed() {
		m.mu.Unlock()
		return errClosed
	}
	return nil
}

func micros(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

func clone(r *connect.Row) *connect.Row {
	c := *r
	c.Data = bytes.Clone(r.Data)
	return &c
}

// holder finds the live row that has a key. m is locked.
func (m *Memory) holder(kind, key string, now time.Time) *connect.Row {
	if r := m.keys[rowID{kind, key}]; key != "" && r != nil && r.Live(now) {
		return r
	}
	return nil
}

// put writes a row, and tells. m is locked.
func (m *Memory) put(r *connect.Row) {
	id := rowID{r.Kind, r.ID}
	m.drop(id)
	r = clone(r)
	m.rows[id] = r
	if r.Key != "" {
		m.keys[rowID{r.Kind, r.Key}] = r
	}
	if r.Owner != "" {
		if m.owners[r.Owner] == nil {
			m.owners[r.Owner] = map[rowID]*connect.Row{}
		}
		m.owners[r.Owner][id] = r
	}
	for w := range m.watchers {
		w.changed = append(w.changed, id)
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// drop removes a row. m is locked.
func (m *Memory) drop(id rowID) {
	r := m.rows[id]
	if r == nil {
		return
	}
	delete(m.rows, id)
	if key := (rowID{r.Kind, r.Key}); m.keys[key] == r {
		delete(m.keys, key)
	}
	if own := m.owners[r.Owner]; own != nil {
		delete(own, id)
		if len(own) == 0 {
			delete(m.owners, r.Owner)
		}
	}
}

// Insert implements [connect.Store].
func (m *Memory) Insert(ctx context.Context, r *connect.Row) (*connect.Row, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	now := m.now()
	id := rowID{r.Kind, r.ID}
	if have := m.rows[id]; have != nil && have.Live(now) {
		return clone(have), nil
	}
	if have := m.holder(r.Kind, r.Key, now); have != nil {
		return clone(have), nil
	}
	r.Version, r.Created = 1, micros(now)
	r.Updated, r.Expires = r.Created, micros(r.Expires)
	m.put(r)
	return nil, nil
}

// Update implements [connect.Store].
func (m *Memory) Update(ctx context.Context, r *connect.Row) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	now := m.now()
	id := rowID{r.Kind, r.ID}
	have := m.rows[id]
	if have == nil || !have.Live(now) {
		return connect.ErrNotFound
	}
	if have.Version != r.Version {
		return connect.ErrConflict
	}
	if other := m.holder(r.Kind, r.Key, now); other != nil && other != have {
		return connect.ErrConflict
	}
	r.Version++
	r.Created, r.Updated, r.Expires = have.Created, micros(now), micros(r.Expires)
	m.put(r)
	return nil
}

// Get implements [connect.Store].
func (m *Memory) Get(ctx context.Context, kind, id string) (*connect.Row, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	r := m.rows[rowID{kind, id}]
	if r == nil || !r.Live(m.now()) {
		return nil, connect.ErrNotFound
	}
	return clone(r), nil
}

// Find implements [connect.Store].
func (m *Memory) Find(ctx context.Context, q *connect.Query) ([]*connect.Row, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	now := m.now()
	var found []*connect.Row
	for _, r := range m.candidates(q) {
		if r.Live(now) && matches(q, r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, newestFirst)
	found = found[:min(len(found), q.Rows())]
	for i, r := range found {
		found[i] = clone(r)
	}
	return found, nil
}

// candidates are the rows that may match, by an index where there is one, as databases have it. m is locked.
func (m *Memory) candidates(q *connect.Query) map[rowID]*connect.Row {
	switch {
	case q.Kind != "" && q.Key != "":
		if r := m.keys[rowID{q.Kind, q.Key}]; r != nil {
			return map[rowID]*connect.Row{{r.Kind, r.ID}: r}
		}
		return nil
	case q.Owner != "":
		return m.owners[q.Owner]
	}
	return m.rows
}

func matches(q *connect.Query, r *connect.Row) bool {
	return (q.Kind == "" || q.Kind == r.Kind) && (q.Owner == "" || q.Owner == r.Owner) && (q.Key == "" || q.Key == r.Key) &&
		(q.Status == "" || q.Status == r.Status) && (q.After == nil || newestFirst(q.After, r) < 0)
}

func newestFirst(a, b *connect.Row) int {
	return cmp.Or(micros(b.Created).Compare(micros(a.Created)), cmp.Compare(b.ID, a.ID), cmp.Compare(b.Kind, a.Kind))
}

// Prune implements [connect.Store].
func (m *Memory) Prune(ctx context.Context, limit int) (int, error) {
	if err := m.enter(ctx); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	if limit <= 0 {
		limit = 1000
	}
	now, n := m.now(), 0
	for id, r := range m.rows {
		if n < limit && !r.Live(now) {
			m.drop(id)
			n++
		}
	}
	return n, nil
}

// A watcher is one Watch: what changed since it looked last.
type watcher struct {
	changed []rowID
	wake    chan struct{}
}

// Watch implements [connect.Store].
func (m *Memory) Watch(ctx context.Context, changed func(kind, id string)) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	w := &watcher{wake: make(chan struct{}, 1)}
	m.watchers[w] = struct{}{}
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.watchers, w)
	}()
	changed("", "")
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.closed:
			return errClosed
		case <-w.wake:
		}
		m.mu.Lock()
		ids := w.changed
		w.changed = nil
		m.mu.Unlock()
		for _, id := range ids {
			changed(id.kind, id.id)
		}
	}
}
