package audit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/conformance/internal/audit"
)

// write puts one scenario's checks where the suite would have put them.
func write(t *testing.T, dir, scenario, checks string) {
	t.Helper()
	d := filepath.Join(dir, scenario+"-2026-11-30T12-00-00-000Z")
	if err := os.MkdirAll(d, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d, "checks.json"), []byte(checks), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestVerdicts(t *testing.T) {
	allowed := audit.Allowed{"SKIPPED fine-to-skip": "reason", "EXIT auth/refuses": "has to refuse"}
	tests := []struct {
		name, checks, problem string // problem is part of the complaint, empty for a pass
	}{
		{"passes", `[{"id":"a","status":"SUCCESS"},{"id":"b","status":"INFO"}]`, ""},
		{"fails", `[{"id":"a","status":"SUCCESS"},{"id":"b","status":"FAILURE","errorMessage":"boom"}]`, "boom"},
		{"warns", `[{"id":"a","status":"SUCCESS"},{"id":"b","status":"WARNING"}]`, "WARNING b"},
		{"skips", `[{"id":"a","status":"SUCCESS"},{"id":"b","status":"SKIPPED"}]`, "SKIPPED b"},
		{"skips-with-reason", `[{"id":"a","status":"SUCCESS"},{"id":"fine-to-skip","status":"SKIPPED"}]`, ""},
		{"skips-by-name", `[{"id":"a","status":"SUCCESS"},{"id":"shared","name":"fine-to-skip","status":"SKIPPED"}]`, ""},
		{"no-checks", `[]`, "EMPTY"},
		{"only-hollow", `[{"id":"wire-schema-valid","status":"SUCCESS"}]`, "EMPTY"},
		{"only-info", `[{"id":"a","status":"INFO"}]`, "EMPTY"},
	}
	dir := t.TempDir()
	for _, tt := range tests {
		write(t, dir, tt.name, tt.checks)
	}
	all, err := audit.Read(dir, "client", allowed)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]audit.Scenario{}
	for _, s := range all {
		byName[s.Name] = s
	}
	for _, tt := range tests {
		s, ok := byName[tt.name]
		if !ok {
			t.Errorf("%s: not read", tt.name)
			continue
		}
		got := strings.Join(s.Problems, "\n")
		if tt.problem == "" && got != "" || !strings.Contains(got, tt.problem) {
			t.Errorf("%s: problems %q, want %q", tt.name, got, tt.problem)
		}
	}
}

func TestNamesOfServerScenariosLoseThePrefixOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "server-server-initialize", `[{"id":"a","status":"SUCCESS"}]`)
	all, err := audit.Read(dir, "server", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].Name != "server-initialize" {
		t.Errorf("read %+v, want one scenario server-initialize", all)
	}
}

func TestExitCodesCount(t *testing.T) {
	ok := func(name string) audit.Scenario { return audit.Scenario{Name: name, Passed: 1, Total: 1} }
	all := []audit.Scenario{ok("clean"), ok("crashed"), ok("auth/refuses"), ok("never-ran")}
	audit.Exits(all, map[string]int{"clean": 0, "crashed": 2, "auth/refuses": 1}, audit.Allowed{"EXIT auth/refuses": "has to refuse"})
	for i, want := range []bool{true, false, true, false} {
		if all[i].OK() != want {
			t.Errorf("%s: passed %v, want %v (%q)", all[i].Name, all[i].OK(), want, all[i].Problems)
		}
	}
	got := audit.Count(all, func(string) bool { return true })
	if got != (audit.Tally{Passed: 2, Total: 4, ChecksPassed: 4, Checks: 4}) {
		t.Errorf("tally %+v", got)
	}
}

func TestUnreadableResultsAreAnError(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "broken", `{oops`)
	if _, err := audit.Read(dir, "client", nil); err == nil || !strings.Contains(err.Error(), "checks.json") {
		t.Errorf("error %v does not name the file", err)
	}
}
