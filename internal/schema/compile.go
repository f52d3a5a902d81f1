package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Limits bound what a schema, and a value that is validated against it, may cost. Zero fields have the default.
type Limits struct {
	SchemaBytes   int // size of a schema; default 1 MiB
	SchemaDepth   int // nesting of a schema's JSON; default 128
	Subschemas    int // number of schemas in a schema; default 5,000
	PatternBytes  int // length of a regular expression; default 2,000
	InstanceBytes int // size of a value, before and after defaults were applied; default 16 MiB
	InstanceDepth int // nesting of a value; default 256
	Steps         int // applications of a subschema to a part of a value, for one validation; default 500,000
}

func (l *Limits) withDefaults() Limits {
	var out Limits
	if l != nil {
		out = *l
	}
	for _, d := range []struct {
		field *int
		value int
	}{
		{&out.SchemaBytes, 1 << 20}, {&out.SchemaDepth, 128}, {&out.Subschemas, 5000}, {&out.PatternBytes, maxPattern},
		{&out.InstanceBytes, 16 << 20}, {&out.InstanceDepth, MaxDepth}, {&out.Steps, 500_000},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return out
}

var (
	// ErrDialect means that $schema names a dialect that is not supported. The schema may be fine; it cannot be validated against.
	ErrDialect = errors.New("the schema dialect is not supported; supported are 2020-12, 2019-09 without its peculiarities, draft-07 and draft-06")
	// ErrReference means that a $ref leads out of the schema. Nothing is ever fetched.
	ErrReference = errors.New("references must stay inside of the schema; nothing is fetched from the network or from files")
	// ErrExpensive means that validating a value, or the schema by itself, would exceed the limits.
	ErrExpensive = errors.New("validation would exceed its limits")
)

// Compiled is a schema that arrived as JSON, ready to validate with. It is safe for concurrent use.
//
// Validation is that of github.com/google/jsonschema-go, for 2020-12 and draft-07 (recognised by $schema; draft-06 is read as
// draft-07, 2019-09 as 2020-12, and a schema without $schema is 2020-12). "format" is an annotation, as both drafts say by default.
// Numbers: integers of the value, enum and const are compared exactly up to the range of uint64 and int64; beyond it, and for
// minimum, maximum and multipleOf, numbers are compared as float64.
type Compiled struct {
	raw    json.RawMessage
	limits Limits
	root   *jsonschema.Schema
	info   map[*jsonschema.Schema]*info
	ready  *jsonschema.Resolved
}

// Compile reads a schema within limits (nil is the defaults). The bytes are kept, and must not change. Errors say where in the schema
// the fault is; they can be [ErrDialect], [ErrReference], [ErrExpensive] or a *ValidationError for malformed JSON.
func Compile(raw json.RawMessage, l *Limits) (*Compiled, error) {
	limits := l.withDefaults()
	if len(raw) > limits.SchemaBytes {
		return nil, fmt.Errorf("%w: the schema has %d bytes, more than %d", ErrExpensive, len(raw), limits.SchemaBytes)
	}
	v, err := ParseValue(raw, limits.SchemaDepth)
	if err != nil {
		return nil, err
	}
	b := newBuilder(limits)
	root, err := b.document(v)
	if err != nil {
		return nil, err
	}
	if err := b.references(root); err != nil {
		return nil, err
	}
	c := &Compiled{raw: raw, limits: limits, root: root, info: b.info}
	if c.ready, err = resolve(root); err != nil {
		return nil, err
	}
	return c, nil
}

// Raw returns the schema as it arrived.
func (c *Compiled) Raw() json.RawMessage { return c.raw }

// IsObject reports whether the root says "type": "object", as tools' input schemas have to.
func (c *Compiled) IsObject() bool { return c.root.Type == "object" }

// resolve hands the schema to the library.
func resolve(root *jsonschema.Schema) (rs *jsonschema.Resolved, err error) {
	defer contain(&err)
	// The base only serves to resolve a relative $id; nothing is loaded.
	return root.Resolve(&jsonschema.ResolveOptions{BaseURI: baseURI})
}

const baseURI = "schema://local/root.json"

// contain turns a panic of the library into an error: schemas and values come from outside.
func contain(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the schema validator failed: %v", shorten(fmt.Sprint(p), 200))
	}
}

// Validate checks a value. The error is a *ValidationError with one problem, the first found; it is [ErrExpensive] too when the value
// was not judged because that would exceed a limit.
func (c *Compiled) Validate(raw json.RawMessage) error {
	if len(raw) > c.limits.InstanceBytes {
		return expensive("has %d bytes; at most %d are allowed", len(raw), c.limits.InstanceBytes)
	}
	v, err := ParseValue(raw, c.limits.InstanceDepth)
	if err != nil {
		return err
	}
	m := meter{c: c, steps: c.limits.Steps}
	if !m.schema(c.root, v, 0, 0) {
		return expensive("takes more than %d steps to validate; make it smaller", c.limits.Steps)
	}
	instance, err := instanceOf(v)
	if err != nil {
		return err
	}
	return validate(c.ready, instance)
}

