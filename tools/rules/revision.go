package rules

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
)

const eraPath = "github.com/seed38e7925c/parley/internal/era"

// Revision reports code outside internal/era that compares protocol revisions, whether typed or spelled as text.
// Comparing with the zero value, which asks whether a revision is known at all, is allowed.
var Revision = &analysis.Analyzer{
	Name: "revision",
	Doc:  "report comparisons of protocol revisions outside internal/era",
	Run:  runRevision,
}

var spelled = regexp.MustCompile(`^20\d\d-\d\d-\d\d$`)

func runRevision(pass *analysis.Pass) (any, error) {
	if strings.TrimSuffix(pass.Pkg.Path(), "_test") == eraPath {
		return nil, nil
	}
	eachNode(pass, func(file *ast.File, n ast.Node) {
		if isTest(pass, file) {
			return
		}
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if comparison(n.Op) && (differs(pass, n.X, n.Y) || differs(pass, n.Y, n.X)) {
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

func report(pass *analysis.Pass, n ast.Node) {
	pass.Reportf(n.Pos(), "revision compared outside internal/era: ask a named field of rev.Rules()")
}

func comparison(op token.Token) bool {
	switch op {
	case token.LSS, token.LEQ, token.GTR, token.GEQ, token.EQL, token.NEQ:
		return true
	default:
		return false
	}
}

// differs reports whether x is told apart from y by revision.
func differs(pass *analysis.Pass, x, y ast.Expr) bool {
	value := pass.TypesInfo.Types[y].Value
	if value != nil && value.Kind() == constant.String {
		return spelled.MatchString(constant.StringVal(value))
	}
	return isRevision(pass.TypesInfo.TypeOf(x)) && !isZero(value) && !isZero(pass.TypesInfo.Types[x].Value)
}

func isZero(v constant.Value) bool {
	return v != nil && v.Kind() == constant.Int && constant.Sign(v) == 0
}

func switchesOnRevision(pass *analysis.Pass, s *ast.SwitchStmt) bool {
	for _, clause := range s.Body.List {
		for _, e := range clause.(*ast.CaseClause).List {
			if differs(pass, s.Tag, e) {
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
