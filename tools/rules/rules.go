// Package rules holds the project's own analyzers: what no published linter checks.
//
// An exception is a comment on the line, or on the line above it: //parleylint:ignore NAME reason.
// The reason is required.
package rules

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// All lists the analyzers.
func All() []*analysis.Analyzer { return []*analysis.Analyzer{Revision, Sleep} }

var ignore = regexp.MustCompile(`^//parleylint:ignore (\w+) \S`)

// eachNode calls f for every node of every file, and drops what f reports on lines that carry an exception.
func eachNode(pass *analysis.Pass, f func(*ast.File, ast.Node)) {
	send := pass.Report
	for _, file := range pass.Files {
		excused := exceptions(pass, file)
		pass.Report = func(d analysis.Diagnostic) {
			if !excused[pass.Fset.Position(d.Pos).Line] {
				send(d)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if n != nil {
				f(file, n)
			}
			return true
		})
	}
	pass.Report = send
}

// exceptions returns the lines of file that are excused from the analyzer that is running.
func exceptions(pass *analysis.Pass, file *ast.File) map[int]bool {
	lines := map[int]bool{}
	for _, group := range file.Comments {
		for _, c := range group.List {
			m := ignore.FindStringSubmatch(c.Text)
			if m == nil || m[1] != pass.Analyzer.Name {
				continue
			}
			line := pass.Fset.Position(c.Pos()).Line
			lines[line], lines[line+1] = true, true
		}
	}
	return lines
}

func isTest(pass *analysis.Pass, file *ast.File) bool {
	return strings.HasSuffix(pass.Fset.File(file.FileStart).Name(), "_test.go")
}

func imports(file *ast.File, path string) bool {
	for _, spec := range file.Imports {
		if spec.Path.Kind == token.STRING && spec.Path.Value == `"`+path+`"` {
			return true
		}
	}
	return false
}
