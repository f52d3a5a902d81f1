package connect_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/storetest"
)

func newKeyset(t *testing.T) *keyset.Handle {
	t.Helper()
	h, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// keeps reports whether what some keys seal others open.
func keeps(t *testing.T, seal, open *connect.Keys) bool {
	t.Helper()
	store := storetest.NewMemory()
	if err := connect.StateStore(store, seal).Set(t.Context(), "key", []byte("value"), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	v, found, err := connect.StateStore(store, open).Get(t.Context(), "key")
	return string(v) == "value" && found && err == nil
}

// TestKeys: each kind of keys opens what it has sealed, and nobody else's.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	kms, err := aead.New(newKeyset(t))
	if err != nil {
		t.Fatal(err)
	}
	h := newKeyset(t)
	kinds := map[string]func() *connect.Keys{
		"file": func() *connect.Keys { return connect.KeysFromFile(filepath.Join(dir, "file")) },
		"kms":  func() *connect.Keys { return connect.KeysFromFileWithKMS(filepath.Join(dir, "kms"), kms) },
		"tink": func() *connect.Keys { return connect.KeysFromTink(h) },
	}
	for a, keysOf := range kinds {
		for b, others := range kinds {
			if got := keeps(t, keysOf(), others()); got != (a == b) {
				t.Errorf("sealed by %s, opened by %s: %v", a, b, got)
			}
		}
	}
	if _, err := connect.KeysFromTink(h).Rotate(t.Context()); err == nil {
		t.Error("a keyset of the program's was rotated")
	}
}

// TestKeysByCopies: where machines have copies of the file, a key opens everywhere before it seals anywhere, and an old one is dropped.
func TestKeysByCopies(t *testing.T) {
	dir := t.TempDir()
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	a := connect.KeysFromFile(here)
	if !keeps(t, a, a) {
		t.Fatal("the keys do not open what they have sealed")
	}
	id, err := a.Add(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	copyFile(t, here, there)
	if err := a.Promote(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if b := connect.KeysFromFile(there); !keeps(t, a, b) || !keeps(t, b, a) {
		t.Error("the machines do not open what the other has sealed")
	}
	keys, err := a.List()
	if err != nil || len(keys) != 2 || !slices.Contains(keys, connect.KeyInfo{ID: id, Primary: true}) {
		t.Fatalf("keys: %v, %v", keys, err)
	}
	for _, k := range keys {
		if err := a.Drop(t.Context(), k.ID); (err == nil) == k.Primary {
			t.Errorf("Drop of %v: %v", k, err)
		}
	}
	if err := a.Promote(t.Context(), id+1); err == nil {
		t.Error("a key that is not there was promoted")
	}
}

// TestKeysRefused: what is wrong with keys is said when they are used first, and stays wrong.
func TestKeysRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string]*connect.Keys{
		"nil": nil, "empty": {}, "garbage": connect.KeysFromFile(path), "no name": connect.KeysFromFile(""), "no keyset": connect.KeysFromTink(nil),
	} {
		_, list := k.List()
		_, add := k.Add(t.Context())
		for what, err := range map[string]error{"List": list, "Add": add, "Drop": k.Drop(t.Context(), 1), "Promote": k.Promote(t.Context(), 1)} {
			if err == nil {
				t.Errorf("%s: %s works", name, what)
			}
		}
	}
}
