package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // registers the driver

	"github.com/seed38e7925c/parley/connect"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options of a store. The zero value and nil mean the defaults.
type Options struct {
	// PollInterval is how often Watch looks for changes of other processes that use the same file. The default is 25 ms; a look costs
	// some microseconds, and only while somebody watches.
	PollInterval time.Duration
	// BusyTimeout is how long a step waits while another process writes. The default is 5 s.
	BusyTimeout time.Duration
	// Now is the clock that Expires is compared with, for tests. The default is time.Now.
	Now func() time.Time
}

// A Store is a [connect.Store] in a file.
type Store struct {
	poll   time.Duration
	now    func() time.Time
	origin int64 // tells changes of this store from those of others

	write, read, watch *sql.DB // watch: a connection for each Watch, so that they take none from those that read
	insert, update     *sql.Stmt
	get, byKey         *sql.Stmt

	mu       sync.Mutex
	watchers map[*watcher]struct{}
	closed   chan struct{}
}

var _ connect.Store = (*Store)(nil)

// Open opens the store in a file, and creates the file when there is none.
func Open(path string) (*Store, error) { return OpenWith(path, nil) }

// OpenWith opens the store in a file with options.
func OpenWith(path string, o *Options) (*Store, error) {
	if path == "" || path == ":memory:" {
		return nil, errors.New("sqlite: a store needs a file; connect/storetest has one in memory, for tests")
	}
	if o == nil {
		o = &Options{}
	}
	s := &Store{poll: 25 * time.Millisecond, now: time.Now, origin: rand.Int64(), watchers: map[*watcher]struct{}{}, closed: make(chan struct{})}
	if o.PollInterval > 0 {
		s.poll = o.PollInterval
	}
	if o.Now != nil {
		s.now = o.Now
	}
	busy := 5 * time.Second
	if o.BusyTimeout > 0 {
		busy = o.BusyTimeout
	}
	if err := s.open(path, busy); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: opening %s: %w", path, err), s.Close())
	}
	return s, nil
}

func (s *Store) open(path string, busy time.Duration) (err error) {
	if err := private(path); err != nil {
		return err
	}
	// Synchronous FULL: a refresh token that was rotated and lost with the power is a person to be asked again.
	common := url.Values{"_pragma": {fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)"}}
	write := url.Values{"_pragma": append(common["_pragma"], "secure_delete(ON)", "foreign_keys(ON)"), "_txlock": {"immediate"}}
	read := url.Values{"_pragma": append(common["_pragma"], "query_only(ON)")}
	if s.write, err = connectTo(path, write, 1); err != nil {
		return err
	}
	if err := s.migrate(); err != nil {
		return err
	}
	if s.read, err = connectTo(path, read, max(4, runtime.GOMAXPROCS(0))); err != nil {
		return err
	}
	if s.watch, err = connectTo(path, read, 0); err != nil {
		return err
	}
	return s.prepare()
}

// private creates the file, if there is none, so that only its owner can read it. SQLite gives its other files the same mode.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func connectTo(path string, params url.Values, conns int) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	path = filepath.ToSlash(path)
	if path[0] != '/' {
		path = "/" + path // a drive of Windows
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: params.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns) // 0: any number
	db.SetMaxIdleConns(conns)
	return db, nil
}

// migrate brings the tables up to date. Processes that start at once may do so at once: who is late finds it done.
func (s *Store) migrate() error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	const attempts = 5
	for i := 1; ; i++ {
		err := up(s.write, files)
		if err == nil || i == attempts {
			return err
		}
	}
}

func up(db *sql.DB, files fs.FS) error {
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithTableName("parley_migrations"), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = p.Up(context.Background())
	return err
}

func (s *Store) prepare() (err error) {
	for _, st := range []struct {
		to   **sql.Stmt
		db   *sql.DB
		text string
	}{
		{&s.insert, s.write, insertSQL},
		{&s.update, s.write, updateSQL},
		{&s.get, s.read, selectSQL + ` WHERE kind = ? AND id = ? AND expires > ?`},
		{&s.byKey, s.read, selectSQL + ` WHERE kind = ? AND key = ? AND key <> '' AND expires > ?`},
	} {
		if *st.to, err = st.db.PrepareContext(context.Background(), st.text); err != nil {
			return err
		}
	}
	return nil
}

// Close ends every Watch and closes the file. Steps after it fail.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return nil
	default:
		close(s.closed)
	}
	var errs []error
	for _, st := range []*sql.Stmt{s.insert, s.update, s.get, s.byKey} {
		if st != nil {
			errs = append(errs, st.Close())
		}
	}
	for _, db := range []*sql.DB{s.watch, s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}
