package archtest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/seed38e7925c/parley"

// graph is what a package may link.
type graph struct {
	pkg     string
	foreign []string // modules; "*" allows any
	http    bool     // net/http may be linked
}

// graphs: a stdio server links neither net/http (4 MB) nor OAuth, and mcp at most four foreign modules.
var graphs = []graph{
	{pkg: "jsonrpc", foreign: []string{"github.com/go-json-experiment/json"}},
	{pkg: "internal/era", foreign: []string{"github.com/go-json-experiment/json"}},
	{pkg: "internal/conn", foreign: []string{"github.com/go-json-experiment/json"}},
	{pkg: "internal/sse"},
	{pkg: "form", foreign: []string{"github.com/go-json-experiment/json", "github.com/google/jsonschema-go"}},
	{pkg: "mcp", foreign: mcpModules},
	{pkg: "ask", foreign: mcpModules},
	{pkg: "mcphttp", foreign: mcpModules, http: true},
	{pkg: "mcpauth", foreign: append([]string{"github.com/go-jose/go-jose/v4", "golang.org/x/oauth2", "golang.org/x/sys", "golang.org/x/net", "golang.org/x/text", "go.mau.fi/util"}, mcpModules...), http: true},
	{pkg: "consent", foreign: []string{"golang.org/x/net", "golang.org/x/text", "go.mau.fi/util"}, http: true},
}

var mcpModules = []string{"github.com/go-json-experiment/json", "github.com/google/jsonschema-go", "github.com/yosida95/uritemplate/v3"}

func TestGraphs(t *testing.T) {
	if len(mcpModules) > 4 {
		t.Errorf("mcp may link %d foreign modules; the limit is 4", len(mcpModules))
	}
	for _, g := range graphs {
		t.Run(g.pkg, func(t *testing.T) {
			packages, modules := deps(t, "./"+g.pkg)
			if !g.http && slices.Contains(packages, "net/http") {
				t.Error("links net/http; `go mod why net/http` tells through what")
			}
			for _, m := range modules {
				if !slices.Contains(g.foreign, m) {
					t.Errorf("links %s", m)
				}
			}
		})
	}
}

// TestNoTestKitInPrograms: nothing that is shipped links package testing.
func TestNoTestKitInPrograms(t *testing.T) {
	for _, pkg := range []string{"mcp", "mcphttp", "ask", "consent", "form"} {
		if packages, _ := deps(t, "./"+pkg); slices.Contains(packages, "testing") {
			t.Errorf("%s links package testing", pkg)
		}
	}
}

// deps returns the packages that pkg links, and the foreign modules that they come from.
func deps(t *testing.T, pkg string) (packages, modules []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{.ImportPath}} {{with .Module}}{{.Path}}{{end}}", pkg)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		path, mod, _ := strings.Cut(strings.TrimSpace(line), " ")
		packages = append(packages, path)
		if mod != "" && mod != module && !slices.Contains(modules, mod) {
			modules = append(modules, mod)
		}
	}
	return packages, modules
}
