package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/seed38e7925c/parley/connect"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options of a store. The zero value and nil mean the defaults.
type Options struct {
	// CheckInterval is how often a Watch that hears nothing asks whether its connection is alive. The default is 30 s; this bounds how
	// long a connection that died in silence goes unnoticed.
	CheckInterval time.Duration
	// Logger gets lost connections of Watch. The default is slog.Default().
	Logger *slog.Logger
	// Now is the clock that Expires is compared with, for tests. The default is time.Now.
	Now func() time.Time
}

// A Store is a [connect.Store] in a database.
type Store struct {
	pool  *pgxpool.Pool
	now   func() time.Time
	check time.Duration
	log   *slog.Logger

	mu       sync.Mutex
	closed   bool
	watchers map[*context.CancelCauseFunc]struct{}
}

var _ connect.Store = (*Store)(nil)

// Open connects to a database and brings its tables up to date. dsn is a URL or a list of words as libpq takes them; pgx's settings of
// the pool (pool_max_conns and others) may be in it. ctx bounds the opening.
func Open(ctx context.Context, dsn string) (*Store, error) { return OpenWith(ctx, dsn, nil) }

// OpenWith is Open with options.
func OpenWith(ctx context.Context, dsn string, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("postgres: the connection string: %w", err)
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "parley"
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	s := &Store{pool: pool, now: time.Now, check: 30 * time.Second, log: slog.Default(), watchers: map[*context.CancelCauseFunc]struct{}{}}
	if o.Now != nil {
		s.now = o.Now
	}
	if o.CheckInterval > 0 {
		s.check = o.CheckInterval
	}
	if o.Logger != nil {
		s.log = o.Logger
	}
	if err := s.migrate(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("postgres: opening the database: %w", err)
	}
	return s, nil
}

// migrate brings the tables up to date. Of replicas that start at once one does, and the others wait for it.
func (s *Store) migrate(ctx context.Context) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	db := stdlib.OpenDBFromPool(s.pool)
	defer db.Close()
	p, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithTableName("parley_migrations"),
		goose.WithDisableGlobalRegistry(true), goose.WithSessionLocker(advisory{}))
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// advisory is the lock under which the tables are changed.
type advisory struct{}

// lockID is "parley" in ASCII.
const lockID int64 = 0x7061726c6579

// SessionLock implements goose's interface.
func (advisory) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, lockID)
	return err
}

// SessionUnlock implements goose's interface.
func (advisory) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, `SELECT pg_advisory_unlock($1)`, lockID)
	return err
}

// errClosed ends a Watch.
var errClosed = errors.New("postgres: the store is closed")

// Close ends every Watch and closes the connections, once the steps under way have ended. Steps after it fail.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	for stop := range s.watchers {
		(*stop)(errClosed)
	}
	s.mu.Unlock()
	s.pool.Close()
	return nil
}
