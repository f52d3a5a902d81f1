// Command norms checks what no linter sees: the length of test files, paths of somebody's machine in the tree, and
// registry addresses in lock files. It runs in the repository's root.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
)

// maxTestLines is the limit for a test file; production files have revive's file-length-limit.
const maxTestLines = 600

var (
	// machinePath finds folders of one machine. The pieces keep this file from finding itself.
	machinePath = regexp.MustCompile(`(^|[^\w.])/(` + "work" + `/(main|wt|shared|\.)|` + "root" + `/(go/|\.)|Users/\w+/|` + "tmp" + `/bash_jobs)`)
	resolved    = regexp.MustCompile(`"resolved"\s*:\s*"(https?|git)`)
	skipped     = regexp.MustCompile(`^(bin|\.cache|conformance/results)/|(^|/)node_modules/`)
)

func main() {
	out, err := exec.Command("scripts/files.sh").Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, "norms: cannot list the files:", err)
		os.Exit(1)
	}
	problems := 0
	for name := range strings.FieldsFuncSeq(string(out), func(r rune) bool { return r == '\n' }) {
		data, err := os.ReadFile(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "norms:", err)
			os.Exit(1)
		}
		for _, p := range check(name, data) {
			fmt.Println(p)
			problems++
		}
	}
	if problems > 0 {
		fmt.Fprintf(os.Stderr, "norms: %d problems\n", problems)
		os.Exit(1)
	}
}

// check returns what is wrong with one file, named by its slash-separated path from the root.
func check(name string, data []byte) []string {
	if skipped.MatchString(name) || bytes.IndexByte(data, 0) >= 0 {
		return nil
	}
	var problems []string
	if n := bytes.Count(data, []byte("\n")); strings.HasSuffix(name, "_test.go") && n > maxTestLines {
		problems = append(problems, fmt.Sprintf("%s: %d lines; a test file has at most %d: split it by what it tests", name, n, maxTestLines))
	}
	for i, line := range bytes.Split(data, []byte("\n")) {
		if m := machinePath.Find(line); m != nil {
			problems = append(problems, fmt.Sprintf("%s:%d: %q is a path of one machine", name, i+1, m))
		}
	}
	if base := path.Base(name); base == "package-lock.json" || base == "npm-shrinkwrap.json" {
		if resolved.Match(data) {
			problems = append(problems, name+": holds registry addresses; set omit-lockfile-registry-resolved=true in .npmrc and make it anew")
		}
	}
	return problems
}
