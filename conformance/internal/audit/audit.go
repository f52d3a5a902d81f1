// Package audit judges what the official conformance suite wrote, more strictly than the suite itself: a scenario counts as passed only
// when something of the implementation under test was really checked and nothing failed, warned or was skipped without a stated reason.
//
// The suite's own verdict is not enough. It ignores warnings, skipped checks, scenarios without any check, and, in its client role, the
// exit code of the client; several scenarios pass with no server at all.
package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Check is one entry of a checks.json file.
type Check struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Status       string `json:"status"`
	ErrorMessage string `json:"errorMessage"`
}

// The statuses a check can have.
const (
	success = "SUCCESS"
	info    = "INFO"
)

// A Scenario is the outcome of one scenario of a run.
type Scenario struct {
	Name     string
	Passed   int      // checks that succeeded
	Total    int      // checks, those of status INFO left out
	Problems []string // why it does not count as passed; empty when it does
}

// OK reports whether the scenario passed.
func (s *Scenario) OK() bool { return len(s.Problems) == 0 }

// Allowed names outcomes that are right although they are not successes, each with its reason: "STATUS check" for a check, by its id or
// its name, or "EXIT scenario" for a client that has to refuse and so ends with an error.
type Allowed map[string]string

func (a Allowed) has(what, which string) bool {
	_, ok := a[what+" "+which]
	return ok
}

// hollow checks succeed whether or not the implementation said anything.
var hollow = map[string]bool{"wire-schema-valid": true}

// stamp ends the name of a scenario's result directory.
var stamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// Read judges every scenario below dir, the directory given to the suite with -o. Names are those of the suite ("auth/iss-supported");
// the suite's prefixes "server-" and "authorization-server-" on directories of those roles are taken off. The result is sorted by name.
func Read(dir, role string, allowed Allowed) ([]Scenario, error) {
	var all []Scenario
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		name, err := scenarioName(dir, path, role)
		if err != nil {
			return err
		}
		checks, err := readChecks(path)
		if err != nil {
			return err
		}
		all = append(all, judge(name, checks, allowed))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the suite's results: %w", err)
	}
	slices.SortFunc(all, func(a, b Scenario) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

func scenarioName(dir, path, role string) (string, error) {
	rel, err := filepath.Rel(dir, filepath.Dir(path))
	if err != nil {
		return "", err
	}
	name := stamp.ReplaceAllString(filepath.ToSlash(rel), "")
	switch role {
	case "server":
		name = strings.TrimPrefix(name, "server-")
	case "authorization":
		name = strings.TrimPrefix(name, "authorization-server-")
	}
	return name, nil
}

func readChecks(path string) ([]Check, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var checks []Check
	if err := json.Unmarshal(data, &checks); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return checks, nil
}

func judge(name string, checks []Check, allowed Allowed) Scenario {
	s := Scenario{Name: name}
	real := false
	for _, c := range checks {
		if c.Status == info {
			continue
		}
		s.Total++
		if c.Status == success {
			s.Passed++
			real = real || !hollow[c.ID]
			continue
		}
		if allowed.has(c.Status, c.ID) || allowed.has(c.Status, c.Name) {
			s.Total--
			continue
		}
		s.Problems = append(s.Problems, fmt.Sprintf("%s %s (%s) %s", c.Status, c.ID, c.Name, c.ErrorMessage))
	}
	if !real {
		s.Problems = append(s.Problems, "EMPTY: nothing that the implementation did was checked")
	}
	return s
}

// Exits adds the exit codes of the clients, recorded by the suite command's own wrapper, to the scenarios they belong to. A scenario
// without a record, or with a code other than 0 that is not allowed, does not pass.
func Exits(all []Scenario, codes map[string]int, allowed Allowed) {
	for i := range all {
		s := &all[i]
		code, ran := codes[s.Name]
		switch {
		case !ran:
			s.Problems = append(s.Problems, "EXIT: the client left no record of having run")
		case code != 0 && !allowed.has("EXIT", s.Name):
			s.Problems = append(s.Problems, fmt.Sprintf("EXIT: the client ended with code %d", code))
		}
	}
}

// A Tally sums up scenarios.
type Tally struct{ Passed, Total, ChecksPassed, Checks int }

// Count tallies the scenarios that want selects.
func Count(all []Scenario, want func(name string) bool) Tally {
	var t Tally
	for _, s := range all {
		if !want(s.Name) {
			continue
		}
		t.Total++
		if s.OK() {
			t.Passed++
		}
		t.ChecksPassed += s.Passed
		t.Checks += s.Total
	}
	return t
}

func (t Tally) String() string {
	return fmt.Sprintf("scenarios %d/%d checks %d/%d", t.Passed, t.Total, t.ChecksPassed, t.Checks)
}
