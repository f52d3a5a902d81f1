package schema

import (
	"encoding/json"
	"errors"
	"reflect"
	"sync"
)

// Typed serves one Go type: its schema, decoding with checks, encoding with checks. Making one costs nothing; the type is looked at
// on first use, once in a process. All methods are safe for concurrent use.
type Typed[T any] struct {
	once sync.Once
	plan *plan
}

// For returns the Typed of T. Errors of the type (see [Typed.Schema]) are reported by the first use of it.
func For[T any]() *Typed[T] { return &Typed[T]{} }

// DecodeAs is For[T]().Decode, for callers that do not keep what For returns.
func DecodeAs[T any](raw json.RawMessage, v *T) error {
	return decode(planOf(reflect.TypeFor[T]()), raw, v)
}

// plan is what is known about a type.
type plan struct {
	root   *Rule
	schema []byte
	input  []byte // schema as a tool's input
	asked  error  // why the type cannot be a tool's input
	output bool   // encoded values need a walk
	err    error
}

var plans sync.Map // of reflect.Type to func() *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(func() *plan)()
	}
	p, _ := plans.LoadOrStore(t, sync.OnceValue(func() *plan { return newPlan(t) }))
	return p.(func() *plan)()
}

func newPlan(t reflect.Type) *plan {
	f := inference{structs: map[reflect.Type]*Members{}}
	root, err := f.rule(t, "")
	if err != nil {
		return &plan{err: &TypeError{Type: t, Err: err}}
	}
	root.Nullable = false // a nil pointer is no result
	p := &plan{root: root}
	schema, headers, err := writeSchema(root)
	if err != nil {
		return &plan{err: &TypeError{Type: t, Err: err}}
	}
	p.schema, p.input = schema, inputSchema(root, schema)
	if p.input == nil {
		headers = errors.New("the input of a tool is a JSON object; use a struct or a map")
	}
	if headers != nil {
		p.asked = &TypeError{Type: t, Err: headers}
	}
	p.output = t.Kind() == reflect.Pointer || needsOutputWalk(root, map[*Rule]bool{})
	return p
}

// TypeError says why a Go type has no schema. The message names the field.
type TypeError struct {
	Type reflect.Type
	Err  error
}

func (e *TypeError) Error() string {
	return "no JSON schema for " + e.Type.String() + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *TypeError) Unwrap() error { return e.Err }

func (t *Typed[T]) get() *plan {
	t.once.Do(func() { t.plan = planOf(reflect.TypeFor[T]()) })
	return t.plan
}

// Schema returns the JSON Schema (2020-12) of T. The bytes are the same in every process, with members in the order of the
// struct's fields; callers must not change them. The error is a *TypeError.
func (t *Typed[T]) Schema() (json.RawMessage, error) {
	p := t.get()
	return p.schema, p.err
}

// IsObject reports whether every value of T is a JSON object: structs and maps, as the input of a tool has to be.
func (t *Typed[T]) IsObject() bool {
	p := t.get()
	return p.err == nil && p.root.Kind == Object && !p.root.Nullable
}

// InputSchema returns the schema of T as a tool's input, which always is an object with "properties". Types that take any JSON value
// become an object without declared members. Other types, and header tags on members without a fixed place or with the same name, are
// refused with a *TypeError.
func (t *Typed[T]) InputSchema() (json.RawMessage, error) {
	p := t.get()
	if p.err != nil {
		return nil, p.err
	}
	if p.asked != nil {
		return nil, p.asked
	}
	return p.input, nil
}

// HasSecret reports whether a member of T, at any depth, is tagged secret; path is the JSON Pointer of the first.
func (t *Typed[T]) HasSecret() (path string, ok bool) {
	p := t.get()
	if p.err != nil {
		return "", false
	}
	return findSecret(p.root, nil, map[*Rule]bool{})
}

func findSecret(r *Rule, path []byte, seen map[*Rule]bool) (string, bool) {
	if r == nil || seen[r] {
		return "", false
	}
	seen[r] = true
	if r.Secret {
		return string(path), true
	}
	if r.Members != nil {
		for i := range r.Members.List {
			m := &r.Members.List[i]
			if at, ok := findSecret(m.Rule, appendPointer(path, m.Name), seen); ok {
				return at, true
			}
		}
		if at, ok := findSecret(r.Members.Extra, appendPointer(path, "*"), seen); ok {
			return at, true
		}
	}
	return findSecret(r.Elem, appendPointer(path, "*"), seen)
}
