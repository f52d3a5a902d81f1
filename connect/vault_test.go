package connect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/sqlite"
	"github.com/seed38e7925c/parley/connect/storetest"
)

// A safe is a vault with a desk beside it.
type safe struct {
	*connect.Vault
	store connect.Store
	keys  *connect.Keys
	path  string // of the key file
	grant *connect.Grant
}

func newSafe(t *testing.T, store connect.Store) *safe {
	t.Helper()
	s := &safe{store: store, path: filepath.Join(t.TempDir(), "keys")}
	s.keys = connect.KeysFromFile(s.path)
	v, err := connect.OpenVault(store, s.keys)
	if err != nil {
		t.Fatal(err)
	}
	s.Vault, s.grant = v, grantOf(t, store, s.path, "https://rail.test")
	return s
}

func (s *safe) give(t *testing.T, subjects ...string) {
	t.Helper()
	for _, subject := range subjects {
		if err := s.grant.Give(t.Context(), person(subject), canary+"-"+subject, "r", 0); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *safe) has(t *testing.T, subject, want string) {
	t.Helper()
	token, err := s.grant.TokenOf(t.Context(), person(subject))
	got := ""
	if token != nil {
		got = token.Access.Reveal()
	}
	if err != nil || got != want {
		t.Fatalf("%s has %q, %v; want %q", subject, got, err, want)
	}
}

func (s *safe) list(t *testing.T, of *connect.Person) (all []*connect.Stored) {
	t.Helper()
	if err := s.List(t.Context(), of, func(c *connect.Stored) error {
		all = append(all, c)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// events are those of a person.
func (s *safe) events(t *testing.T, p connect.Person) (all []string) {
	t.Helper()
	rows, err := s.store.Find(t.Context(), &connect.Query{Kind: connect.RowAudit, Owner: p.Owner()})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		all = append(all, r.Status)
	}
	return all
}

func TestVaultListAndRevoke(t *testing.T) {
	s := newSafe(t, storetest.NewMemory())
	s.give(t, "alice", "bob")
	all := s.list(t, nil)
	alice := person("alice")
	own := s.list(t, &alice)
	if len(all) != 2 || len(own) != 1 || own[0].Kind != "grant" || own[0].Name != "rail" || own[0].Owner != alice.Owner() || !own[0].Valid || own[0].Since.IsZero() {
		t.Fatalf("%d and %+v", len(all), own)
	}
	if text := fmt.Sprintf("%+v", own[0]); strings.Contains(text, canary) {
		t.Errorf("a secret is listed: %s", text)
	}
	s.has(t, "alice", canary+"-alice")
	if err := s.Revoke(t.Context(), own[0].ID); err != nil {
		t.Fatal(err)
	}
	if status, access, refresh, err := s.grant.Tokens(t.Context(), alice); status != "revoked" || access+refresh != "" || err != nil {
		t.Errorf("stored: %s %s %s %v", status, access, refresh, err)
	}
	s.has(t, "bob", canary+"-bob")
	for _, id := range []string{own[0].ID, "unknown"} {
		if err := s.Revoke(t.Context(), id); !errors.Is(err, connect.ErrNotFound) {
			t.Errorf("Revoke(%s): %v", id, err)
		}
	}
	if len(s.list(t, nil)) != 1 || !slices.Equal(s.events(t, alice), []string{"revoked"}) {
		t.Errorf("%d left, events %v", len(s.list(t, nil)), s.events(t, alice))
	}
	stop := errors.New("stop")
	if err := s.List(t.Context(), nil, func(*connect.Stored) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("List: %v", err)
	}
}

// TestVaultRotate: afterwards the old key opens nothing that is stored, and nothing is lost; desks go on meanwhile.
func TestVaultRotate(t *testing.T) { synctest.Test(t, vaultRotate) }

func vaultRotate(t *testing.T) {
	s := newSafe(t, storetest.NewMemory())
	s.give(t, "alice", "bob", "carol")
	state := connect.StateStore(s.store, s.keys)
	if err := state.Set(t.Context(), "key", []byte("state"), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	stolen := filepath.Join(t.TempDir(), "stolen")
	copyFile(t, s.path, stolen)
	n, err := s.Rotate(t.Context())
	if err != nil || n != 4 {
		t.Fatalf("Rotate = %d, %v", n, err)
	}
	for _, subject := range []string{"alice", "bob", "carol"} {
		s.has(t, subject, canary+"-"+subject)
	}
	if v, found, err := state.Get(t.Context(), "key"); string(v) != "state" || !found || err != nil {
		t.Errorf("the state: %q %v %v", v, found, err)
	}
	keys, err := s.keys.List()
	if err != nil || len(keys) != 1 || !keys[0].Primary {
		t.Errorf("keys: %v, %v", keys, err)
	}
	thief, err := connect.OpenVault(s.store, connect.KeysFromFile(stolen))
	if err != nil {
		t.Fatal(err)
	}
	if err := thief.List(t.Context(), nil, func(c *connect.Stored) error { return fmt.Errorf("leaked %v", c) }); err == nil || strings.Contains(err.Error(), "leaked") {
		t.Errorf("with the stolen keys: %v", err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A failing store fails after some updates.
type failing struct {
	connect.Store
	left int
}

var errDown = errors.New("the store is down")

func (f *failing) Update(ctx context.Context, r *connect.Row) error {
	if f.left == 0 {
		return errDown
	}
	f.left--
	return f.Store.Update(ctx, r)
}

// TestVaultResealInterrupted: what is done stays done, and the next run does the rest.
func TestVaultResealInterrupted(t *testing.T) {
	s := newSafe(t, storetest.NewMemory())
	s.give(t, "a", "b", "c", "d", "e")
	if _, err := s.keys.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	broken, err := connect.OpenVault(&failing{s.store, 2}, s.keys)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := broken.Reseal(t.Context()); n != 2 || !errors.Is(err, errDown) {
		t.Fatalf("interrupted: %d, %v", n, err)
	}
	for _, subject := range []string{"a", "b", "c", "d", "e"} {
		s.has(t, subject, canary+"-"+subject)
	}
	if n, err := s.Reseal(t.Context()); n > 3 || err != nil { // a use that is noted seals, too
		t.Fatalf("the rest: %d, %v", n, err)
	}
	if n, err := s.Reseal(t.Context()); n != 0 || err != nil {
		t.Fatalf("nothing is left: %d, %v", n, err)
	}
}

// TestThreat22DamagedRows: a row that was changed or moved is told of, and holds nothing else up.
func TestThreat22DamagedRows(t *testing.T) {
	s := newSafe(t, storetest.NewMemory())
	s.give(t, "alice", "bob", "carol")
	rows, err := s.store.Find(t.Context(), &connect.Query{Kind: connect.RowCredential})
	if err != nil {
		t.Fatal(err)
	}
	rows[0].Data = rows[1].Data // carol gets what is bob's
	if err := s.store.Update(t.Context(), rows[0]); err != nil {
		t.Fatal(err)
	}
	if token, err := s.grant.TokenOf(t.Context(), person("carol")); token != nil || err == nil {
		t.Errorf("what was moved was opened: %v, %v", token, err)
	}
	if _, err := s.keys.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Reseal(t.Context()); n != 2 || err == nil || !strings.Contains(err.Error(), rows[0].ID) {
		t.Errorf("Reseal = %d, %v", n, err)
	}
	if _, err := s.Rotate(t.Context()); err == nil {
		t.Error("the key of what cannot be opened was dropped")
	}
	s.has(t, "alice", canary+"-alice")
}

// TestVaultRebind: what moves is the other person's then, and no longer the first one's; both see it.
func TestVaultRebind(t *testing.T) {
	s := newSafe(t, storetest.NewMemory())
	s.give(t, "old", "both", "taken")
	to := func(subject string) connect.Person {
		return connect.Person{Issuer: "https://new.test", Subject: subject}
	}
	if moved, kept, err := s.Rebind(t.Context(), person("old"), to("new")); moved != 1 || kept != 0 || err != nil {
		t.Fatalf("Rebind = %d, %d, %v", moved, kept, err)
	}
	s.has(t, "old", "")
	if token, err := s.grant.TokenOf(t.Context(), to("new")); err != nil || token == nil || token.Access.Reveal() != canary+"-old" {
		t.Errorf("the other person has %v, %v", token, err)
	}
	for _, p := range []connect.Person{person("old"), to("new")} {
		if got := s.events(t, p); !slices.Equal(got, []string{"rebound"}) {
			t.Errorf("events of %v: %v", p, got)
		}
	}
	if moved, kept, err := s.Rebind(t.Context(), person("old"), to("new")); moved+kept != 0 || err != nil {
		t.Errorf("again: %d, %d, %v", moved, kept, err)
	}
	// What the other person has stays, unless they have removed it.
	if moved, kept, err := s.Rebind(t.Context(), person("both"), person("taken")); moved != 0 || kept != 1 || err != nil {
		t.Errorf("to somebody who has one: %d, %d, %v", moved, kept, err)
	}
	s.has(t, "both", canary+"-both")
	s.has(t, "taken", canary+"-taken")
	taken := person("taken")
	if err := s.Revoke(t.Context(), s.list(t, &taken)[0].ID); err != nil {
		t.Fatal(err)
	}
	if moved, kept, err := s.Rebind(t.Context(), person("both"), person("taken")); moved != 1 || kept != 0 || err != nil {
		t.Errorf("to somebody who had one: %d, %d, %v", moved, kept, err)
	}
	for _, p := range []connect.Person{{}, person("old")} {
		if _, _, err := s.Rebind(t.Context(), person("old"), p); err == nil {
			t.Errorf("moved to %v", p)
		}
	}
}

// TestThreat22NothingInTheFile: who has the database without the keys has no secret, nor who connected what.
func TestThreat22NothingInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "desk.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := newSafe(t, store)
	s.give(t, "alice")
	alice := person("alice")
	if err := s.Revoke(t.Context(), s.list(t, &alice)[0].ID); err != nil {
		t.Fatal(err)
	}
	s.give(t, "bob")
	if n, err := s.Prune(t.Context()); n != 0 || err != nil {
		t.Errorf("Prune = %d, %v", n, err)
	}
	for _, part := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + part)
		if err != nil {
			t.Fatal(err)
		}
		for _, plain := range []string{canary, "alice", connect.TestIssuer, "rail"} {
			if bytes.Contains(data, []byte(plain)) {
				t.Errorf("%q is in the file%s", plain, part)
			}
		}
	}
}

func TestVaultNeedsKeys(t *testing.T) {
	for name, keys := range map[string]*connect.Keys{"nil": nil, "none": {}, "bad": connect.KeysFromFile("")} {
		if _, err := connect.OpenVault(storetest.NewMemory(), keys); err == nil {
			t.Errorf("%s: a vault was opened", name)
		}
	}
	if _, err := connect.OpenVault(nil, connect.KeysFromFile(filepath.Join(t.TempDir(), "keys"))); err == nil {
		t.Error("a vault without a store was opened")
	}
}
