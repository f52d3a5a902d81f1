package connect_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/postgres"
	"github.com/seed38e7925c/parley/connect/sqlite"
	"github.com/seed38e7925c/parley/connect/storetest"
	"github.com/seed38e7925c/parley/internal/pgtest"
)

// eachStore plays a test over each store; open connects to the same one again, as another process would.
func eachStore(t *testing.T, test func(t *testing.T, open func(t *testing.T) connect.Store)) {
	t.Run("memory", func(t *testing.T) {
		store := storetest.NewMemory()
		test(t, func(*testing.T) connect.Store { return store })
	})
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "connect.db")
		test(t, func(t *testing.T) connect.Store {
			s, err := sqlite.Open(path)
			return closing(t, s, err)
		})
	})
	t.Run("postgres", func(t *testing.T) {
		dsn := pgtest.Start(t).Database(t)
		test(t, func(t *testing.T) connect.Store {
			s, err := postgres.OpenWith(t.Context(), dsn, &postgres.Options{Logger: slog.New(slog.DiscardHandler)})
			return closing(t, s, err)
		})
	})
}

// closing closes a store with its test.
func closing[S interface {
	connect.Store
	Close() error
}](t *testing.T, s S, err error) connect.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
