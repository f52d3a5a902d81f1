package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	run   = flag.Bool("mutants", false, "run the mutants")
	tries = flag.String("tries", "30000x", "how many inputs a fuzz target tries to find what its seeds did not")
)

// TestMutants checks each mutant, and runs it with -mutants.
func TestMutants(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	caught := 0
	for i := range mutants {
		m := &mutants[i]
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			mutated := m.apply(t, root)
			if !*run {
				return
			}
			begin := time.Now()
			if how := m.caught(t, root, mutated); how != "" {
				caught++
				t.Logf("%s: %s: caught by %s (%s) after %v", m.file, m.name, m.target, how, time.Since(begin).Round(100*time.Millisecond))
				return
			}
			t.Errorf("%s: %s: %s does not see it", m.file, m.name, m.target)
		})
	}
	if *run {
		t.Logf("%d of %d mutants caught", caught, len(mutants))
	}
}

// apply returns the file with the mistake in it.
func (m *mutant) apply(t *testing.T, root string) []byte {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(source, []byte(m.old)); n != 1 {
		t.Fatalf("%s has %d times the text that this mutant replaces, want once; adapt the mutant to the code as it is now:\n%s", m.file, n, m.old)
	}
	return bytes.Replace(source, []byte(m.old), []byte(m.new), 1)
}

// caught builds the tests with the mistake in them and reports what found it: the seeds of the target, or inputs made of them. It is
// empty if nothing did.
func (m *mutant) caught(t *testing.T, root string, mutated []byte) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, m.file): write("mutated.go", mutated)}})
	if err != nil {
		t.Fatal(err)
	}
	pkg := path.Dir(m.file)
	if m.pkg != "" {
		pkg = m.pkg
	}
	binary, fuzz := filepath.Join(dir, "mutant.test"), strings.HasPrefix(m.target, "Fuzz")
	overlay := write("overlay.json", list)
	build := func(flags ...string) {
		args := append([]string{"test", "-c", "-vet=off", "-overlay", overlay, "-o", binary}, flags...)
		if out, err := command(t, root, "go", append(args, "./"+pkg)...); err != nil {
			t.Fatalf("%s: %s: does not compile: %v\n%s", m.file, m.name, err, out)
		}
	}
	build()
	pattern := "^" + m.target
	if fuzz {
		pattern += "$"
	}
	out, err := command(t, filepath.Join(root, pkg), binary, "-test.run", pattern, "-test.timeout", "2m")
	if failed(t, out, err) {
		return "a test or a seed"
	}
	if !fuzz {
		return ""
	}
	build("-fuzz=.") // with what guides the fuzzer, which takes long
	out, err = command(t, dir, binary, "-test.run", "^$", "-test.fuzz", pattern, "-test.fuzztime", *tries, "-test.fuzzcachedir", filepath.Join(dir, "cache"),
		"-test.fuzzminimizetime", "1x", "-test.parallel", "2", "-test.timeout", "5m")
	if failed(t, out, err) {
		return "an input that it made"
	}
	return ""
}

// failed reports whether the tests ran and failed.
func failed(t *testing.T, out []byte, err error) bool {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil && bytes.Contains(out, []byte("no tests to run")):
		t.Fatalf("there is no such target:\n%s", out)
	case err != nil && (!errors.As(err, &exit) || !bytes.Contains(out, []byte("FAIL")) && !bytes.Contains(out, []byte("panic:"))):
		t.Fatalf("%v\n%s", err, out)
	}
	return err != nil
}

func command(t *testing.T, dir, name string, args ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	return cmd.CombinedOutput()
}
