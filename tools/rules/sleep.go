package rules

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// Sleep reports calls of time.Sleep: library code must be able to stop waiting, and a test that sleeps is slow or
// flaky. Inside a testing/synctest bubble a sleep is neither, so test files that import testing/synctest are let be.
var Sleep = &analysis.Analyzer{
	Name: "sleep",
	Doc:  "report time.Sleep in libraries and in tests without testing/synctest",
	Run:  runSleep,
}

func runSleep(pass *analysis.Pass) (any, error) {
	eachNode(pass, func(file *ast.File, n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || !isTimeSleep(pass, call.Fun) {
			return
		}
		switch {
		case !isTest(pass, file):
			pass.Reportf(call.Pos(), "this sleep cannot be cancelled: select on a timer and the context")
		case !imports(file, "testing/synctest"):
			pass.Reportf(call.Pos(), "sleep in a test: use testing/synctest, or wait for the event itself")
		}
	})
	return nil, nil
}

func isTimeSleep(pass *analysis.Pass, fun ast.Expr) bool {
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	f, ok := pass.TypesInfo.Uses[sel.Sel].(*types.Func)
	return ok && f.FullName() == "time.Sleep"
}
