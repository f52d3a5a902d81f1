package rules

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

const (
	module  = "github.com/seed38e7925c/parley/"
	eraPath = module + "internal/era"
)

// exempt modules compare implementations at chosen revisions, which they have to name.
var exempt = []string{module + "bench", module + "interop"}

// Revision reports code outside internal/era that compares protocol revisions, whether typed or spelled as text.
var Revision = &analysis.Analyzer{
	Name: "revision",
	Doc:  "report comparisons of protocol revisions outside internal/era",
	Run:  runRevision,
}

var spelled = regexp.MustCompile(`^20\d\d-\d\d-\d\d$`)

func runRevision(pass *analysis.Pass) (any, error) {
	if path := strings.TrimSuffix(pass.Pkg.Path(), "_test"); path == eraPath || isExempt(path) {
		return nil, nil
	}
	eachNode(pass, func(file *ast.File, n ast.Node) {
		if isTest(pass, file) {
			return
		}
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if compared(pass, n) {
				report(pass, n)
			}
		case *ast.SwitchStmt:
			if n.Tag != nil && switchesOnRevision(pass, n) {
				report(pass, n)
			}
		}
	})
	return nil, nil
}

func isExempt(path string) bool {
	return slices.ContainsFunc(exempt, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") })
}

func report(pass *analysis.Pass, n ast.Node) {
	pass.Reportf(n.Pos(), "revision compared outside internal/era: ask a named field of rev.Rules()")
}

// compared reports whether an expression orders revisions, or asks whether one is a certain one. Whether two revisions
// that are not known beforehand are the same says nothing about differences, and neither does a comparison with zero.
func compared(pass *analysis.Pass, n *ast.BinaryExpr) bool {
	switch n.Op {
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		return isRevision(pass.TypesInfo.TypeOf(n.X)) && isRevision(pass.TypesInfo.TypeOf(n.Y)) || named(pass, n.X) || named(pass, n.Y)
	case token.EQL, token.NEQ:
		return named(pass, n.X) || named(pass, n.Y)
	default:
		return false
	}
}

// named reports whether e is a certain revision: a constant of the type other than zero, or its spelling.
func named(pass *analysis.Pass, e ast.Expr) bool {
	value := pass.TypesInfo.Types[e].Value
	switch {
	case value == nil:
		return false
	case value.Kind() == constant.String:
		return spelled.MatchString(constant.StringVal(value))
	default:
		return isRevision(pass.TypesInfo.TypeOf(e)) && constant.Sign(value) != 0
	}
}

func switchesOnRevision(pass *analysis.Pass, s *ast.SwitchStmt) bool {
	for _, clause := range s.Body.List {
		for _, e := range clause.(*ast.CaseClause).List {
			if named(pass, e) {
				return true
			}
		}
	}
	return false
}

// isRevision reports whether t is era.Revision, or a type made from it under another name.
func isRevision(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return false
	}
	return named.Obj().Name() == "Revision" && strings.HasPrefix(named.Obj().Pkg().Path(), "github.com/seed38e7925c/parley/")
}
