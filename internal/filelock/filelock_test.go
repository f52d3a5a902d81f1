package filelock_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed38e7925c/parley/internal/filelock"
)

// TestTry: one has the lock until it closes the file.
func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	a, b := open(), open()
	defer b.Close()
	if ok, err := filelock.Try(a); !ok || err != nil {
		t.Fatalf("the first: %v, %v", ok, err)
	}
	if ok, err := filelock.Try(b); ok || err != nil {
		t.Fatalf("the second meanwhile: %v, %v", ok, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if ok, err := filelock.Try(b); !ok || err != nil {
		t.Fatalf("the second afterwards: %v, %v", ok, err)
	}
	if ok, err := filelock.Try(a); ok || err == nil {
		t.Errorf("a closed file: %v, %v", ok, err)
	}
}
