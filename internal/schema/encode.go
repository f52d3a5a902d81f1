package schema

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// encodeOptions: the same bytes for the same value; strings that are not UTF-8 get replacement characters rather than failing
// a whole result.
var encodeOptions = json.JoinOptions(json.Deterministic(true), jsontext.AllowInvalidUTF8(true))

// Encode appends *v as JSON to dst. Nil slices are [], nil maps {}; nil pointers of optional members are left out, as the schema says.
// It checks what Go's types do not promise (enumerations, bounds, lengths, formats): a *ValidationError means that the program
// produced a value that its own schema forbids. On failure dst is returned as it was.
func (t *Typed[T]) Encode(dst []byte, v *T) ([]byte, error) {
	p := t.get()
	if p.err != nil {
		return dst, p.err
	}
	start := len(dst)
	buf := bytes.NewBuffer(dst)
	if err := json.MarshalWrite(buf, v, encodeOptions); err != nil {
		return dst, fmt.Errorf("encoding %T: %w", *v, err)
	}
	out := buf.Bytes()
	if !p.output {
		return out, nil
	}
	w := walker{src: out[start:], output: true}
	if err := w.check(p.root); err != nil {
		return dst, err
	}
	if len(w.edits) == 0 {
		return out, nil
	}
	return append(out[:start], w.apply(nil)...), nil
}

// needsOutputWalk reports whether a value that Go's types allow can violate the rule.
func needsOutputWalk(r *Rule, seen map[*Rule]bool) bool {
	if r == nil || seen[r] {
		return false
	}
	seen[r] = true
	if !r.keptByType() {
		return true
	}
	if r.Members != nil {
		for i := range r.Members.List {
			m := &r.Members.List[i]
			if m.pointer || needsOutputWalk(m.Rule, seen) {
				return true
			}
		}
		if needsOutputWalk(r.Members.Extra, seen) {
			return true
		}
	}
	return needsOutputWalk(r.Elem, seen)
}

// keptByType reports whether every value of the Go type satisfies the rule itself.
func (r *Rule) keptByType() bool {
	switch {
	case r.trusted:
		return true
	case !r.plainOnly, (r.MinItems != nil || r.MaxItems != nil) && r.MinItems != r.MaxItems:
		return false
	}
	return withinType(r.min, r.low) && withinType(r.max, r.high)
}

// withinType reports whether a bound says no more than the Go type does.
func withinType(bound, limit *decimal) bool {
	return bound == nil || limit != nil && bound.cmp(*limit) == 0
}
