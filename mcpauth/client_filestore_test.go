package mcpauth_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcpauth"
)

func set(s string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(s), nil }
}

func TestFileStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tokens")
	s := must(mcpauth.NewFileStore(dir))
	ctx := t.Context()
	if data, err := s.Load(ctx, "k"); data != nil || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if err := s.Update(ctx, "k", set(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	if data, err := must(mcpauth.NewFileStore(dir)).Load(ctx, "k"); string(data) != `{"a":1}` || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	file := only(t, dir, "*.json")
	if info := must(os.Stat(file)); runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if err := s.Update(ctx, "k", func([]byte) ([]byte, error) { return nil, fmt.Errorf("no") }); err == nil || err.Error() != "no" {
		t.Errorf("error %v", err)
	}
	if err := s.Update(ctx, "k", func([]byte) ([]byte, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	if data, err := s.Load(ctx, "k"); data != nil || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if left := must(filepath.Glob(filepath.Join(dir, "new-*"))); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func only(t *testing.T, dir, pattern string) string {
	t.Helper()
	all := must(filepath.Glob(filepath.Join(dir, pattern)))
	if len(all) != 1 {
		t.Fatalf("%s: %q", pattern, all)
	}
	return all[0]
}

// Damaged and foreign files are reported once, kept, and not used.
func TestFileStoreDamage(t *testing.T) {
	for name, content := range map[string]string{"cut short": `{"key":"k","val`, "of another key": `{"key":"other","value":{}}`, "empty": "", "twice": `{"key":"k","key":"k","value":{}}`,
		"huge": strings.Repeat("x", 2<<20)} {
		for _, how := range []string{"load", "update"} {
			t.Run(name+" "+how, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "s")
				s := must(mcpauth.NewFileStore(dir))
				if err := s.Update(t.Context(), "k", set(`{}`)); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(only(t, dir, "*.json"), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				var err error
				if how == "load" {
					_, err = s.Load(t.Context(), "k")
				} else {
					err = s.Update(t.Context(), "k", set(`{"new":1}`))
				}
				if err == nil || !strings.Contains(err.Error(), "damaged") {
					t.Errorf("error %v", err)
				}
				if kept := must(os.ReadFile(only(t, dir, "*.damaged-*"))); string(kept) != content {
					t.Errorf("kept %q", kept)
				}
				if data, err := s.Load(t.Context(), "k"); data != nil || err != nil {
					t.Errorf("afterwards %q, %v", data, err)
				}
			})
		}
	}
}

func TestFileStoreThatOthersCanRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps rights elsewhere")
	}
	dir := filepath.Join(t.TempDir(), "s")
	s := must(mcpauth.NewFileStore(dir))
	if err := s.Update(t.Context(), "k", set(`{}`)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(only(t, dir, "*.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), "k"); err == nil || !strings.Contains(err.Error(), "nobody else") {
		t.Errorf("error %v", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := mcpauth.NewFileStore(dir); err == nil {
		t.Error("a folder that others can read is used")
	}
	if _, err := mcpauth.NewFileStore("/dev/null/x"); err == nil {
		t.Error("no error")
	}
}

func TestFileStoreWaitsForTheLock(t *testing.T) {
	s := must(mcpauth.NewFileStore(filepath.Join(t.TempDir(), "s")))
	err := s.Update(t.Context(), "k", func([]byte) ([]byte, error) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Update(ctx, "k", set(`{}`)); err == nil || !strings.Contains(err.Error(), "lock") {
			t.Errorf("error %v", err)
		}
		return []byte(`{}`), s.Update(t.Context(), "another", set(`{}`))
	})
	if err != nil {
		t.Error(err)
	}
}
