package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/postgres"
	"github.com/seed38e7925c/parley/connect/storetest"
	"github.com/seed38e7925c/parley/internal/pgtest"
	"github.com/seed38e7925c/parley/mcptest"
)

func TestMain(m *testing.M) { mcptest.Main(m) }

// fast notices soon what the defaults notice late.
func fast() *postgres.Options {
	return &postgres.Options{CheckInterval: 5 * time.Second, Logger: slog.New(slog.DiscardHandler)}
}

func open(t *testing.T, dsn string, o *postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.OpenWith(t.Context(), dsn, o)
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

func admin(t *testing.T, dsn, text string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), text, args...); err != nil {
		t.Fatal(err)
	}
}

// TestPostgres runs everything on one cluster.
func TestPostgres(t *testing.T) {
	c := pgtest.Start(t)
	t.Run("Store", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) connect.Store { return open(t, c.Database(t), fast()) })
	})
	t.Run("Replicas", func(t *testing.T) {
		storetest.RunReplicas(t, func(t *testing.T) (connect.Store, connect.Store) {
			dsn := c.Database(t)
			return open(t, dsn, fast()), open(t, dsn, fast())
		})
	})
	t.Run("Open", func(t *testing.T) { testOpen(t, c) })
	t.Run("OneConnection", func(t *testing.T) { testOneConnection(t, c) })
	t.Run("Clock", func(t *testing.T) { testClock(t, c) })
	t.Run("OpenAtOnce", func(t *testing.T) { testOpenAtOnce(t, c) })
	t.Run("LongName", func(t *testing.T) { testLongName(t, c) })
	t.Run("DroppedConnections", func(t *testing.T) { testDropped(t, c) })
	t.Run("Closed", func(t *testing.T) { testClosed(t, c) })
	t.Run("Processes", func(t *testing.T) { testProcesses(t, c) })
	t.Run("Restart", func(t *testing.T) { testRestart(t, c) })
}

func testOpen(t *testing.T, c *pgtest.Cluster) {
	dsn := c.Database(t)
	s := open(t, dsn, nil)
	if _, err := s.Insert(t.Context(), &connect.Row{Kind: "k", ID: "1", Data: []byte("data")}); err != nil {
		t.Fatal(err)
	}
	if r, err := open(t, dsn, nil).Get(t.Context(), "k", "1"); err != nil || string(r.Data) != "data" {
		t.Errorf("opened again: %+v, %v", r, err)
	}
	for _, dsn := range []string{"host=/nowhere user=parley", "not a dsn", dsn + " dbname=missing"} {
		if _, err := postgres.Open(t.Context(), dsn); err == nil {
			t.Errorf("%q was opened", dsn)
		}
	}
}

// testOneConnection: a pool of one is enough, also to make the tables.
func testOneConnection(t *testing.T, c *pgtest.Cluster) {
	s := open(t, c.Database(t)+" pool_max_conns=1", fast())
	if _, err := s.Insert(t.Context(), &connect.Row{Kind: "k", ID: "1"}); err != nil {
		t.Fatal(err)
	}
}

