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
	if err := syntaxError(raw); err != nil {
		return nil, err
	}
	w := walker{src: raw, dropUnknown: true, dropNull: true}
	if err := w.check(r); err != nil {
		return nil, err
	}
	out := jsontext.Value(w.apply(make([]byte, 0, len(raw)+64)))
	if err := out.Compact(); err != nil {
		return nil, decodeProblem(err, nil)
	}
	return json.RawMessage(out), nil
}
