package connect_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/sqlite"
	"github.com/seed38e7925c/parley/connect/storetest"
	"github.com/seed38e7925c/parley/mcp"
)

func stateStore(t *testing.T) (mcp.StateStore, connect.Store) {
	t.Helper()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "desk.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return connect.StateStore(store, connect.KeysFromFile(filepath.Join(t.TempDir(), "keys"))), store
}

func TestStateStore(t *testing.T) {
	s, rows := stateStore(t)
	ctx, later := t.Context(), time.Now().Add(time.Hour)
	want := func(key, value string, found bool) {
		t.Helper()
		if v, ok, err := s.Get(ctx, key); err != nil || ok != found || string(v) != value {
			t.Fatalf("Get(%q) = %q, %v, %v; want %q, %v", key, v, ok, err, value, found)
		}
	}
	want("a", "", false)
	if existing, created, err := s.Create(ctx, "a", []byte(canary), later); err != nil || !created || existing != nil {
		t.Fatalf("Create: %q, %v, %v", existing, created, err)
	}
	if existing, created, err := s.Create(ctx, "a", []byte("other"), later); err != nil || created || string(existing) != canary {
		t.Fatalf("Create of what is there: %q, %v, %v", existing, created, err)
	}
	want("a", canary, true)
	for _, v := range []string{"b", "", "c"} {
		if err := s.Set(ctx, "a", []byte(v), later); err != nil {
			t.Fatal(err)
		}
		want("a", v, true)
	}
	if err := s.Set(ctx, "new/key with anything\x00\xff", []byte(canary), later); err != nil {
		t.Fatal(err)
	}
	want("new/key with anything\x00\xff", canary, true)
	found, err := rows.Find(ctx, &connect.Query{})
	if err != nil || len(found) != 2 {
		t.Fatalf("%d rows, %v", len(found), err)
	}
	for _, r := range found {
		if bytes.Contains(r.Data, []byte(canary)) {
			t.Error("a value is not sealed")
		}
	}
	for range 2 { // also what is not there
		if err := s.Delete(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		want("a", "", false)
	}
	if _, created, err := s.Create(ctx, "a", []byte("again"), later); err != nil || !created {
		t.Fatalf("Create of what was deleted: %v, %v", created, err)
	}
	want("a", "again", true)
	if err := s.Set(ctx, "a", []byte("gone"), time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	want("a", "", false)
}

// TestStateStoreOneCreates: of those who create at once, one does.
func TestStateStoreOneCreates(t *testing.T) {
	s, _ := stateStore(t)
	var created atomic.Int64
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			_, ok, err := s.Create(t.Context(), "key", fmt.Append(nil, i), time.Now().Add(time.Hour))
			if err != nil {
				t.Error(err)
			}
			if ok {
				created.Add(1)
			}
		})
	}
	wg.Wait()
	if created.Load() != 1 {
		t.Errorf("%d have created", created.Load())
	}
}

func TestStateStoreUnreachable(t *testing.T) {
	m := storetest.NewMemory()
	s := connect.StateStore(m, connect.KeysFromFile(filepath.Join(t.TempDir(), "keys")))
	_ = m.Close()
	_, _, create := s.Create(t.Context(), "a", nil, time.Now().Add(time.Hour))
	_, _, get := s.Get(t.Context(), "a")
	for name, err := range map[string]error{"Create": create, "Get": get, "Set": s.Set(t.Context(), "a", nil, time.Time{}), "Delete": s.Delete(t.Context(), "a")} {
		if err == nil {
			t.Errorf("%s works without a store", name)
		}
	}
}
