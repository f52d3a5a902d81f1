package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed38e7925c/parley/connect"
)

const (
	selectSQL = `SELECT kind, id, owner, key, status, version, created, updated, expires, data FROM parley_rows`
	insertSQL = `INSERT INTO parley_rows (kind, id, owner, key, status, version, created, updated, expires, data)
		VALUES ($1, $2, $3, $4, $5, 1, $6, $6, $7, $8) ON CONFLICT DO NOTHING`
	updateSQL = `UPDATE parley_rows SET owner = $1, key = $2, status = $3, version = version + 1, updated = $4, expires = $5, data = $6
		WHERE kind = $7 AND id = $8 AND version = $9 AND expires > $4`
	getSQL     = selectSQL + ` WHERE kind = $1 AND id = $2 AND expires > $3`
	byKeySQL   = selectSQL + ` WHERE kind = $1 AND key = $2 AND key <> '' AND expires > $3`
	expiredSQL = `DELETE FROM parley_rows WHERE kind = $1 AND (id = $2 OR (key = $3 AND key <> '')) AND expires <= $4`
	// Rows that another one is removing are left to it.
	pruneSQL = `DELETE FROM parley_rows WHERE (kind, id) IN
		(SELECT kind, id FROM parley_rows WHERE expires <= $1 ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED)`
)

// attempts bounds how often a step begins anew because others changed what it found.
const attempts = 100

// stamp is a time as the store keeps it.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// expires is the column of an Expires.
func expires(t time.Time) pgtype.Timestamptz {
	if t.IsZero() {
		return pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	}
	return pgtype.Timestamptz{Time: stamp(t), Valid: true}
}

func zeroOrStamp(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return stamp(t)
}

