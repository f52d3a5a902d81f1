package lintcheck

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVulnerabilities runs scripts/vuln.sh against databases of its own: one in which the sample calls something
// vulnerable, one in which it does not, and one that cannot be reached.
func TestVulnerabilities(t *testing.T) {
	sample := write(t, map[string]string{
		"go.mod":  "module sample.example/m\n\ngo 1.26.0\n",
		"main.go": "package main\n\nimport \"os\"\n\nfunc main() { println(os.Getenv(\"HOME\")) }\n",
	})
	const entry = `{"schema_version":"1.3.1","id":"GO-2000-0001","modified":"2026-01-01T00:00:00Z","published":"2026-01-01T00:00:00Z",` +
		`"summary":"a sample","details":"a sample","affected":[{"package":{"name":"stdlib","ecosystem":"Go"},` +
		`"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}],"ecosystem_specific":{"imports":[{"path":"os","symbols":["SYMBOL"]}]}}],` +
		`"database_specific":{"url":"https://vuln.example/GO-2000-0001","review_status":"REVIEWED"}}`
	database := func(symbol string) string {
		return "file://" + write(t, map[string]string{
			"index/db.json":        `{"modified":"2026-01-01T00:00:00Z"}`,
			"index/modules.json":   `[{"path":"stdlib","vulns":[{"id":"GO-2000-0001","modified":"2026-01-01T00:00:00Z"}]}]`,
			"index/vulns.json":     `[{"id":"GO-2000-0001","modified":"2026-01-01T00:00:00Z"}]`,
			"ID/GO-2000-0001.json": strings.ReplaceAll(entry, "SYMBOL", symbol),
		})
	}
	gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			panic(http.ErrAbortHandler) // the connection breaks
		}
	}))
	defer gone.Close()
	for _, c := range []struct {
		name, db, env string
		fails         bool
		says          string
	}{
		{"reachable", database("Getenv"), "", true, "GO-2000-0001"},
		{"not reachable", database("Chown"), "", false, "no known vulnerability is reachable"},
		{"no database", gone.URL, "", false, "THIS CHECK DID NOT RUN"},
		{"no database, but required", gone.URL, "1", true, "THIS CHECK DID NOT RUN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "../../scripts/vuln.sh")
			cmd.Env = append(os.Environ(), "VULN_MODULES="+sample, "VULNDB="+c.db, "PARLEY_REQUIRE_VULNDB="+c.env)
			out, err := cmd.CombinedOutput()
			if (err != nil) != c.fails || !strings.Contains(string(out), c.says) {
				t.Errorf("error %v, want one: %v\n%s", err, c.fails, out)
			}
		})
	}
}

// write makes a directory with the files, and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
