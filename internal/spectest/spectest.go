// Package spectest reads the published schemas of the specification for tests. Nothing but tests imports it.
package spectest

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TB is the part of testing.TB that is used here.
type TB interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Skip(args ...any)
	Skipf(format string, args ...any)
}

// Schema is the part of JSON Schema that the published schemas use.
type Schema struct {
	Ref        string             `json:"$ref"`
	Type       any                `json:"type"`
	Const      any                `json:"const"`
	Enum       []any              `json:"enum"`
	Format     string             `json:"format"`
	Properties map[string]*Schema `json:"properties"`
	Required   []string           `json:"required"`
	Items      *Schema            `json:"items"`
	AnyOf      []*Schema          `json:"anyOf"`
	AllOf      []*Schema          `json:"allOf"`
}

// Document is one schema.json.
type Document struct {
	Defs map[string]*Schema
}

// HowToGet says how to have the published schemas. CONTRIBUTING.md says it too.
const HowToGet = "To run this test: git clone https://github.com/modelcontextprotocol/modelcontextprotocol, copy its directory schema " +
	"(schema/<revision>/schema.json and schema/<revision>/examples) to DIR/spec/schema, and set PARLEY_SHARED=DIR"

// Dir returns the directory with one directory per revision. It skips the test when the schemas are not there.
func Dir(t TB) string {
	t.Helper()
	if root := os.Getenv("PARLEY_SHARED"); root != "" {
		return filepath.Join(root, "spec", "schema")
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		candidate := filepath.Join(dir, "shared", "spec", "schema")
		if _, err := os.Stat(candidate); err == nil {
			return candidate
		}
		if dir == filepath.Dir(dir) {
			t.Skip("the published schemas are not here. " + HowToGet)
		}
	}
}

// Load reads the schema of one revision, named as on the wire.
func Load(t TB, revision string) *Document {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(Dir(t), revision, "schema.json"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("the published schema of %s is not here: %v. %s", revision, err, HowToGet)
	}
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Defs        map[string]*Schema `json:"$defs"`
		Definitions map[string]*Schema `json:"definitions"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatalf("schema of %s: %v", revision, err)
	}
	if doc.Defs == nil {
		doc.Defs = doc.Definitions
	}
	return &Document{Defs: doc.Defs}
}

// Example is one published example.
type Example struct {
	Definition string // the definition it is an example of
	Name       string // file name
	Data       []byte
}

// Examples reads the examples of one revision.
func Examples(t TB, revision string) []Example {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Dir(t), revision, "examples", "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("the published examples of %s are not here. %s", revision, HowToGet)
	}
	out := make([]Example, 0, len(files))
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Example{filepath.Base(filepath.Dir(f)), filepath.Base(f), data})
	}
	return out
}

// Name returns the definition that s refers to, or "".
func (s *Schema) Name() string { return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:] }

// Resolve follows references.
func (d *Document) Resolve(s *Schema) *Schema {
	for s != nil && s.Ref != "" {
		s = d.Defs[s.Name()]
	}
	return s
}

// Object returns the members that s allows and those that it demands: of allOf everything, of anyOf what all demand.
func (d *Document) Object(s *Schema) (props map[string]*Schema, required map[string]bool) {
	s = d.Resolve(s)
	props, required = map[string]*Schema{}, map[string]bool{}
	if s == nil {
		return props, required
	}
	maps.Copy(props, s.Properties)
	for _, r := range s.Required {
		required[r] = true
	}
	for _, part := range s.AllOf {
		p, r := d.Object(part)
		maps.Copy(props, p)
		maps.Copy(required, r)
	}
	var common map[string]bool
	for _, part := range s.AnyOf {
		p, r := d.Object(part)
		maps.Copy(props, p)
		if common == nil {
			common = r
		}
		maps.DeleteFunc(common, func(k string, _ bool) bool { return !r[k] })
	}
	maps.Copy(required, common)
	return props, required
}

// Methods returns the method names of the messages in a union such as ClientRequest, sorted. A union that does not exist
// has none, and a single message counts as a union of one.
func (d *Document) Methods(union string) []string {
	s := d.Defs[union]
	if s == nil {
		return nil
	}
	parts := s.AnyOf
	if len(parts) == 0 {
		parts = []*Schema{s}
	}
	var out []string
	for _, p := range parts {
		props, _ := d.Object(p)
		if m, ok := props["method"]; ok {
			out = append(out, fmt.Sprint(m.Const))
		}
	}
	slices.Sort(out)
	return out
}

// Parse reads JSON into maps, slices, strings, booleans, nil and exact numbers (as canonical fractions), so that two
// documents that mean the same are deeply equal.
func Parse(data []byte) (any, error) {
	dec := jsontext.NewDecoder(strings.NewReader(string(data)))
	return parse(dec)
}

func parse(dec *jsontext.Decoder) (any, error) {
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return tok.Bool(), nil
	case '"':
		return tok.String(), nil
	case '0':
		return number(tok.String())
	case '[':
		list := []any{}
		for dec.PeekKind() != ']' {
			v, err := parse(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.ReadToken()
		return list, err
	default:
		object := map[string]any{}
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			if object[key], err = parse(dec); err != nil {
				return nil, err
			}
		}
		_, err := dec.ReadToken()
		return object, err
	}
}

// number returns the canonical form of a number. An exponent of more than four digits is kept as it is written: its
// fraction would not fit into memory.
func number(s string) (any, error) {
	if i := strings.IndexAny(s, "eE"); i >= 0 && len(s)-i > 5 {
		return Number(s), nil
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil, fmt.Errorf("number %s", s)
	}
	return Number(r.RatString()), nil
}

// Number is an exact number as [Parse] returns it.
type Number string