// Insert implements [connect.Store].
func (s *Store) Insert(ctx context.Context, r *connect.Row) (*connect.Row, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	for range attempts {
		now := stamp(s.now())
		n, err := s.exec(ctx, "insert", insertSQL, r.Kind, r.ID, r.Owner, r.Key, r.Status, now, expires(r.Expires), blob(r.Data))
		if err != nil {
			return nil, err
		}
		if n == 1 {
			r.Version, r.Created, r.Updated, r.Expires = 1, now, now, zeroOrStamp(r.Expires)
			return nil, nil
		}
		existing, err := s.holder(ctx, r, now)
		if err != nil || existing != nil {
			return existing, err
		}
		if _, err := s.exec(ctx, "insert", expiredSQL, r.Kind, r.ID, r.Key, now); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("postgres: insert: the row changed faster than it could be read")
}

// holder is the live row that stands in the way of another one.
func (s *Store) holder(ctx context.Context, r *connect.Row, now time.Time) (*connect.Row, error) {
	existing, err := s.one(ctx, getSQL, r.Kind, r.ID, now)
	if errors.Is(err, connect.ErrNotFound) {
		existing, err = s.one(ctx, byKeySQL, r.Kind, r.Key, now)
	}
	if errors.Is(err, connect.ErrNotFound) {
		return nil, nil
	}
	return existing, err
}

// Update implements [connect.Store].
func (s *Store) Update(ctx context.Context, r *connect.Row) error {
	if err := r.Validate(); err != nil {
		return err
	}
	for range attempts {
		now := stamp(s.now())
		n, err := s.exec(ctx, "update", updateSQL, r.Owner, r.Key, r.Status, now, expires(r.Expires), blob(r.Data), r.Kind, r.ID, r.Version)
		if isUnique(err) {
			if err := s.freeKey(ctx, r, now); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return s.whyNot(ctx, r, now)
		}
		r.Version++
		r.Updated, r.Expires = now, zeroOrStamp(r.Expires)
		return nil
	}
	return errors.New("postgres: update: the row changed faster than it could be read")
}

// freeKey removes an expired row that still has the key of r. A live one is a conflict.
func (s *Store) freeKey(ctx context.Context, r *connect.Row, now time.Time) error {
	other, err := s.one(ctx, byKeySQL, r.Kind, r.Key, now)
	if err == nil && other.ID != r.ID {
		return connect.ErrConflict
	}
	if err != nil && !errors.Is(err, connect.ErrNotFound) {
		return err
	}
	_, err = s.exec(ctx, "update", expiredSQL, r.Kind, "", r.Key, now)
	return err
}

// whyNot says why an update found nothing to write.
func (s *Store) whyNot(ctx context.Context, r *connect.Row, now time.Time) error {
	if _, err := s.one(ctx, getSQL, r.Kind, r.ID, now); err != nil {
		return err
	}
	return connect.ErrConflict
}

// Get implements [connect.Store].
func (s *Store) Get(ctx context.Context, kind, id string) (*connect.Row, error) {
	if strings.ContainsRune(kind+id, 0) {
		return nil, connect.ErrNotFound
	}
	return s.one(ctx, getSQL, kind, id, stamp(s.now()))
}

func (s *Store) one(ctx context.Context, text string, args ...any) (*connect.Row, error) {
	found, err := s.rows(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, connect.ErrNotFound
	}
	return found[0], nil
}

// Find implements [connect.Store].
func (s *Store) Find(ctx context.Context, q *connect.Query) ([]*connect.Row, error) {
	where, args := []string{"expires > $1"}, []any{stamp(s.now())}
	for _, c := range [...][2]string{{"kind", q.Kind}, {"owner", q.Owner}, {"key", q.Key}, {"status", q.Status}} {
		if c[1] != "" {
			args = append(args, c[1])
			where = append(where, fmt.Sprintf("%s = $%d", c[0], len(args)))
		}
	}
	if a := q.After; a != nil {
		n := len(args)
		args = append(args, stamp(a.Created), a.ID, a.Kind)
		where = append(where, fmt.Sprintf("(created, id, kind) < ($%d, $%d, $%d)", n+1, n+2, n+3))
	}
	text := fmt.Sprintf("%s WHERE %s ORDER BY created DESC, id DESC, kind DESC LIMIT %d", selectSQL, strings.Join(where, " AND "), q.Rows())
	return s.rows(ctx, text, args...)
}

// Prune implements [connect.Store].
func (s *Store) Prune(ctx context.Context, limit int) (int, error) {
	if limit <= 0 {
		limit = 1000
	}
	return s.exec(ctx, "prune", pruneSQL, stamp(s.now()), limit)
}

// rows reads, and reads again when the connection turns out to be lost.
func (s *Store) rows(ctx context.Context, text string, args ...any) (found []*connect.Row, err error) {
	for range 2 {
		var rows pgx.Rows
		if rows, err = s.pool.Query(ctx, text, args...); err == nil {
			found, err = pgx.CollectRows(rows, scan)
		}
		if !s.lost(ctx, err) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("postgres: read: %w", err)
	}
	return found, nil
}

// exec writes, and writes again when the connection turns out to be lost before the database can have seen anything of it.
func (s *Store) exec(ctx context.Context, step, text string, args ...any) (int, error) {
	for again := true; ; again = false {
		tag, err := s.pool.Exec(ctx, text, args...)
		if err == nil {
			return int(tag.RowsAffected()), nil
		}
		if !s.lost(ctx, err) || !pgconn.SafeToRetry(err) || !again {
			return 0, fmt.Errorf("postgres: %s: %w", step, err)
		}
	}
}

// lost reports whether an error means that the connection is gone, and then gives up all others that are idle: when the database was
// restarted, they are gone too.
func (s *Store) lost(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	var e *pgconn.PgError
	if errors.As(err, &e) && !strings.HasPrefix(e.Code, "57P") && !strings.HasPrefix(e.Code, "08") {
		return false
	}
	s.pool.Reset()
	return true
}

func scan(from pgx.CollectableRow) (*connect.Row, error) {
	var r connect.Row
	var ends pgtype.Timestamptz
	err := from.Scan(&r.Kind, &r.ID, &r.Owner, &r.Key, &r.Status, &r.Version, &r.Created, &r.Updated, &ends, &r.Data)
	r.Created, r.Updated = r.Created.UTC(), r.Updated.UTC()
	if ends.InfinityModifier == pgtype.Finite {
		r.Expires = ends.Time.UTC()
	}
	return &r, err
}

// blob is data for a column that is never NULL.
func blob(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

func isUnique(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "23505"
}
