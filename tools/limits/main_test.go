package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func page(t *testing.T, files map[string]string) (string, error) {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return render(root)
}

func TestRender(t *testing.T) {
	got, err := page(t, map[string]string{
		"a/a.go": `package a
import "time"
// Options are options.
type Options struct {
	// MaxLine bounds one line, in bytes; [Line] reads it. The default is 16 MiB. A longer one
	// is skipped.
	MaxLine int
	Wait time.Duration // Wait is a time, a|b; the default is 1.5 s
	MaxX int // of all; default 7
	// Name has no number.
	Name string
	quiet int
}
// CallOptions adjust a call. Nil and every zero field mean what the client's options say.
type CallOptions struct {
	// Timeout and Wait replace those of the client.
	Timeout, Wait time.Duration
}
type other struct { MaxLine int }
`,
		"internal/i/i.go": "package i\ntype Options struct { MaxX int }\n",
		"a/a_test.go":     "package a\ntype TestOptions struct { MaxX int }\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := intro + "\n## Package a\n\n| `CallOptions` | default | |\n|---|---|---|\n" +
		"| `Timeout` | what the client's options say | Timeout and Wait replace those of the client. |\n" +
		"| `Wait` | what the client's options say | Timeout and Wait replace those of the client. |\n\n| `Options` | default | |\n|---|---|---|\n" +
		"| `MaxLine` | 16 MiB | bounds one line, in bytes; `Line` reads it. |\n| `Wait` | 1.5 s | is a time, a\\|b |\n| `MaxX` | 7 | of all |\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestUndocumentedLimit(t *testing.T) {
	_, err := page(t, map[string]string{"a/a.go": "package a\n// Options are options.\ntype Options struct {\n\t// MaxX bounds x.\n\tMaxX int\n}\n"})
	if err == nil || !strings.Contains(err.Error(), "a.Options.MaxX") {
		t.Errorf("got %v; want the field's name", err)
	}
}
