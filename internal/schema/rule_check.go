package schema

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Rule returns the rule that was inferred from T. It is shared and must not be changed.
func (t *Typed[T]) Rule() (*Rule, error) {
	p := t.get()
	return p.root, p.err
}

// Check judges a JSON text by a prepared rule; the error is a *ValidationError. Members that the rule does not list are problems;
// an optional member that is null counts as absent.
func (r *Rule) Check(raw json.RawMessage) error {
	if err := syntaxError(raw); err != nil {
		return err
	}
	w := walker{src: raw}
	return w.check(r)
}

// Normalize checks a JSON text and returns it as the rule would have it: without members that the rule does not list, without nulls
// that count as absent, with defaults, with integers in their shortest form, and without white space.
func (r *Rule) Normalize(raw json.RawMessage) (json.RawMessage, error) {
	return r.AppendNormal(make([]byte, 0, len(raw)+16), raw)
}

// AppendNormal is Normalize that appends to dst, which holds nothing that is to be kept and does not overlap raw.
func (r *Rule) AppendNormal(dst []byte, raw json.RawMessage) (json.RawMessage, error) {
	if err := syntaxError(raw); err != nil {
		return nil, err
	}
	w := walker{src: raw, dropUnknown: true, dropNull: true}
	if err := w.check(r); err != nil {
		return nil, err
	}
	out := jsontext.Value(w.apply(dst[:0]))
	if isCompact(out) {
		return json.RawMessage(out), nil
	}
	if err := out.Compact(); err != nil {
		return nil, decodeProblem(err, nil)
	}
	return json.RawMessage(out), nil
}

// isCompact reports whether valid JSON has no white space around its tokens.
func isCompact(b []byte) bool {
	for i := 0; i < len(b); {
		switch b[i] {
		case ' ', '\t', '\n', '\r':
			return false
		case '"':
			if i, _ = scanString(b, i); i < 0 {
				return false
			}
		default:
			i++
		}
	}
	return true
}