func validate(rs *jsonschema.Resolved, instance any) (err error) {
	defer contain(&err)
	if err := rs.Validate(instance); err != nil {
		return libraryProblem(err)
	}
	return nil
}

// libraryProblem turns the library's "validating root: validating /properties/a: type: …" into a problem of the value. The path leads to
// the innermost member that is known; the library does not say which item of an array it means.
func libraryProblem(err error) *ValidationError {
	path, key, message := readLibraryError(err.Error())
	if key == "" {
		return problem(path, "", shorten("is not valid: "+message, 1000))
	}
	return problem(path, key, shorten("violates "+key+": "+message, 1000))
}

func readLibraryError(message string) (path, key, rest string) {
	const prefix = "validating "
	var pointer []byte
	at := ""
	for strings.HasPrefix(message, prefix) {
		where, inner, ok := strings.Cut(message[len(prefix):], ": ")
		if !ok {
			break
		}
		step, below := strings.CutPrefix(where, at)
		if !below {
			step = "" // a reference: elsewhere in the schema, but the same place in the value
		}
		pointer = instancePath(pointer, step)
		if message, at = inner, where; where == "root" {
			at = ""
		}
	}
	key, rest, ok := strings.Cut(message, ": ")
	if !ok || strings.ContainsAny(key, " \n") {
		return string(pointer), "", strings.TrimSpace(message)
	}
	return string(pointer), key, rephrase(key, strings.TrimSpace(rest))
}

var boundKeywords = map[string]bool{"minimum": true, "maximum": true, "exclusiveMinimum": true, "exclusiveMaximum": true, "multipleOf": true}

// rephrase says in words what the library says by naming schemas without names.
func rephrase(key, message string) string {
	switch {
	case key == "not":
		return "it must not match"
	case strings.HasPrefix(message, "validated against both "):
		return "it matches more than one alternative"
	case boundKeywords[key]:
		whole, rest, _ := strings.Cut(message, " ")
		if strings.Contains(rest, ".") { // %f
			rest = strings.TrimSuffix(strings.TrimRight(rest, "0"), ".")
		}
		return strings.TrimSuffix(whole, "/1") + " " + rest
	case !strings.HasPrefix(message, "did not validate against any of "):
		return message
	}
	const most = 5
	_, alternatives, _ := strings.Cut(message, "\n")
	var reasons []string
	for line := range strings.SplitSeq(alternatives, "\n") {
		if strings.HasPrefix(line, "validating ") && len(reasons) < most {
			_, _, reason := readLibraryError(line)
			reasons = append(reasons, shorten(reason, 150))
		}
	}
	if len(reasons) == 0 {
		return "it matches none of the alternatives"
	}
	return "it matches none of the alternatives: " + strings.Join(reasons, "; or ")
}

// instancePath follows the part of a schema location that moves through the value.
func instancePath(path []byte, step string) []byte {
	if step == "root" {
		return path
	}
	tokens := strings.Split(step, "/")
	for i := 1; i+1 < len(tokens); i++ {
		if tokens[i] == "properties" {
			path = append(append(path, '/'), tokens[i+1]...)
			i++
		}
	}
	return path
}

// instanceOf is the value in the form that the library validates: named types that print briefly, because its messages contain
// whole values, and integers that are exact.
func instanceOf(v *Value) (any, error) {
	switch v.Kind {
	case 'n':
		return nil, nil
	case 't', 'f':
		return v.Kind == 't', nil
	case '"':
		return text(v.Text), nil
	case '0':
		return instanceNumber(string(v.Raw))
	case '[':
		items := make(array, len(v.Items))
		for i, item := range v.Items {
			var err error
			if items[i], err = instanceOf(item); err != nil {
				return nil, err
			}
		}
		return items, nil
	}
	members := make(object, len(v.Members))
	for _, m := range v.Members {
		x, err := instanceOf(m.Value)
		if err != nil {
			return nil, err
		}
		members[m.Name] = x
	}
	return members, nil
}

func instanceNumber(lit string) (any, error) {
	n, err := exactNumber(lit)
	if err != nil {
		return nil, problem("", "range", "contains a number that is out of range: "+shorten(lit, 40))
	}
	if big, ok := n.(json.Number); ok {
		return big.Float64()
	}
	if f, ok := n.(float64); ok && f == float64(int64(f)) && f > -1e15 && f < 1e15 {
		return int64(f), nil
	}
	return n, nil
}

type (
	object map[string]any
	array  []any
	text   string
)

func (o object) String() string { return fmt.Sprintf("the object with %s", count(len(o), "member")) }
func (a array) String() string  { return fmt.Sprintf("the array with %s", count(len(a), "item")) }
func (t text) String() string {
	return fmt.Sprintf("%q", shorten(string(bytes.ToValidUTF8([]byte(t), nil)), 40))
}
