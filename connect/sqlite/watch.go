package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// unseenSQL lists the changes of others since one.
const unseenSQL = `SELECT seq, kind, id FROM parley_changes WHERE seq > ? AND origin <> ? ORDER BY seq`

// errClosed ends a Watch.
var errClosed = errors.New("sqlite: the store is closed")

// A watcher is one Watch: what this store has changed since it looked last.
type watcher struct {
	changed [][2]string
	wake    chan struct{}
}

// tell notes a change of this store for those who watch it.
func (s *Store) tell(kind, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		w.changed = append(w.changed, [2]string{kind, id})
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// Watch implements [connect.Store].
func (s *Store) Watch(ctx context.Context, changed func(kind, id string)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &watcher{wake: make(chan struct{}, 1)}
	s.mu.Lock()
	s.watchers[w] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, w)
	}()
	p := &poller{store: s}
	defer p.close()
	p.look(ctx, changed)
	tick := time.NewTicker(s.poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closed:
			return errClosed
		case <-w.wake:
			for _, c := range s.take(w) {
				changed(c[0], c[1])
			}
		case <-tick.C:
			p.look(ctx, changed)
		}
	}
}

func (s *Store) take(w *watcher) [][2]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := w.changed
	w.changed = nil
	return c
}

// A poller finds what other processes have changed. It has a connection of its own, whose data_version says that there is something.
type poller struct {
	store   *Store
	conn    *sql.Conn
	version int64
	seen    int64 // the last change that was told
}

func (p *poller) close() {
	if p.conn != nil {
		_ = p.conn.Close()
		p.conn = nil
	}
}

// look tells what others changed since the last look. When the file cannot be read, the next look that can begins anew, since something
// may have been missed.
func (p *poller) look(ctx context.Context, changed func(kind, id string)) {
	if p.conn == nil {
		if p.begin(ctx) == nil {
			changed("", "")
		}
		return
	}
	if err := p.tell(ctx, changed); err != nil {
		p.close()
	}
}

func (p *poller) begin(ctx context.Context) (err error) {
	if p.conn, err = p.store.watch.Conn(ctx); err != nil {
		p.conn = nil
		return err
	}
	// The version first: what is committed after it is looked at again.
	err = p.conn.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&p.version)
	if err == nil {
		err = p.conn.QueryRowContext(ctx, `SELECT coalesce(max(seq), 0) FROM parley_changes`).Scan(&p.seen)
	}
	if err != nil {
		p.close()
	}
	return err
}

func (p *poller) tell(ctx context.Context, changed func(kind, id string)) error {
	var version, first, last int64
	if err := p.conn.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&version); err != nil || version == p.version {
		return err
	}
	p.version = version
	if err := p.conn.QueryRowContext(ctx, `SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) FROM parley_changes`).Scan(&first, &last); err != nil {
		return err
	}
	if first > p.seen+1 { // they are no longer all there
		p.seen = last
		changed("", "")
		return nil
	}
	rows, err := p.conn.QueryContext(ctx, unseenSQL, p.seen, p.store.origin)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var kind, id string
		if err := rows.Scan(&p.seen, &kind, &id); err != nil {
			return err
		}
		changed(kind, id)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	p.seen = max(p.seen, last)
	return nil
}
