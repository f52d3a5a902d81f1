package schema

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	stdjson "encoding/json"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// exactDigits is the length of integers that float64 holds exactly.
const exactDigits = 15

// exactAny keeps integers that float64 would round: where a Go value is an interface they become int64, uint64 or json.Number.
var exactAny = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	n, err := exactNumber(string(raw))
	*v = n
	return err
}))

// exactNumber returns a float64, or for integers that a float64 may not hold exactly an int64, uint64 or json.Number.
func exactNumber(lit string) (any, error) {
	if d, ok := parseDecimal(lit); ok && d.integer() && d.exp > exactDigits && d.exp <= 40 {
		plain, _ := d.plain()
		if n, err := strconv.ParseInt(plain, 10, 64); err == nil {
			return n, nil
		}
		if n, err := strconv.ParseUint(plain, 10, 64); err == nil {
			return n, nil
		}
		return stdjson.Number(plain), nil
	}
	f, err := strconv.ParseFloat(lit, 64)
	if err != nil {
		return nil, fmt.Errorf("the number %s is out of range", shorten(lit, 40))
	}
	return f, nil
}

// Decode checks raw against T and stores it in *v, which is overwritten. What is absent becomes the default of its tag, or the zero
// value. On failure the error is a *ValidationError (or a *TypeError when T itself cannot be used) and *v is the zero value.
//
// Values are kept exactly: integers that the Go type cannot hold are problems, integers written as 1.0 or 1e3 are accepted, and
// where T takes any value (interfaces) integers beyond 2^53 arrive as int64, uint64 or json.Number rather than as float64.
func (t *Typed[T]) Decode(raw stdjson.RawMessage, v *T) error { return decode(t.get(), raw, v) }

func decode[T any](p *plan, raw stdjson.RawMessage, v *T) error {
	if p.err != nil {
		return p.err
	}
	var zero T
	*v = zero
	w := walker{src: raw}
	if err := w.check(p.root); err != nil {
		return err
	}
	text := []byte(raw)
	if len(w.edits) > 0 { // these only add members and rewrite literals: text that was malformed stays so
		text = w.apply(make([]byte, 0, len(raw)+64))
	}
	if err := unmarshal(text, v, w.digits); err != nil {
		*v = zero
		return decodeProblem(err, p.root)
	}
	return nil
}

// DecodeInput is Decode for the arguments of a tool: absent and null arguments are the empty object, and nothing but an object is
// accepted even where T takes any value.
func (t *Typed[T]) DecodeInput(raw stdjson.RawMessage, v *T) error {
	i := skipSpace(raw, 0)
	switch {
	case i == len(raw) || string(raw[i:]) == "null":
		raw = stdjson.RawMessage("{}")
	case raw[i] != '{':
		if err := syntaxError(raw); err != nil {
			return err
		}
		return problem("", "type", "must be an object; found "+kindOf(raw[i:]))
	}
	return t.Decode(raw, v)
}

func unmarshal(text []byte, v any, digits int) error {
	if digits > exactDigits {
		return json.Unmarshal(text, v, exactAny)
	}
	return json.Unmarshal(text, v)
}

// apply writes the text with its edits.
func (w *walker) apply(dst []byte) []byte {
	at := 0
	for _, e := range w.edits {
		dst = append(dst, w.src[at:e.from]...)
		dst = append(dst, e.text...)
		at = e.to
	}
	return append(dst, w.src[at:]...)
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) }

// decodeProblem turns an error of the JSON library into a problem. The text of errors from types' own methods is passed on, unless
// the value is secret.
func decodeProblem(err error, root *Rule) error {
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		at := ""
		if syntactic.ByteOffset > 0 {
			at = " at byte " + strconv.FormatInt(syntactic.ByteOffset, 10)
		}
		reason := "unexpected end"
		if syntactic.Err != nil && !errors.Is(syntactic.Err, io.ErrUnexpectedEOF) {
			reason = syntactic.Err.Error()
		}
		return problem(shorten(string(syntactic.JSONPointer), 200), "json", "is not valid JSON"+at+": "+shorten(reason, 200))
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		path := shorten(string(semantic.JSONPointer), 200)
		if semantic.Err == nil || root.secretAt(string(semantic.JSONPointer)) {
			return problem(path, "value", "was not accepted")
		}
		return problem(path, "value", "was not accepted: "+shorten(semantic.Err.Error(), 200))
	}
	if errors.Is(err, io.EOF) {
		return problem("", "json", "is not valid JSON: it is empty")
	}
	return problem("", "json", "is not valid JSON: "+shorten(err.Error(), 200))
}

// secretAt reports whether a rule on the way to the JSON Pointer is secret.
func (r *Rule) secretAt(pointer string) bool {
	for token := range strings.SplitSeq(pointer, "/") {
		if r == nil || r.Secret {
			return r != nil
		}
		switch {
		case token == "": // before the first slash
		case r.Kind == Array:
			r = r.Elem
		case r.Kind == Object:
			name := strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
			if k := r.Members.find([]byte(name), 0); k >= 0 {
				r = r.Members.List[k].Rule
			} else {
				r = r.Members.Extra
			}
		}
	}
	return r != nil && r.Secret
}
