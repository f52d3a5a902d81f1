package lintcheck

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const module = "github.com/seed38e7925c/parley"

// finding is one line of golangci-lint's report.
type finding struct {
	FromLinter string
	Text       string
	Pos        struct {
		Filename string
		Line     int
	}
}

// lint runs golangci-lint with the project's configuration on a module made of files, and returns what it found.
func lint(t *testing.T, files map[string]string) []finding {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files["go.mod"] = "module " + module + "\n\ngo 1.26.0\n"
	dir := write(t, files)
	config, err := os.ReadFile(filepath.Join(root, ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".golangci.yml"), config, 0o644); err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(dir, "report.json")
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "golangci-lint"), "run",
		"--allow-parallel-runners", "--issues-exit-code=0", "--output.json.path="+report, "./...")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("golangci-lint: %v\n%s(make setup builds it)", err, out)
	}
	data, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var result struct{ Issues []finding }
	if err := json.Unmarshal(data, &result); err != nil {
		t.Fatal(err)
	}
	for _, f := range result.Issues {
		if f.FromLinter == "typecheck" {
			t.Fatalf("the sample does not compile: %s:%d: %s", f.Pos.Filename, f.Pos.Line, f.Text)
		}
	}
	return result.Issues
}

var want = regexp.MustCompile(`// want (\w+)(?:: ([^/]+))?`)

// TestSamples lints testdata/module and compares the findings with its "// want LINTER: text" comments.
func TestSamples(t *testing.T) {
	files := map[string]string{}
	base := filepath.Join("testdata", "module")
	err := filepath.Walk(base, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(base, path)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]finding{}
	for _, f := range lint(t, files) {
		key := fmt.Sprintf("%s:%d", filepath.ToSlash(f.Pos.Filename), f.Pos.Line)
		found[key] = append(found[key], f)
	}
	for name, text := range files {
		for i, line := range strings.Split(text, "\n") {
			key := fmt.Sprintf("%s:%d", name, i+1)
			for _, m := range want.FindAllStringSubmatch(line, -1) {
				if !has(found[key], m[1], strings.TrimSpace(m[2])) {
					t.Errorf("%s: no finding of %s %q; found %v", key, m[1], m[2], found[key])
				}
			}
		}
	}
}

func has(fs []finding, linter, text string) bool {
	for _, f := range fs {
		if f.FromLinter == linter && strings.Contains(f.Text, text) {
			return true
		}
	}
	return false
}

// TestLimits lints generated code that is one over each limit.
func TestLimits(t *testing.T) {
	const head = "// Package big is a sample.\npackage big\n\n"
	long := head + "func long(n int) int {\n" + strings.Repeat("\tn++\n", 81) + "\treturn n\n}\n\nvar _ = long\n"
	branchy := head + "func branchy(n int) int {\n" + strings.Repeat("\tif n > 1 {\n\t\tn--\n\t}\n", 15) +
		"\treturn n\n}\n\nvar _ = branchy\n"
	file := head + strings.Repeat("// A line.\n", 800)
	fs := lint(t, map[string]string{"big/long.go": long, "branchy/branchy.go": branchy, "file/file.go": file})
	for linter, text := range map[string]string{"funlen": "too long", "gocyclo": "complexity 16", "revive": "file-length"} {
		if !has(fs, linter, text) {
			t.Errorf("no finding of %s (%s) in %v", linter, text, fs)
		}
	}
}

// arrows lists, for each package, an import that DESIGN's table of packages forbids.
var arrows = []struct{ pkg, imports string }{
	{"jsonrpc", "net/http"},
	{"jsonrpc", module + "/internal/era"},
	{"internal/era", module + "/mcp"},
	{"internal/era", "net/http"},
	{"internal/conn", module + "/internal/era"},
	{"internal/conn", "net/http"},
	{"internal/sse", module + "/jsonrpc"},
	{"internal/schema", module + "/jsonrpc"},
	{"internal/schema", "net/http"},
	{"form", module + "/mcp"},
	{"form", "net/http"},
	{"consent", module + "/mcp"},
	{"mcp", "net/http"},
	{"mcp", "net/http/httputil"},
	{"mcp", module + "/ask"},
	{"mcp", module + "/mcphttp"},
	{"mcp", module + "/consent"},
	{"mcp", "testing"},
	{"ask", "net/http"},
	{"ask", module + "/mcphttp"},
	{"mcphttp", module + "/connect"},
	{"mcphttp", module + "/mcptest"},
	{"mcphttp", module + "/cmd/parley/terminal"},
	{"form", module + "/mcptest"},
	{"interactor/terminal", module + "/internal/era"},
	{"interactor/web", module + "/mcphttp"},
}

// TestArrows lints one package for each forbidden import, below the package that must not have it.
func TestArrows(t *testing.T) {
	files := map[string]string{}
	for i, a := range arrows {
		files[sample(i)] = fmt.Sprintf("// Package sample imports what it must not.\npackage sample\n\nimport _ %q // sample\n", a.imports)
		if rel, ok := strings.CutPrefix(a.imports, module+"/"); ok {
			files[rel+"/empty.go"] = "// Package empty stands in.\npackage empty\n"
		}
	}
	found := map[string][]finding{}
	for _, f := range lint(t, files) {
		found[filepath.ToSlash(f.Pos.Filename)] = append(found[filepath.ToSlash(f.Pos.Filename)], f)
	}
	for i, a := range arrows {
		if !has(found[sample(i)], "depguard", a.imports) {
			t.Errorf("%s may import %s; found %v", a.pkg, a.imports, found[sample(i)])
		}
	}
	for name, fs := range found {
		if strings.HasSuffix(name, "/empty.go") {
			t.Errorf("%s: %v", name, fs)
		}
	}
}

func sample(i int) string { return fmt.Sprintf("%s/s%d/f.go", arrows[i].pkg, i) }
