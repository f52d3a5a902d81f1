package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/seed38e7925c/parley/connect"
)

const (
	selectSQL = `SELECT kind, id, owner, key, status, version, created, updated, expires, data FROM parley_rows`
	insertSQL = `INSERT INTO parley_rows (kind, id, owner, key, status, version, created, updated, expires, origin, data)
		VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	updateSQL = `UPDATE parley_rows SET owner = ?, key = ?, status = ?, version = version + 1, updated = ?, expires = ?, origin = ?, data = ?
		WHERE kind = ? AND id = ? AND version = ? AND expires > ?`
	expiredSQL = `DELETE FROM parley_rows WHERE kind = ? AND (id = ? OR (key = ? AND key <> '')) AND expires <= ?`
	pruneSQL   = `DELETE FROM parley_rows WHERE rowid IN (SELECT rowid FROM parley_rows WHERE expires <= ? LIMIT ?)`
)

// attempts bounds how often a step begins anew because others changed what it found.
const attempts = 100

// never is the Expires of a row that has none.
const never = math.MaxInt64

func micros(t time.Time) int64 {
	if t.IsZero() {
		return never
	}
	return t.UnixMicro()
}

func timeOf(micros int64) time.Time {
	if micros == never {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// Insert implements [connect.Store].
func (s *Store) Insert(ctx context.Context, r *connect.Row) (*connect.Row, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	for range attempts {
		now := s.now().UnixMicro()
		result, err := s.insert.ExecContext(ctx, r.Kind, r.ID, r.Owner, r.Key, r.Status, now, now, micros(r.Expires), s.origin, blob(r.Data))
		if err != nil {
			return nil, failed("insert", err)
		}
		n, err := result.RowsAffected()
		if err != nil {
			return nil, failed("insert", err)
		}
		if n == 1 {
			r.Version, r.Created, r.Updated, r.Expires = 1, timeOf(now), timeOf(now), timeOf(micros(r.Expires))
			s.tell(r.Kind, r.ID)
			return nil, nil
		}
		existing, err := s.holder(ctx, r, now)
		if err != nil || existing != nil {
			return existing, err
		}
		if _, err := s.write.ExecContext(ctx, expiredSQL, r.Kind, r.ID, r.Key, now); err != nil {
			return nil, failed("insert", err)
		}
	}
	return nil, errors.New("sqlite: insert: the row changed faster than it could be read")
}

// holder is the live row that stands in the way of another one.
func (s *Store) holder(ctx context.Context, r *connect.Row, now int64) (*connect.Row, error) {
	existing, err := one(s.get.QueryRowContext(ctx, r.Kind, r.ID, now))
	if errors.Is(err, connect.ErrNotFound) {
		existing, err = one(s.byKey.QueryRowContext(ctx, r.Kind, r.Key, now))
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
		now := s.now().UnixMicro()
		result, err := s.update.ExecContext(ctx, r.Owner, r.Key, r.Status, now, micros(r.Expires), s.origin, blob(r.Data), r.Kind, r.ID, r.Version, now)
		if isUnique(err) {
			err = s.freeKey(ctx, r, now)
			if err == nil {
				continue
			}
			return err
		}
		if err != nil {
			return failed("update", err)
		}
		n, err := result.RowsAffected()
		if err != nil {
			return failed("update", err)
		}
		if n == 0 {
			return s.whyNot(ctx, r, now)
		}
		r.Version++
		r.Updated, r.Expires = timeOf(now), timeOf(micros(r.Expires))
		s.tell(r.Kind, r.ID)
		return nil
	}
	return errors.New("sqlite: update: the row changed faster than it could be read")
}

// freeKey removes an expired row that still has the key of r. A live one is a conflict.
func (s *Store) freeKey(ctx context.Context, r *connect.Row, now int64) error {
	other, err := one(s.byKey.QueryRowContext(ctx, r.Kind, r.Key, now))
	if err == nil && other.ID != r.ID {
		return connect.ErrConflict
	}
	if err != nil && !errors.Is(err, connect.ErrNotFound) {
		return err
	}
	if _, err := s.write.ExecContext(ctx, expiredSQL, r.Kind, "", r.Key, now); err != nil {
		return failed("update", err)
	}
	return nil
}

// whyNot says why an update found nothing to write.
func (s *Store) whyNot(ctx context.Context, r *connect.Row, now int64) error {
	if _, err := one(s.get.QueryRowContext(ctx, r.Kind, r.ID, now)); err != nil {
		return err
	}
	return connect.ErrConflict
}

// Get implements [connect.Store].
func (s *Store) Get(ctx context.Context, kind, id string) (*connect.Row, error) {
	return one(s.get.QueryRowContext(ctx, kind, id, s.now().UnixMicro()))
}

// Find implements [connect.Store].
func (s *Store) Find(ctx context.Context, q *connect.Query) ([]*connect.Row, error) {
	where, args := []string{"expires > ?"}, []any{s.now().UnixMicro()}
	for _, c := range [...][2]string{{"kind", q.Kind}, {"owner", q.Owner}, {"key", q.Key}, {"status", q.Status}} {
		if c[1] != "" {
			where, args = append(where, c[0]+" = ?"), append(args, c[1])
		}
	}
	if a := q.After; a != nil {
		where, args = append(where, "(created, id, kind) < (?, ?, ?)"), append(args, a.Created.UnixMicro(), a.ID, a.Kind)
	}
	text := selectSQL + " WHERE " + strings.Join(where, " AND ") + " ORDER BY created DESC, id DESC, kind DESC LIMIT ?"
	rows, err := s.read.QueryContext(ctx, text, append(args, q.Rows())...)
	if err != nil {
		return nil, failed("find", err)
	}
	defer rows.Close()
	var found []*connect.Row
	for rows.Next() {
		r, err := one(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	if err := rows.Err(); err != nil {
		return nil, failed("find", err)
	}
	return found, nil
}

// Prune implements [connect.Store].
func (s *Store) Prune(ctx context.Context, limit int) (int, error) {
	if limit <= 0 {
		limit = 1000
	}
	result, err := s.write.ExecContext(ctx, pruneSQL, s.now().UnixMicro(), limit)
	if err != nil {
		return 0, failed("prune", err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// one reads a row from a result.
func one(from interface{ Scan(...any) error }) (*connect.Row, error) {
	var r connect.Row
	var created, updated, expires int64
	err := from.Scan(&r.Kind, &r.ID, &r.Owner, &r.Key, &r.Status, &r.Version, &created, &updated, &expires, &r.Data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, connect.ErrNotFound
	}
	if err != nil {
		return nil, failed("read", err)
	}
	r.Created, r.Updated, r.Expires = timeOf(created), timeOf(updated), timeOf(expires)
	return &r, nil
}

// blob is data for a column that is never NULL.
func blob(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

func isUnique(err error) bool {
	var e interface{ Code() int }
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}

func failed(step string, err error) error { return fmt.Errorf("sqlite: %s: %w", step, err) }
