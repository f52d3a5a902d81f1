package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is a JSON value with its text, and its members in the order in which they were written.
type Value struct {
	Kind    byte // n, t, f, " (string), 0 (number), { or [, as jsontext.Kind
	Raw     json.RawMessage
	Text    string // of a string
	Members []ValueMember
	Items   []*Value
}

// ValueMember is a member of an object.
type ValueMember struct {
	Name  string
	Value *Value
}

// Get returns a member of an object, or nil.
func (v *Value) Get(name string) *Value {
	if v == nil {
		return nil
	}
	for i := range v.Members {
		if v.Members[i].Name == name {
			return v.Members[i].Value
		}
	}
	return nil
}

// maxValues bounds the number of values in a text, each of which takes about a hundred bytes of memory.
const maxValues = 1_000_000

// ParseValue parses strict JSON: names in exact case, none twice, valid UTF-8, at most depth levels of nesting and a million values.
// The texts alias raw. The error is a *ValidationError.
func ParseValue(raw []byte, depth int) (*Value, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	p := parser{raw: raw, dec: dec, depth: depth, left: maxValues}
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if end := skipSpace(raw, int(dec.InputOffset())); end != len(raw) {
		return nil, problem("", "json", "is followed by more text at byte "+strconv.Itoa(end))
	}
	return v, nil
}

type parser struct {
	raw   []byte
	dec   *jsontext.Decoder
	depth int
	left  int // values that may follow
}

func (p *parser) value(depth int) (*Value, error) {
	if p.left--; p.left < 0 {
		return nil, problem("", "size", fmt.Sprintf("consists of more than %d values", maxValues))
	}
	kind := p.dec.PeekKind()
	v := &Value{Kind: byte(kind)}
	if kind != '{' && kind != '[' {
		raw, err := p.dec.ReadValue()
		if err != nil {
			return nil, decodeProblem(err, nil)
		}
		end := int(p.dec.InputOffset())
		v.Raw = p.raw[end-len(raw) : end : end]
		if kind == '"' {
			text, err := jsontext.AppendUnquote(nil, raw)
			if err != nil {
				return nil, decodeProblem(err, nil)
			}
			v.Text = string(text)
		}
		return v, nil
	}
	if depth >= p.depth {
		return nil, problem(shorten(string(p.dec.StackPointer()), 200), "depth", fmt.Sprintf("nests deeper than %d levels", p.depth))
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, decodeProblem(err, nil)
	}
	start := int(p.dec.InputOffset()) - 1
	for p.dec.PeekKind() != '}' && p.dec.PeekKind() != ']' {
		if err := p.child(v, depth+1); err != nil {
			return nil, err
		}
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, decodeProblem(err, nil)
	}
	end := int(p.dec.InputOffset())
	v.Raw = p.raw[start:end:end]
	return v, nil
}

func (p *parser) child(v *Value, depth int) error {
	if v.Kind == '[' {
		item, err := p.value(depth)
		if err == nil {
			v.Items = append(v.Items, item)
		}
		return err
	}
	name, err := p.dec.ReadToken()
	if err != nil {
		return decodeProblem(err, nil)
	}
	m := ValueMember{Name: name.String()}
	if m.Value, err = p.value(depth); err == nil {
		v.Members = append(v.Members, m)
	}
	return err
}
