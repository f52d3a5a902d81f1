package mcp_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/internal/spectest"
	"github.com/seed38e7925c/parley/mcp"
)

// source is one definition of one revision that a Go type is checked against.
type source struct {
	rev  mcp.Revision
	doc  *spectest.Document
	name string
	s    *spectest.Schema
}

func (s source) String() string { return s.rev.String() + " " + s.name }

// collect gathers, for every Go type of the mapping, the definitions it stands for, and fails on definitions that are
// neither mapped nor listed as unmapped.
func collect(t *testing.T) map[reflect.Type][]source {
	t.Helper()
	out := map[reflect.Type][]source{}
	for _, rev := range mcp.Revisions() {
		doc := spectest.Load(t, rev.String())
		for name, s := range doc.Defs {
			if typ, ok := definitions[name]; ok {
				out[typ] = append(out[typ], source{rev, doc, name, s})
				continue
			}
			props, _ := doc.Object(s)
			if method, ok := props["method"]; ok && method.Const != nil {
				typ, ok := params[method.Const.(string)]
				if !ok {
					t.Errorf("%s %s: no Go type for the params of %v", rev, name, method.Const)
				} else if p := props["params"]; p != nil {
					out[typ] = append(out[typ], source{rev, doc, name + ".params", p})
				}
				continue
			}
			if unmapped[name] == "" {
				t.Errorf("%s %s: not mapped to a Go type, and no reason given", rev, name)
			}
		}
	}
	return out
}

// field is one member of a Go type on the wire.
type field struct {
	name string
	typ  reflect.Type
	omit bool
}

func fields(t *testing.T, typ reflect.Type) map[string]field {
	t.Helper()
	out := map[string]field{}
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || opts == "embed" || !f.IsExported():
		case name == "" && f.Anonymous:
			for k, v := range fields(t, f.Type) {
				out[k] = v
			}
		case name == "":
			t.Errorf("%v.%s has no JSON name", typ, f.Name)
		default:
			out[name] = field{name, f.Type, opts == "omitzero" || opts == "omitempty"}
		}
	}
	return out
}

// TestSchemaTypes compares every Go type with the definitions of all revisions that it stands for: names of members,
// which may be left out, their kinds, and that no member is invented.
func TestSchemaTypes(t *testing.T) {
	for typ, sources := range collect(t) {
		checkType(t, typ.String(), typ, sources)
	}
}

func checkType(t *testing.T, path string, typ reflect.Type, sources []source) {
	t.Helper()
	typ = deref(typ)
	if typ.Kind() != reflect.Struct {
		return // a map or raw JSON: anything fits
	}
	have := fields(t, typ)
	// A type with definitions of its own is checked as a whole elsewhere; here only some revisions write it in place.
	whole := path == typ.String() || !slices.Contains(slices.Collect(maps.Values(definitions)), typ)
	inner := map[string][]source{}
	optional := map[string]bool{}
	for _, src := range sources {
		props, required := src.doc.Object(src.s)
		for name, p := range props {
			if _, known := have[name]; !known {
				if !impliedMember(typ, name, p) {
					t.Errorf("%s: member %q of %v is missing", path, name, src)
				}
				continue
			}
			inner[name] = append(inner[name], source{src.rev, src.doc, src.name + "." + name, p})
		}
		for name := range have {
			if !required[name] {
				optional[name] = true
			}
		}
	}
	for name, f := range have {
		where := path + "." + name
		if len(inner[name]) == 0 {
			if invented[where] == "" && whole {
				t.Errorf("%s: no revision has it", where)
			}
			continue
		}
		if f.omit != optional[name] && stamped[where] == "" && whole {
			t.Errorf("%s: left out when empty: %v, optional in some revision: %v", where, f.omit, optional[name])
		}
		for _, p := range inner[name] {
			if !fits(p, f.typ) {
				t.Errorf("%s: Go type %v does not fit %v", where, f.typ, p)
			}
			checkEnum(t, where, f.typ, p)
		}
		if elem, deeper := inline(f.typ, inner[name]); len(deeper) > 0 {
			checkType(t, where, elem, deeper)
		}
	}
}

// impliedMember reports whether a member that has no field is written by the type itself: the type of content.
func impliedMember(typ reflect.Type, name string, p *spectest.Schema) bool {
	c, ok := reflect.New(typ).Interface().(mcp.Content)
	return ok && name == "type" && p.Const == c.Type()
}

