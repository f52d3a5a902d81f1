package doctest

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"sort"
	"strings"
)

const module = "github.com/seed38e7925c/parley/"

// known are the import paths that a fragment may use by the last element of their path.
var known = importable(
	module+"ask", module+"connect", module+"connect/postgres", module+"connect/sqlite", module+"consent", module+"form", module+"jsonrpc", module+"mcp", module+"mcpauth", module+"mcpauth/keyring",
	"golang.org/x/oauth2", module+"mcphttp", module+"mcptest", module+"interactor/headless", module+"interactor/terminal", module+"interactor/web",
	"bufio", "bytes", "cmp", "context", "encoding/json", "errors", "fmt", "io", "log", "log/slog", "net", "net/http",
	"net/http/httptest", "net/url", "os", "os/exec", "os/signal", "slices", "strconv", "strings", "sync", "testing", "time",
)

func importable(paths ...string) map[string]string {
	m := map[string]string{}
	for _, p := range paths {
		m[path.Base(p)] = p
	}
	return m
}

// snippet is one compiled unit of a page: a fence, with those that continue it.
type snippet struct {
	line    int    // of the first fence, from 1
	prelude string // declarations from the comment before the fence
	code    string
}

// snippets returns the Go fences of a Markdown page.
func snippets(page string) []snippet {
	var found []snippet
	var prelude string
	var code []string
	start, goes := 0, false
	fence := ""
	for i, line := range strings.Split(page, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "" && trimmed == fence:
			if goes {
				found = join(found, snippet{start, prelude, strings.Join(code, "\n") + "\n"})
			}
			fence, prelude = "", ""
		case fence != "":
			code = append(code, line)
		case strings.HasPrefix(trimmed, "```"):
			fence, code, start = "```", nil, i+1
			goes = strings.TrimPrefix(trimmed, "```") == "go"
		case strings.HasPrefix(trimmed, "<!-- go:") && strings.HasSuffix(trimmed, "-->"):
			prelude = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(trimmed, "<!-- go:"), "-->"))
		case trimmed != "":
			prelude = ""
		}
	}
	return found
}

func join(found []snippet, s snippet) []snippet {
	if s.prelude != "continue" || len(found) == 0 {
		return append(found, s)
	}
	found[len(found)-1].code += "\n" + s.code
	return found
}

// file turns a snippet into the text of a Go file.
func (s snippet) file() (string, error) {
	if _, err := parser.ParseFile(token.NewFileSet(), "", s.code, parser.PackageClauseOnly); err == nil {
		return s.code, nil
	}
	prelude := strings.ReplaceAll(s.prelude, "; ", "\n")
	body := "package snippet\n" + prelude + "\n" + s.code
	if _, err := parser.ParseFile(token.NewFileSet(), "", body, 0); err != nil {
		body = "package snippet\nfunc _() error {\n" + prelude + "\n" + s.code + "\n" + used(s.code) + "return nil\n}\n"
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", body, 0)
	if err != nil {
		return "", fmt.Errorf("not Go: %w", err)
	}
	text := strings.Replace(body, "package snippet\n", "package snippet\n"+imports(file), 1)
	out, err := format.Source([]byte(text))
	return string(out), err
}

// imports returns import lines for the packages that file names without importing them.
func imports(file *ast.File) string {
	names := map[string]bool{}
	for _, id := range file.Unresolved { // enough for names of packages, and needs no type check
		names[id.Name] = true
	}
	for _, spec := range file.Imports {
		delete(names, path.Base(strings.Trim(spec.Path.Value, `"`)))
	}
	var lines []string
	for name := range names {
		if p, ok := known[name]; ok {
			lines = append(lines, fmt.Sprintf("import %q\n", p))
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "")
}

// used returns statements that use the variables which statement fragments define at their top level, so that a fragment
// may end before it uses them.
func used(code string) string {
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc _() {\n"+code+"\n}", 0)
	if err != nil {
		return ""
	}
	var out strings.Builder
	for _, stmt := range file.Decls[len(file.Decls)-1].(*ast.FuncDecl).Body.List {
		assign, ok := stmt.(*ast.AssignStmt)
		if !ok || assign.Tok != token.DEFINE {
			continue
		}
		for _, e := range assign.Lhs {
			if id, ok := e.(*ast.Ident); ok && id.Name != "_" {
				fmt.Fprintf(&out, "_ = %s\n", id.Name)
			}
		}
	}
	return out.String()
}
