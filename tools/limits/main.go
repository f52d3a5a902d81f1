// Command limits writes docs/limits.md from the source: every numeric field of an exported options struct in a public
// package, with the default that its comment states. A field whose comment states none is an error, so that no limit goes
// undocumented.
//
//	go run ./limits -root .. -out ../docs/limits.md
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

const intro = `# Limits

Everything that a peer could make grow is bounded, and every bound is an option. The zero value of a field is its default. This page is made from the
comments in the source by ` + "`make generate`" + `; ` + "`go doc`" + ` has the full text.
`

func main() {
	root := flag.String("root", ".", "the repository")
	out := flag.String("out", "docs/limits.md", "the page to write")
	flag.Parse()
	page, err := render(*root)
	if err == nil {
		err = os.WriteFile(*out, []byte(page), 0o644) //nolint:gosec // a page for everybody
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "limits:", err)
		os.Exit(1)
	}
}

// limit is one row of the page.
type limit struct{ option, bound, what string }

// table is the options struct of a package.
type table struct {
	pkg, name string
	limits    []limit
}

func render(root string) (string, error) {
	tables, err := collect(root)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(intro)
	pkg := ""
	for _, t := range tables {
		if t.pkg != pkg {
			pkg = t.pkg
			fmt.Fprintf(&b, "\n## Package %s\n", pkg)
		}
		fmt.Fprintf(&b, "\n| `%s` | default | |\n|---|---|---|\n", t.name)
		for _, l := range t.limits {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", l.option, l.bound, l.what)
		}
	}
	return b.String(), nil
}

var private = regexp.MustCompile(`^(internal|cmd|tools|conformance|interop|bench|examples|scripts|docs|bin|testdata|node_modules|\..*)$`)

// collect parses every public package below root.
func collect(root string) ([]table, error) {
	var tables []table
	var problems []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && private.MatchString(d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		found, bad := options(filepath.ToSlash(rel), file)
		tables = append(tables, found...)
		problems = append(problems, bad...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("the comment must say \"The default is …\":\n  %s", strings.Join(problems, "\n  "))
	}
	sort.SliceStable(tables, func(i, j int) bool {
		return tables[i].pkg < tables[j].pkg || tables[i].pkg == tables[j].pkg && tables[i].name < tables[j].name
	})
	return tables, nil
}

var optionsName = regexp.MustCompile(`(Options|Limits|Config)$`)

// options returns the options structs of a file that have limits, and the fields whose comment states no default.
func options(pkg string, file *ast.File) (tables []table, problems []string) {
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			typ, ok := spec.(*ast.TypeSpec)
			if !ok || !typ.Name.IsExported() || !optionsName.MatchString(typ.Name.Name) {
				continue
			}
			st, ok := typ.Type.(*ast.StructType)
			if !ok {
				continue
			}
			limits, bad := fields(st, gen.Doc.Text()+" "+typ.Doc.Text())
			for _, f := range bad {
				problems = append(problems, pkg+"."+typ.Name.Name+"."+f)
			}
			if len(limits) > 0 {
				tables = append(tables, table{pkg, typ.Name.Name, limits})
			}
		}
	}
	return tables, problems
}

func fields(st *ast.StructType, doc string) (limits []limit, undocumented []string) {
	elsewhere := zeroMeans.FindStringSubmatch(strings.Join(strings.Fields(doc), " "))
	for _, f := range st.Fields.List {
		if !numeric(f.Type) {
			continue
		}
		for _, name := range f.Names {
			if !name.IsExported() {
				continue
			}
			what, bound, ok := describe(name.Name, f.Doc.Text()+" "+f.Comment.Text())
			if !ok && elsewhere != nil {
				what, bound, ok = tidy(strings.Join(strings.Fields(f.Doc.Text()), " ")), tidy(elsewhere[1]), true
			}
			if !ok {
				undocumented = append(undocumented, name.Name)
				continue
			}
			limits = append(limits, limit{name.Name, bound, what})
		}
	}
	return limits, undocumented
}

// numeric reports whether a field counts something: a number or a duration.
func numeric(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.Ident:
		return regexp.MustCompile(`^u?int\d*$|^float\d+$`).MatchString(t.Name)
	case *ast.SelectorExpr:
		x, ok := t.X.(*ast.Ident)
		return ok && x.Name == "time" && t.Sel.Name == "Duration"
	default:
		return false
	}
}

var (
	defaultIs = regexp.MustCompile(`(?i)\b(?:(?:the|its) default is|default:?) (.+?)([.;:)]( |$)|$)`)
	// zeroMeans is how a whole struct defers to another: "every zero field means what the client's options say".
	zeroMeans = regexp.MustCompile(`(?i)\bzero (?:field|value)s? (?:of each field )?means? (what .+?)([.;]|$)`)
	docLink   = regexp.MustCompile(`\[([\w.*]+)\]`)
)

// describe takes a comment apart: what the field is, and the default.
func describe(name, comment string) (what, bound string, ok bool) {
	comment = strings.Join(strings.Fields(comment), " ")
	m := defaultIs.FindStringSubmatchIndex(comment)
	if m == nil {
		return "", "", false
	}
	what = strings.TrimSpace(strings.TrimPrefix(comment[:m[0]], name+" "))
	if what == "" {
		what = strings.TrimSpace(comment[m[1]:])
	}
	return tidy(what), tidy(comment[m[2]:m[3]]), true
}

func tidy(s string) string {
	s = docLink.ReplaceAllString(s, "`$1`")
	return strings.ReplaceAll(strings.TrimRight(s, " ,;"), "|", `\|`)
}
