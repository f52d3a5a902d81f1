package browser_test

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"testing"
)

var readRules = sync.OnceValues(func() ([]byte, error) { return os.ReadFile("node_modules/axe-core/axe.min.js") })

// rules returns the source of the accessibility rules.
func rules(t testing.TB) string {
	t.Helper()
	source, err := readRules()
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no axe-core: run make setup")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}
