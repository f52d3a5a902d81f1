package keyring_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	system "github.com/zalando/go-keyring"

	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcpauth/keyring"
)

func open(t *testing.T, dir string) mcpauth.Store {
	t.Helper()
	s, err := keyring.New(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s mcpauth.Store, key, value string) {
	t.Helper()
	err := s.Update(t.Context(), key, func([]byte) ([]byte, error) {
		if value == "" {
			return nil, nil
		}
		return []byte(value), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, s mcpauth.Store, key, value string) {
	t.Helper()
	if data, err := s.Load(t.Context(), key); string(data) != value || err != nil {
		t.Errorf("%s: %q, %v", key, data, err)
	}
}

func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}

// Records are found again by another process with the keyring, whatever their size, and tell nothing without it.
func TestStore(t *testing.T) {
	system.MockInit()
	dir := filepath.Join(t.TempDir(), "s")
	s := open(t, dir)
	want(t, s, "k", "")
	large := `{"token":"` + strings.Repeat("secret", 10_000) + `"}` // more than any keyring takes
	put(t, s, "k", large)
	put(t, s, "other", `{"a":1}`)
	put(t, s, "gone", `{}`)
	put(t, s, "gone", "")
	again := open(t, dir)
	want(t, again, "k", large)
	want(t, again, "gone", "")
	if strings.Contains(contents(t, dir), "secret") {
		t.Error("the files tell the secret")
	}
	keys, err := again.(mcpauth.Lister).Keys(t.Context())
	if slices.Sort(keys); err != nil || !slices.Equal(keys, []string{"k", "other"}) {
		t.Errorf("%q, %v", keys, err)
	}
	no := errors.New("no")
	if err := s.Update(t.Context(), "k", func([]byte) ([]byte, error) { return nil, no }); !errors.Is(err, no) {
		t.Errorf("error %v", err)
	}
	want(t, s, "k", large)
}

// Without a keyring the error says what to use instead.
func TestThereIsNoKeyring(t *testing.T) {
	for name, cause := range map[string]error{"no bus": errors.New("exec: \"dbus-launch\": executable file not found in $PATH"), "no platform": system.ErrUnsupportedPlatform} {
		system.MockInitWithError(cause)
		_, err := keyring.New(t.Context(), filepath.Join(t.TempDir(), "s"), nil)
		if !errors.Is(err, keyring.ErrUnavailable) || !errors.Is(err, cause) || !strings.Contains(err.Error(), "mcpauth.NewFileStore") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := keyring.New(t.Context(), "/dev/null/x", nil); err == nil {
		t.Error("no error")
	}
	if _, err := keyring.New(t.Context(), t.TempDir(), &keyring.Options{Timeout: -1}); err == nil {
		t.Error("no error")
	}
}

// A keyring that has another value than a key is not overwritten.
func TestForeignEntry(t *testing.T) {
	system.MockInit()
	dir := filepath.Join(t.TempDir(), "s")
	open(t, dir)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := system.Set("Parley", real, "somebody's password"); err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.New(t.Context(), dir, nil); err == nil || !strings.Contains(err.Error(), "not a key") {
		t.Errorf("error %v", err)
	}
	if text, err := system.Get("Parley", real); text != "somebody's password" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// What cannot be opened is reported once, kept, and not used: records under a lost key, swapped or changed ones, those of a plain file store.
func TestDamage(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, dir string){
		"the key is gone": func(*testing.T, string) { system.MockInit() },
		"of another key": func(t *testing.T, dir string) {
			files, err := mcpauth.NewFileStore(dir)
			if err != nil {
				t.Fatal(err)
			}
			other, err := files.Load(t.Context(), "other")
			if err != nil {
				t.Fatal(err)
			}
			put(t, files, "k", string(other))
		},
		"plain": func(t *testing.T, dir string) {
			files, err := mcpauth.NewFileStore(dir)
			if err != nil {
				t.Fatal(err)
			}
			put(t, files, "k", `{"access_token":"planted"}`)
		},
	} {
		for _, how := range []string{"load", "update"} {
			t.Run(name+" "+how, func(t *testing.T) {
				system.MockInit()
				dir := filepath.Join(t.TempDir(), "s")
				s := open(t, dir)
				put(t, s, "k", `{"a":1}`)
				put(t, s, "other", `{"b":2}`)
				damage(t, dir)
				s = open(t, dir)
				var err error
				if how == "load" {
					_, err = s.Load(t.Context(), "k")
				} else {
					err = s.Update(t.Context(), "k", func(old []byte) ([]byte, error) {
						t.Errorf("change was called with %q", old)
						return nil, nil
					})
				}
				if err == nil || !strings.Contains(err.Error(), "log in anew") {
					t.Errorf("error %v", err)
				}
				want(t, s, "k", "")
				put(t, s, "k", `{"new":1}`)
				want(t, s, "k", `{"new":1}`)
				files, err := mcpauth.NewFileStore(dir)
				if err != nil {
					t.Fatal(err)
				}
				keys, err := files.(mcpauth.Lister).Keys(t.Context())
				if err != nil || !slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, "damaged ") && strings.HasSuffix(key, " k") }) {
					t.Errorf("%q, %v", keys, err)
				}
			})
		}
	}
}

func TestGivenUp(t *testing.T) {
	system.MockInit()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := keyring.New(ctx, filepath.Join(t.TempDir(), "s"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
