package doctest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages returns the Markdown files of the module's root, docs and examples, by their slash-separated path.
func pages(t *testing.T) (root string, all map[string]string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	all = map[string]string{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (name == "node_modules" || name == "testdata" || name == "bin" || name == "results" || strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".md" {
			return nil
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		all[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return root, all
}

// TestSnippetsCompile builds the snippets of every page, each as a package that exists only for this run.
func TestSnippetsCompile(t *testing.T) {
	root, all := pages(t)
	compile(t, root, all, false)
}

// TestBrokenSnippetsFail proves that the test above can fail.
func TestBrokenSnippetsFail(t *testing.T) {
	root, _ := pages(t)
	for name, page := range map[string]string{
		"unknown name":     "```go\nfmt.Printl(1)\n```\n",
		"internal package": "```go\npackage main\n\nimport _ \"" + module + "internal/doctest\"\n\nfunc main() {}\n```\n",
		"not Go":           "```go\nfunc {\n```\n",
	} {
		t.Run(name, func(t *testing.T) { compile(t, root, map[string]string{"page.md": page}, true) })
	}
}

func compile(t *testing.T, root string, all map[string]string, broken bool) {
	t.Helper()
	dir := t.TempDir()
	overlay := map[string]string{}
	// With more than one package go build writes no binary; the second is there always.
	args := []string{"build", "-overlay", filepath.Join(dir, "overlay.json"), "./internal/doctest"}
	failed := false
	fail := func(format string, a ...any) {
		failed = true
		if !broken {
			t.Errorf(format, a...)
		}
	}
	for page, text := range all {
		for _, s := range snippets(text) {
			code, err := s.file()
			if err != nil {
				fail("%s:%d: %v", page, s.line, err)
				continue
			}
			if strings.Contains(code, module+"internal/") {
				fail("%s:%d: a reader cannot import an internal package", page, s.line)
			}
			name := fmt.Sprintf("%s_%d", strings.NewReplacer("/", "_", ".", "_").Replace(page), s.line)
			file := filepath.Join(dir, name+".go")
			if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
				t.Fatal(err)
			}
			overlay[filepath.Join(root, "internal", "doctest", "overlay", name, "snippet.go")] = file
			args = append(args, "./internal/doctest/overlay/"+name)
		}
	}
	if len(overlay) > 0 {
		data, err := json.Marshal(map[string]any{"Replace": overlay})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "overlay.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			fail("go build: %v\n%s", err, out)
		}
	}
	if broken && !failed {
		t.Error("the broken snippet passes")
	}
}

// TestSnippetForms compiles each form a snippet can have.
func TestSnippetForms(t *testing.T) {
	root, _ := pages(t)
	compile(t, root, map[string]string{"forms.md": strings.Join([]string{
		"```go\npackage main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println() }\n```",
		"```go\ntype T struct{ A int }\n\nfunc (t T) String() string { return strconv.Itoa(t.A) }\n```",
		"<!-- go: var ctx context.Context; var n int -->\n```go\nn++\nr, err := http.NewRequestWithContext(ctx, \"GET\", \"https://example.com/\", nil)\nif err != nil {\n\treturn err\n}\n```",
		"```go\nfunc a() {}\n```\ntext\n<!-- go: continue -->\n```go\nfunc b() { a() }\n```",
		"```text\nnot Go at all {\n```",
	}, "\n\n")}, false)
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinks looks up every link to a file of the repository.
func TestLinks(t *testing.T) {
	root, all := pages(t)
	for page, text := range all {
		for _, target := range deadLinks(root, page, text) {
			t.Errorf("%s: %s leads nowhere", page, target)
		}
	}
}

func deadLinks(root, page, text string) []string {
	var dead []string
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		target, _, _ := strings.Cut(m[1], "#")
		if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		path := filepath.Join(root, filepath.Dir(filepath.FromSlash(page)), filepath.FromSlash(target))
		if _, err := os.Stat(path); err != nil {
			dead = append(dead, m[1])
		}
	}
	return dead
}

// TestDeadLinkIsFound proves that the test above can fail.
func TestDeadLinkIsFound(t *testing.T) {
	root, _ := pages(t)
	const page = "[a](doctest_test.go) [b](none.md#x) [c](https://example.com/none) [d](#here)"
	if dead := deadLinks(root, "internal/doctest/page.md", page); len(dead) != 1 || dead[0] != "none.md#x" {
		t.Errorf("dead links %v, want none.md#x", dead)
	}
}
