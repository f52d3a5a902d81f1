package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mended is go-sdk with one flaw repaired that costs it most of its speed: it makes a decoder, with a buffer of 32 KiB, for each part of
// a message that it decodes. A lead has to survive the day on which that line is mended. The copy is made of the module in Go's module
// cache whenever the comparison runs; nothing of it is kept.
const mended = "gosdk*"

// What is mended. The new line decodes as the old one does: with the same rules, and without looking at what follows the value.
const (
	mendedModule = "github.com/modelcontextprotocol/go-sdk"
	mendedFile   = "internal/json/json.go"
	flaw         = "\treturn NewDecoder(bytes.NewReader(data)).Decode(v)\n"
	repair       = "\t_, err := json.Parse(bytes.TrimSpace(data), v, json.DontMatchCaseInsensitiveStructFields)\n\treturn err\n"
)

// program is the name of a peer's program.
func program(peer string) string { return strings.ReplaceAll(peer, "*", "-mended") }

// buildMended builds the program of [mended] in dir.
func buildMended(ctx context.Context, dir string) error {
	var module struct{ Dir, Version string }
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-json", mendedModule).Output()
	if err != nil {
		return fmt.Errorf("looking for %s: %w", mendedModule, err)
	}
	if err := json.Unmarshal(out, &module); err != nil {
		return err
	}
	work := filepath.Join(dir, "go-sdk")
	if err := os.CopyFS(work, os.DirFS(module.Dir)); err != nil {
		return err
	}
	if err := mendFile(filepath.Join(work, filepath.FromSlash(mendedFile))); err != nil {
		return fmt.Errorf("%s %s: %w", mendedModule, module.Version, err)
	}
	// The requirements of this module, with the copy in the place of the original.
	mod, sum := filepath.Join(dir, "mended.mod"), filepath.Join(dir, "mended.sum")
	if err := copyFile(mod, "go.mod", fmt.Sprintf("\nreplace %s => %s\n", mendedModule, work)); err != nil {
		return err
	}
	if err := copyFile(sum, "go.sum", ""); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-modfile", mod, "-o", filepath.Join(dir, program(mended)), "./cmd/gosdk") //nolint:gosec // our own program
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", mended, err, out)
	}
	return nil
}

func mendFile(path string) error {
	src, err := os.ReadFile(path) //nolint:gosec // in our copy
	if err != nil {
		return err
	}
	text, err := mend(string(src))
	if err != nil {
		return fmt.Errorf("%s: %w", mendedFile, err)
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// mend repairs the flaw in a source that has it exactly once.
func mend(src string) (string, error) {
	if n := strings.Count(src, flaw); n != 1 {
		return "", fmt.Errorf("the line %q is there %d times, not once: see in bench/mended.go whether there is still something to mend",
			strings.TrimSpace(flaw), n)
	}
	return strings.Replace(src, flaw, repair, 1), nil
}

func copyFile(to, from, more string) error {
	b, err := os.ReadFile(from) //nolint:gosec // our own
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(b, more...), 0o600)
}
