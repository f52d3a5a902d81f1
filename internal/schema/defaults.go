package schema

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// Defaults returns the value with the schema's defaults in place of absent members, and is the value itself when nothing is missing.
// Defaults of required members are not applied, as those must be sent. Members are looked for through properties, items, prefixItems
// and $ref; alternatives (anyOf and the like) are not followed. What is there already keeps its bytes. The result is not validated.
// The error is that of Validate for values that are malformed or too large.
func (c *Compiled) Defaults(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) > c.limits.InstanceBytes {
		return nil, expensive("has %d bytes; at most %d are allowed", len(raw), c.limits.InstanceBytes)
	}
	v, err := ParseValue(raw, c.limits.InstanceDepth)
	if err != nil {
		return nil, err
	}
	d := defaults{c: c, steps: c.limits.Steps}
	out, changed, err := d.fill(nil, c.root, v)
	if err != nil || !changed {
		return raw, err
	}
	return out, nil
}

type defaults struct {
	c     *Compiled
	steps int
}

// fill appends v with defaults; changed tells whether it differs from its text.
func (d *defaults) fill(dst []byte, s *jsonschema.Schema, v *Value) (out []byte, changed bool, err error) {
	for s != nil && len(d.c.info[s].refs) > 0 && s.Properties == nil && s.Items == nil {
		s = d.c.info[s].refs[0] // acyclic, as Compile has checked
	}
	if d.steps--; d.steps < 0 || len(dst) > d.c.limits.InstanceBytes {
		return nil, false, expensive("becomes larger than %d bytes, or takes more than %d steps, with its defaults", d.c.limits.InstanceBytes, d.c.limits.Steps)
	}
	switch {
	case s != nil && v.Kind == '{':
		return d.object(dst, s, v)
	case s != nil && v.Kind == '[':
		return d.array(dst, s, v)
	}
	return append(dst, v.Raw...), false, nil
}

func (d *defaults) object(dst []byte, s *jsonschema.Schema, v *Value) (out []byte, changed bool, err error) {
	present := make(map[string]bool, len(v.Members))
	dst = append(dst, '{')
	for i, m := range v.Members {
		if i > 0 {
			dst = append(dst, ',')
		}
		present[m.Name] = true
		dst = append(appendString(dst, m.Name), ':')
		var differs bool
		if dst, differs, err = d.fill(dst, s.Properties[m.Name], m.Value); err != nil {
			return nil, false, err
		}
		changed = changed || differs
	}
	at := d.c.info[s]
	for _, prop := range at.list {
		if prop.schema.Default == nil || present[prop.name] || at.required[prop.name] {
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(append(appendString(dst, prop.name), ':'), prop.schema.Default...)
		changed = true
	}
	return append(dst, '}'), changed, nil
}

func (d *defaults) array(dst []byte, s *jsonschema.Schema, v *Value) (out []byte, changed bool, err error) {
	dst = append(dst, '[')
	for i, item := range v.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		sub := s.Items
		for _, list := range [][]*jsonschema.Schema{s.PrefixItems, s.ItemsArray} {
			if i < len(list) {
				sub = list[i]
			}
		}
		var differs bool
		if dst, differs, err = d.fill(dst, sub, item); err != nil {
			return nil, false, err
		}
		changed = changed || differs
	}
	return append(dst, ']'), changed, nil
}
