package doctest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	caseRow  = regexp.MustCompile(`^\| ([A-Z][0-9]{2}) \| (.+?) \| (.+) \|$`)
	caseCell = regexp.MustCompile("`([a-z/]+)`: ((?:`Test\\w+`(?:, )?)+)")
	caseID   = regexp.MustCompile(`[A-Z][0-9]{2}`)
	testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	bankHead = regexp.MustCompile(`(?m)^### ([A-Z][0-9]{2}) `)
)

// caseFamilies are the families of cases that this repository plays; others belong to what is not built yet.
const caseFamilies = "JSHEVCNFMBKPAUW"

// TestCasesAreListed compares docs/cases.md with the tests: what it names exists, and what is named by a case stands in its row.
func TestCasesAreListed(t *testing.T) {
	root, all := pages(t)
	tests := testFuncs(t, root)
	for _, p := range caseProblems(all["docs/cases.md"], tests, bank(t, root)) {
		t.Errorf("docs/cases.md: %s", p)
	}
}

// TestListOfCasesIsChecked proves that the test above can fail.
func TestListOfCasesIsChecked(t *testing.T) {
	tests := map[string]bool{"mcp.TestCaseJ01J03Keys": true, "mcp.TestCaseJ04": true, "form.TestOther": true}
	good := "| J01 | a | `mcp`: `TestCaseJ01J03Keys` |\n| J03 | a | `form`: `TestOther`; `mcp`: `TestCaseJ01J03Keys` |\n| J04 | a | `mcp`: `TestCaseJ04` |\n" +
		"| J05 | a | none: nobody has it |\n"
	if got := caseProblems(good, tests, []string{"J01", "J05", "T01"}); len(got) > 0 {
		t.Errorf("problems of a good list: %q", got)
	}
	for name, tc := range map[string]struct{ page, want string }{
		"missing row":    {strings.Replace(good, "| J04", "| x", 1), "J04 has no row, but mcp.TestCaseJ04"},
		"missing case":   {strings.Replace(good, "| J05", "| J06", 1), "J05 is missing"},
		"missing test":   {strings.Replace(good, "`TestCaseJ04`", "`TestCaseJ05`", 1), "mcp.TestCaseJ05 does not exist"},
		"unlisted test":  {strings.Replace(good, "; `mcp`: `TestCaseJ01J03Keys`", "", 1), "J03: mcp.TestCaseJ01J03Keys is not listed"},
		"no test at all": {strings.Replace(good, "none: nobody has it", "later", 1), "J05 names no test and no reason"},
		"named by none":  {strings.Replace(good, "none: nobody has it", "`form`: `TestOther`", 1), "J05: no test is named by it"},
		"twice":          {good + "| J05 | a | none: x |\n", "J05 is listed twice"},
	} {
		if got := caseProblems(tc.page, tests, []string{"J01", "J05"}); !slices.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// caseProblems returns what is wrong with the list.
func caseProblems(page string, tests map[string]bool, bank []string) []string {
	var problems []string
	rows := map[string]map[string]bool{}
	for line := range strings.Lines(page) {
		m := caseRow.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		if rows[m[1]] != nil {
			problems = append(problems, m[1]+" is listed twice")
		}
		rows[m[1]] = map[string]bool{}
		named := strings.HasPrefix(m[3], "none: ")
		for _, cell := range caseCell.FindAllStringSubmatch(m[3], -1) {
			for name := range strings.SplitSeq(cell[2], ", ") {
				name = strings.Trim(name, "`")
				rows[m[1]][cell[1]+"."+name] = true
				named = named || strings.HasPrefix(name, "TestCase") && slices.Contains(caseID.FindAllString(name[len("TestCase"):], -1), m[1])
				if !tests[cell[1]+"."+name] {
					problems = append(problems, cell[1]+"."+name+" does not exist")
				}
			}
		}
		switch {
		case len(rows[m[1]]) == 0 && !named:
			problems = append(problems, m[1]+" names no test and no reason")
		case !named:
			problems = append(problems, m[1]+": no test is named by it")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		_, ids, ok := strings.Cut(name, ".TestCase")
		if !ok {
			continue
		}
		for _, id := range caseID.FindAllString(ids, -1) {
			switch row := rows[id]; {
			case row == nil:
				problems = append(problems, id+" has no row, but "+name)
			case !row[name]:
				problems = append(problems, id+": "+name+" is not listed")
			}
		}
	}
	for _, id := range bank {
		if strings.Contains(caseFamilies, id[:1]) && rows[id] == nil {
			problems = append(problems, id+" is missing")
		}
	}
	return problems
}

// testFuncs returns every test of the repository as package.Name, packages by their folder.
func testFuncs(t *testing.T, root string) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != root && (name == "node_modules" || name == "testdata" || name == "bin" || strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			tests[filepath.ToSlash(rel)+"."+m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

// bank returns the ids of the bank of cases that the list was made from, where it lies beside the repository.
func bank(t *testing.T, root string) []string {
	t.Helper()
	dir := os.Getenv("PARLEY_SHARED")
	if dir == "" {
		dir = filepath.Join(root, "..", "shared")
	}
	text, err := os.ReadFile(filepath.Join(dir, "cases.md"))
	if err != nil {
		t.Logf("whether every case is listed is not known here: %v", err)
		return nil
	}
	var ids []string
	for _, m := range bankHead.FindAllStringSubmatch(string(text), -1) {
		ids = append(ids, m[1])
	}
	return ids
}
