package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/sqlite"
	"github.com/seed38e7925c/parley/connect/storetest"
	"github.com/seed38e7925c/parley/mcptest"
)

func TestMain(m *testing.M) { mcptest.Main(m) }

func open(t *testing.T, path string, o *sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.OpenWith(path, o)
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

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "desk.db") }

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) connect.Store { return open(t, file(t), nil) })
}

func TestReplicas(t *testing.T) {
	storetest.RunReplicas(t, func(t *testing.T) (connect.Store, connect.Store) {
		path := file(t)
		return open(t, path, nil), open(t, path, nil)
	})
}

func TestOpen(t *testing.T) {
	for _, name := range []string{"with space.db", "odd?#%&.db", "ünï.db"} {
		path := filepath.Join(t.TempDir(), name)
		s := open(t, path, nil)
		if _, err := s.Insert(t.Context(), &connect.Row{Kind: "k", ID: "1"}); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"", "-wal", "-shm"} {
			info, err := os.Stat(path + part)
			if err != nil {
				t.Fatal(err)
			}
			if runtime.GOOS != "windows" && info.Mode() != 0o600 {
				t.Errorf("%s has mode %v", info.Name(), info.Mode())
			}
		}
	}
	garbage := file(t)
	if err := os.WriteFile(garbage, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", ":memory:", garbage, filepath.Join(t.TempDir(), "missing", "desk.db"), t.TempDir()} {
		if s, err := sqlite.Open(path); err == nil {
			t.Errorf("%q was opened: %v", path, s.Close())
		}
	}
}

// TestStaysOnDisk: what was written is there when the file is opened again.
func TestStaysOnDisk(t *testing.T) {
	path := file(t)
	s := open(t, path, nil)
	if _, err := s.Insert(t.Context(), &connect.Row{Kind: "k", ID: "1", Data: []byte("data")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "k", "1"); err == nil || errors.Is(err, connect.ErrNotFound) {
		t.Errorf("a closed store answers: %v", err)
	}
	if r, err := open(t, path, nil).Get(t.Context(), "k", "1"); err != nil || string(r.Data) != "data" {
		t.Errorf("opened again: %+v, %v", r, err)
	}
}

// TestClock: a row ends when the store's clock passes its Expires.
func TestClock(t *testing.T) {
	var now atomic.Int64
	begin := time.Now().Truncate(time.Second)
	s := open(t, file(t), &sqlite.Options{Now: func() time.Time { return begin.Add(time.Duration(now.Load())) }})
	if _, err := s.Insert(t.Context(), &connect.Row{Kind: "k", ID: "1", Key: "key", Expires: begin.Add(time.Minute)}); err != nil {
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

// TestWatchThatFellBehind: who has missed more than the file remembers is told to look at everything.
func TestWatchThatFellBehind(t *testing.T) {
	path := file(t)
	a, b := open(t, path, nil), open(t, path, &sqlite.Options{PollInterval: time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := &connect.Row{Kind: "k", ID: "1"}
	if _, err := a.Insert(ctx, r); err != nil {
		t.Fatal(err)
	}
	looks, told := 0, false
	err := b.Watch(ctx, func(kind, _ string) {
		switch {
		case kind != "":
			told = true
		case looks == 0: // it is listening; until this returns, it does not look
			looks++
			many(t, path)
			if err := a.Update(ctx, r); err != nil { // which forgets the oldest
				t.Error(err)
			}
		default:
			looks++
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || looks != 2 || told {
		t.Errorf("Watch: %v; told to look %d times, told of a change: %v", err, looks, told)
	}
}

// many makes changes, without the rows, which would take a while.
func many(t *testing.T, path string) {
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 5000)
		INSERT INTO parley_changes (kind, id, origin) SELECT 'k', '1', 0 FROM n`); err != nil {
		t.Error(err)
	}
}

func TestWatchOfAClosedStore(t *testing.T) {
	s := open(t, file(t), nil)
	if err := s.Watch(t.Context(), func(string, string) { _ = s.Close() }); err == nil || t.Context().Err() != nil {
		t.Errorf("Watch: %v", err)
	}
}

const processEnv = "PARLEY_TEST_SQLITE_FILE"

// TestProcess is a process of TestProcesses, and passes otherwise.
func TestProcess(t *testing.T) {
	path := os.Getenv(processEnv)
	if path == "" {
		return
	}
	s := open(t, path, nil)
	for i := range 50 {
		if _, err := s.Insert(t.Context(), &connect.Row{Kind: fmt.Sprint("p", os.Getpid()), ID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
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

// TestProcesses: processes that start at once on a file that does not exist make it once, and lose nothing of each other; the one that
// is killed in between does no harm.
func TestProcesses(t *testing.T) {
	path := file(t)
	errs := make(chan error)
	const n = 4
	first := open(t, path, nil) // for the counter that they share
	if _, err := first.Insert(t.Context(), &connect.Row{Kind: "counter", ID: "1"}); err != nil {
		t.Fatal(err)
	}
	for range n {
		go func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcess$")
			cmd.Env = append(os.Environ(), processEnv+"="+path)
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			errs <- err
		}()
	}
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	victim := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestProcess$")
	victim.Env = append(os.Environ(), processEnv+"="+path)
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
	r, err := first.Get(t.Context(), "counter", "1")
	if err != nil || r.Version < 1+n*50 {
		t.Errorf("counted to %d, %v; want %d and what the killed one did", r.Version, err, 1+n*50)
	}
	rows, err := first.Find(t.Context(), &connect.Query{Limit: 1000})
	if err != nil || len(rows) < 1+n*50 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// TestProcessesMakeOneFile: stores opened at once on a file that does not exist make its tables once.
func TestProcessesMakeOneFile(t *testing.T) {
	path := file(t)
	errs := make(chan error)
	const n = 8
	for range n {
		go func() {
			s, err := sqlite.Open(path)
			if err == nil {
				_, err = s.Insert(context.WithoutCancel(t.Context()), &connect.Row{Kind: "k", ID: "1"})
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

func BenchmarkGet(b *testing.B) {
	s, err := sqlite.Open(filepath.Join(b.TempDir(), "desk.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Insert(b.Context(), &connect.Row{Kind: "k", ID: "1", Data: make([]byte, 500)}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Get(b.Context(), "k", "1"); err != nil {
			b.Fatal(err)
		}
	}
}