// inline returns those of the member's schemas that are objects written in place rather than references, which are
// checked nowhere else, and the Go type they are for.
func inline(typ reflect.Type, sources []source) (reflect.Type, []source) {
	typ = deref(typ)
	if typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8 {
		typ = deref(typ.Elem())
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[mcp.ProgressToken]() {
		return nil, nil
	}
	var out []source
	for _, src := range sources {
		s := src.s
		if s.Items != nil {
			s = s.Items
		}
		if s.Ref == "" && len(s.AnyOf) == 0 {
			out = append(out, source{src.rev, src.doc, src.name, s})
		}
	}
	return typ, out
}

// fits reports whether values of the schema can be held by the Go type.
func fits(src source, typ reflect.Type) bool {
	if mapped, ok := definitions[src.s.Name()]; ok && src.s.Ref != "" && deref(typ) != mapped {
		if k := deref(typ).Kind(); k != reflect.Interface && k != reflect.Map {
			return false
		}
	}
	s := src.doc.Resolve(src.s)
	typ = deref(typ)
	if isRaw(typ) || len(s.AnyOf) > 0 || len(s.AllOf) > 0 {
		return true // a union has a type of its own
	}
	switch fmt.Sprint(s.Type) {
	case "string":
		return typ.Kind() == reflect.String && s.Format != "byte" ||
			s.Format == "byte" && typ == reflect.TypeFor[[]byte]()
	case "integer":
		return typ.Kind() == reflect.Int64
	case "number":
		return typ.Kind() == reflect.Float64
	case "boolean":
		return typ.Kind() == reflect.Bool
	case "array":
		return typ.Kind() == reflect.Slice
	case "object":
		return typ.Kind() == reflect.Struct || typ.Kind() == reflect.Map
	case "[string integer]":
		return typ == reflect.TypeFor[mcp.ProgressToken]()
	case "[integer null]":
		return typ.Kind() == reflect.Int64
	}
	return false
}

func isRaw(typ reflect.Type) bool { return typ.Kind() == reflect.Slice && typ.Name() == "RawMessage" }

func deref(typ reflect.Type) reflect.Type {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	return typ
}

// checkEnum compares the values that a schema allows with the constants of the Go type.
func checkEnum(t *testing.T, where string, typ reflect.Type, src source) {
	t.Helper()
	s := src.doc.Resolve(src.s)
	if s.Items != nil {
		s, typ = src.doc.Resolve(s.Items), deref(typ).Elem()
	}
	typ = deref(typ)
	if s.Const != nil && typ.Kind() == reflect.String && typ.Name() != "string" {
		if !slices.Contains(constants(t)[typ.Name()], fmt.Sprint(s.Const)) {
			t.Errorf("%s: %v is no constant of %v", where, s.Const, typ)
		}
		return
	}
	if s.Enum == nil || typ.Kind() != reflect.String {
		return
	}
	want := make([]string, len(s.Enum))
	for i, v := range s.Enum {
		want[i] = fmt.Sprint(v)
	}
	slices.Sort(want)
	if got := constants(t)[typ.Name()]; !slices.Equal(got, want) {
		t.Errorf("%s: constants of %v are %q, %v allows %q", where, typ, got, src, want)
	}
}

var parsed map[string][]string

// constants returns the values of the string constants of package mcp by the name of their type, sorted.
func constants(t *testing.T) map[string][]string {
	t.Helper()
	if parsed != nil {
		return parsed
	}
	files, err := filepath.Glob("types_*.go")
	if err != nil {
		t.Fatal(err)
	}
	parsed = map[string][]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			addConstants(t, d)
		}
	}
	for _, values := range parsed {
		slices.Sort(values)
	}
	return parsed
}

func addConstants(t *testing.T, d ast.Decl) {
	t.Helper()
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok != token.CONST {
		return
	}
	for _, spec := range g.Specs {
		v := spec.(*ast.ValueSpec)
		typ, ok := v.Type.(*ast.Ident)
		if !ok {
			continue
		}
		for _, value := range v.Values {
			lit, ok := value.(*ast.BasicLit)
			if !ok {
				t.Fatalf("constant %s is no literal", v.Names[0])
			}
			s, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			parsed[typ.Name] = append(parsed[typ.Name], s)
		}
	}
}

// TestSchemaEnums compares the enumerations that have a definition of their own.
func TestSchemaEnums(t *testing.T) {
	for _, rev := range mcp.Revisions() {
		doc := spectest.Load(t, rev.String())
		for _, name := range []string{"LoggingLevel", "Role", "TaskStatus"} {
			if s := doc.Defs[name]; s != nil {
				var typ reflect.Type
				switch name {
				case "LoggingLevel":
					typ = reflect.TypeFor[mcp.LoggingLevel]()
				case "Role":
					typ = reflect.TypeFor[mcp.Role]()
				default:
					typ = reflect.TypeFor[mcp.TaskStatus]()
				}
				checkEnum(t, name, typ, source{rev, doc, name, s})
			}
		}
	}
}

// TestSchemaErrors compares the error codes with the constants of the schema's error definitions.
func TestSchemaErrors(t *testing.T) {
	codes := map[string]mcp.Code{
		"ParseError": mcp.CodeParseError, "InvalidRequestError": mcp.CodeInvalidRequest,
		"MethodNotFoundError": mcp.CodeMethodNotFound, "InvalidParamsError": mcp.CodeInvalidParams,
		"InternalError": mcp.CodeInternalError, "HeaderMismatchError": mcp.CodeHeaderMismatch,
		"MissingRequiredClientCapabilityError": mcp.CodeMissingCapability,
		"UnsupportedProtocolVersionError":      mcp.CodeUnsupportedVersion,
		"URLElicitationRequiredError":          mcp.CodeURLElicitationRequired,
	}
	data := map[string]reflect.Type{
		"MissingRequiredClientCapabilityError": reflect.TypeFor[mcp.MissingCapabilityData](),
		"UnsupportedProtocolVersionError":      reflect.TypeFor[mcp.UnsupportedVersionData](),
		"URLElicitationRequiredError":          reflect.TypeFor[mcp.URLElicitationRequiredData](),
	}
	seen := map[string]bool{}
	for _, rev := range mcp.Revisions() {
		doc := spectest.Load(t, rev.String())
		for name, s := range doc.Defs {
			props, _ := doc.Object(s)
			if e := props["error"]; e != nil {
				props, _ = doc.Object(e)
			}
			code, ok := props["code"]
			if !ok || code.Const == nil {
				continue
			}
			seen[name] = true
			if want, ok := codes[name]; !ok || code.Const != float64(want) {
				t.Errorf("%s %s: code %v, the constant is %d", rev, name, code.Const, want)
			}
			if typ := data[name]; typ != nil {
				checkType(t, typ.String(), typ, []source{{rev, doc, name + ".data", props["data"]}})
			}
		}
	}
	for name := range codes {
		if !seen[name] {
			t.Errorf("no schema has %s", name)
		}
	}
}