func testClock(t *testing.T, c *pgtest.Cluster) {
	var now atomic.Int64
	begin := time.Now().Truncate(time.Second)
	o := fast()
	o.Now = func() time.Time { return begin.Add(time.Duration(now.Load())) }
	s := open(t, c.Database(t), o)
	if _, err := s.Insert(t.Context(), &connect.Row{Kind: "k", ID: "1", Expires: begin.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	now.Store(int64(time.Minute - time.Microsecond))
	if _, err := s.Get(t.Context(), "k", "1"); err != nil {
		t.Errorf("before its time: %v", err)
	}
	now.Store(int64(time.Minute))
	if _, err := s.Get(t.Context(), "k", "1"); !errors.Is(err, connect.ErrNotFound) {
		t.Errorf("after its time: %v", err)
	}
	if n, err := s.Prune(t.Context(), 0); n != 1 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
}

func testOpenAtOnce(t *testing.T, c *pgtest.Cluster) {
	dsn := c.Database(t)
	errs := make(chan error)
	const n = 8
	for range n {
		go func() {
			s, err := postgres.OpenWith(context.Background(), dsn, fast())
			if err == nil {
				_, err = s.Insert(context.Background(), &connect.Row{Kind: "k", ID: "1"})
				err = errors.Join(err, s.Close())
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// watch runs a Watch and sends what it tells; an empty name is "something may have been missed".
func watch(t *testing.T, s *postgres.Store) <-chan string {
	t.Helper()
	told, done := make(chan string, 1000), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(done)
		_ = s.Watch(ctx, func(_, id string) { told <- id })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	expect(t, told, "")
	return told
}

func expect(t *testing.T, told <-chan string, want string) {
	t.Helper()
	select {
	case got := <-told:
		if got != want {
			t.Fatalf("Watch told of %q, want %q", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatalf("Watch did not tell of %q", want)
	}
}

// testLongName: what does not fit into a notification is told as something that may have been missed.
func testLongName(t *testing.T, c *pgtest.Cluster) {
	s := open(t, c.Database(t), fast())
	told := watch(t, s)
	for _, l := range []int{7000, 8000, 20000} {
		id := make([]byte, l)
		for i := range id {
			id[i] = byte('a' + (i*7919+l)%26)
		}
		want := string(id)
		if l > 7800 {
			want = ""
		}
		if _, err := s.Insert(t.Context(), &connect.Row{Kind: "k", ID: string(id)}); err != nil {
			if l > 8000 {
				continue // more than an index of PostgreSQL takes
			}
			t.Skipf("not on this PostgreSQL: %v", err)
		}
		expect(t, told, want)
	}
}

const dropAll = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`

// testDropped: lost connections are made again; reads do not notice, and Watch tells that it may have missed something.
func testDropped(t *testing.T, c *pgtest.Cluster) {
	dsn := c.Database(t)
	s := open(t, dsn, fast())
	r := &connect.Row{Kind: "k", ID: "1"}
	if _, err := s.Insert(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	told := watch(t, s)
	for range 3 {
		admin(t, dsn, dropAll)
		if _, err := s.Get(t.Context(), "k", "1"); err != nil {
			t.Errorf("Get after the connections were lost: %v", err)
		}
		expect(t, told, "")
		if err := s.Update(t.Context(), r); err != nil {
			t.Errorf("Update after the connections were made again: %v", err)
		}
		expect(t, told, "1")
	}
}

func testClosed(t *testing.T, c *pgtest.Cluster) {
	s := open(t, c.Database(t), fast())
	if err := s.Watch(t.Context(), func(string, string) { _ = s.Close() }); err == nil || t.Context().Err() != nil {
		t.Errorf("Watch of a closed store: %v", err)
	}
	if err := s.Watch(t.Context(), func(string, string) {}); err == nil || t.Context().Err() != nil {
		t.Errorf("Watch of a closed store: %v", err)
	}
	if _, err := s.Get(t.Context(), "k", "1"); err == nil || errors.Is(err, connect.ErrNotFound) {
		t.Errorf("a closed store answers: %v", err)
	}
}

// testRestart: the database may be away for a while.
func testRestart(t *testing.T, c *pgtest.Cluster) {
	s := open(t, c.Database(t), fast())
	r := &connect.Row{Kind: "k", ID: "1"}
	if _, err := s.Insert(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	told := watch(t, s)
	c.Down(t)
	if err := s.Update(t.Context(), r); err == nil || errors.Is(err, connect.ErrConflict) || errors.Is(err, connect.ErrNotFound) {
		t.Errorf("Update without a database: %v", err)
	}
	if _, err := s.Get(t.Context(), "k", "1"); err == nil || errors.Is(err, connect.ErrNotFound) {
		t.Errorf("Get without a database: %v", err)
	}
	c.Up(t)
	expect(t, told, "")
	if got, err := s.Get(t.Context(), "k", "1"); err != nil || got.Version != 1 {
		t.Errorf("Get afterwards: %+v, %v", got, err)
	}
	if err := s.Update(t.Context(), r); err != nil {
		t.Errorf("Update afterwards: %v", err)
	}
	expect(t, told, "1")
}

const processEnv = "PARLEY_TEST_POSTGRES"

// TestProcess is a process of testProcesses, and passes otherwise.
func TestProcess(t *testing.T) {
	dsn := os.Getenv(processEnv)
	if dsn == "" {
		return
	}
	s := open(t, dsn, fast())
	for range 50 {
		for {
			r, err := s.Get(t.Context(), "counter", "1")
			if err != nil {
				t.Fatal(err)
			}
			if err = s.Update(t.Context(), r); err == nil {
				break
			} else if !errors.Is(err, connect.ErrConflict) {
				t.Fatal(err)
			}
		}
	}
}

// testProcesses: processes lose nothing of each other, and one that is killed in between does no harm.
func testProcesses(t *testing.T, c *pgtest.Cluster) {
	dsn := c.Database(t)
	s := open(t, dsn, fast())
	if _, err := s.Insert(t.Context(), &connect.Row{Kind: "counter", ID: "1"}); err != nil {
		t.Fatal(err)
	}
	const n = 3
	errs := make(chan error)
	process := func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestProcess$")
		cmd.Env = append(os.Environ(), processEnv+"="+dsn)
		return cmd
	}
	for range n {
		go func() {
			out, err := process(t.Context()).CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			errs <- err
		}()
	}
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	victim := process(ctx)
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
		kill()
	}
	_ = victim.Wait()
	if r, err := s.Get(t.Context(), "counter", "1"); err != nil || r.Version < 1+n*50 {
		t.Errorf("counted to %d, %v; want %d and what the killed one did", r.Version, err, 1+n*50)
	}
}
